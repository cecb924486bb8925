package dev.sluice.testkit;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.DeadLetterQueue;
import dev.sluice.core.port.DeadLetterQueue.Capacity;
import dev.sluice.core.port.DeadLetterQueue.DeadLetterItem;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.core.port.SpoolConsumer;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.assertj.core.api.recursive.comparison.RecursiveComparisonConfiguration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The contract of all {@link DeadLetterQueue} implementations, with the {@link SpoolConsumer} that
 * adds the items. Each test begins with an empty spool of one shard whose queue holds at most
 * {@link #CAPACITY} dead letters.
 */
@Timeout(60)
public abstract class DeadLetterQueueContract {
  /** The maximum number of dead letters in the queue. */
  protected static final int CAPACITY = 3;

  private static final Duration TIMEOUT = Duration.ofSeconds(5);
  private static final Instant FAILED_AT = Instant.parse("2026-03-04T05:06:07.089Z");

  /** Returns the spool, the same within a test, as for the other methods here. */
  protected abstract Spool spool();

  protected abstract SpoolConsumer consumer();

  protected abstract DeadLetterQueue deadLetterQueue();

  @Test
  void ack_withDeadLetters_storesThemOldestFirstAndRedeliversNothing() throws Exception {
    append(LogBatches.of(10));
    var delivery = consumer().poll(TIMEOUT).orElseThrow();
    var letters = newDeadLetters(3);

    boolean acked = consumer().ack(delivery, letters);

    assertThat(acked).isTrue();
    assertDeadLetters(deadLetterQueue().list(null, 10), letters);
    assertThat(consumer().poll(Duration.ZERO)).isEmpty();
  }

  @Test
  void ack_moreThanCapacity_isFalseAndChangesNothing() throws Exception {
    append(LogBatches.of(10));
    var delivery = consumer().poll(TIMEOUT).orElseThrow();

    assertThat(consumer().ack(delivery, newDeadLetters(CAPACITY + 1))).isFalse();

    assertThat(deadLetterQueue().capacity()).isEqualTo(new Capacity(0, CAPACITY));
    var redelivered = consumer().poll(TIMEOUT).orElseThrow();
    assertThat(redelivered.token()).isEqualTo(delivery.token());
    SpoolContract.assertSameBatches(redelivered.batches(), delivery.batches());
  }

  @Test
  void ack_capacityUsedByOthers_isTrueOncePurged() throws Exception {
    var kept = addDeadLetters(2);
    append(LogBatches.of(10));
    var delivery = consumer().poll(TIMEOUT).orElseThrow();
    var more = newDeadLetters(2);

    assertThat(consumer().ack(delivery, more)).isFalse();
    assertThat(deadLetterQueue().purge(deadLetterQueue().list(null, 1).getFirst().id())).isTrue();
    assertThat(consumer().ack(delivery, more)).isTrue();

    assertDeadLetters(
        deadLetterQueue().list(null, 10), List.of(kept.get(1), more.getFirst(), more.getLast()));
  }

  @Test
  void ack_noDeadLettersAndFullQueue_isTrue() throws Exception {
    addDeadLetters(CAPACITY);
    append(LogBatches.of(1));

    var delivery = consumer().poll(TIMEOUT).orElseThrow();

    assertThat(consumer().ack(delivery, List.of())).isTrue();
    assertThat(consumer().poll(Duration.ZERO)).isEmpty();
  }

  @Test
  void list_allPages_endWithAnEmptyOne() throws Exception {
    var letters = addDeadLetters(3);

    var first = deadLetterQueue().list(null, 2);
    var second = deadLetterQueue().list(first.getLast().id(), 2);
    var third = deadLetterQueue().list(second.getLast().id(), 2);

    assertDeadLetters(first, letters.subList(0, 2));
    assertDeadLetters(second, letters.subList(2, 3));
    assertThat(third).isEmpty();
  }

  @Test
  void list_afterPurgedId_continuesBehindIt() throws Exception {
    var letters = addDeadLetters(3);
    var first = deadLetterQueue().list(null, 1).getFirst().id();
    deadLetterQueue().purge(first);

    assertDeadLetters(deadLetterQueue().list(first, 10), letters.subList(1, 3));
  }

  @Test
  void list_afterInvalidId_throws() {
    assertThatThrownBy(() -> deadLetterQueue().list("what", 1))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void find_existingId_returnsIt() throws Exception {
    var letters = addDeadLetters(2);
    var second = deadLetterQueue().list(null, 2).getLast();

    var found = deadLetterQueue().find(second.id()).orElseThrow();

    assertThat(found.id()).isEqualTo(second.id());
    assertDeadLetters(List.of(found), letters.subList(1, 2));
  }

  @Test
  void find_unknownId_isEmpty() throws Exception {
    addDeadLetters(1);
    var id = deadLetterQueue().list(null, 1).getFirst().id();
    deadLetterQueue().purge(id);

    assertThat(deadLetterQueue().find(id)).isEmpty();
    assertThat(deadLetterQueue().find("what")).isEmpty();
    assertThat(deadLetterQueue().find("")).isEmpty();
  }

  @Test
  void replay_correctedRecord_isDeliveredAndNotCountedAsAccepted() throws Exception {
    addDeadLetters(2);
    long accepted = spool().recordCounts().accepted();
    var deadLetterItem = deadLetterQueue().list(null, 1).getFirst();
    var corrected = withPayloadOf(deadLetterItem.letter().log(), LogBatches.of(1));

    assertThat(deadLetterQueue().replay(deadLetterItem.id(), corrected)).isTrue();

    assertThat(deadLetterQueue().find(deadLetterItem.id())).isEmpty();
    assertThat(deadLetterQueue().capacity().used()).isEqualTo(1);
    var delivery = consumer().poll(TIMEOUT).orElseThrow();
    SpoolContract.assertSameBatches(delivery.batches(), List.of(corrected));
    assertThat(spool().recordCounts().accepted()).isEqualTo(accepted);
    assertThat(spool().recordCounts().inFlight()).isEqualTo(1);
  }

  @Test
  void replay_unknownId_isFalseAndAppendsNothing() throws Exception {
    addDeadLetters(1);
    var deadLetterItem = deadLetterQueue().list(null, 1).getFirst();
    deadLetterQueue().purge(deadLetterItem.id());

    assertThat(deadLetterQueue().replay(deadLetterItem.id(), deadLetterItem.letter().log()))
        .isFalse();
    assertThat(deadLetterQueue().replay("what", deadLetterItem.letter().log())).isFalse();

    assertThat(consumer().poll(Duration.ZERO)).isEmpty();
  }

  @Test
  void replay_differentLog_throwsAndChangesNothing() throws Exception {
    var letters = addDeadLetters(1);
    var id = deadLetterQueue().list(null, 1).getFirst().id();
    var log = letters.getFirst().log();
    var twoDays = 2 * Duration.ofDays(1).toNanos();

    assertThatThrownBy(() -> deadLetterQueue().replay(id, LogBatches.of(1)))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(
            () -> deadLetterQueue().replay(id, receivedAt(log, log.receivedNanos() - twoDays)))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> deadLetterQueue().replay(id, LogBatches.of(2)))
        .isInstanceOf(IllegalArgumentException.class);

    assertDeadLetters(deadLetterQueue().list(null, 10), letters);
    assertThat(consumer().poll(Duration.ZERO)).isEmpty();
  }

  @Test
  void purge_existingId_removesOnlyIt() throws Exception {
    var letters = addDeadLetters(2);
    var first = deadLetterQueue().list(null, 1).getFirst().id();

    assertThat(deadLetterQueue().purge(first)).isTrue();
    assertThat(deadLetterQueue().purge(first)).isFalse();
    assertThat(deadLetterQueue().purge("what")).isFalse();

    assertDeadLetters(deadLetterQueue().list(null, 10), letters.subList(1, 2));
    assertThat(consumer().poll(Duration.ZERO)).isEmpty();
  }

  @Test
  void capacity_someItems_countsThem() throws Exception {
    assertThat(deadLetterQueue().capacity()).isEqualTo(new Capacity(0, CAPACITY));

    addDeadLetters(2);

    assertThat(deadLetterQueue().capacity()).isEqualTo(new Capacity(2, CAPACITY));
  }

  /** Creates {@code count} dead letters. */
  private List<DeadLetter> addDeadLetters(int count) throws Exception {
    var letters = newDeadLetters(count);
    append(LogBatches.of(count));
    var delivery = consumer().poll(TIMEOUT).orElseThrow();
    assertThat(consumer().ack(delivery, letters)).isTrue();
    return letters;
  }

  private static List<DeadLetter> newDeadLetters(int count) {
    return IntStream.range(0, count)
        .mapToObj(i -> new DeadLetter(LogBatches.of(1), "no " + i, FAILED_AT.plusMillis(i)))
        .toList();
  }

  private void append(LogBatch batch) throws Exception {
    assertThat(spool().append(batch).toCompletableFuture().get(30, SECONDS))
        .isInstanceOf(AppendResult.Accepted.class);
  }

  private static LogBatch withPayloadOf(LogBatch log, LogBatch other) {
    return new LogBatch(
        log.appendId(),
        log.tenant(),
        log.receivedNanos(),
        log.firstId(),
        1,
        other.expandedBytes(),
        other.excludedOrdinals(),
        other.otlp());
  }

  private static LogBatch receivedAt(LogBatch log, long nanos) {
    return new LogBatch(
        log.appendId(),
        log.tenant(),
        nanos,
        log.firstId(),
        1,
        log.expandedBytes(),
        log.excludedOrdinals(),
        log.otlp());
  }

  private static void assertDeadLetters(List<DeadLetterItem> actual, List<DeadLetter> expected) {
    assertThat(actual.stream().map(DeadLetterItem::letter))
        .usingRecursiveFieldByFieldElementComparator(
            RecursiveComparisonConfiguration.builder()
                .withEqualsForType(
                    (one, other) -> Arrays.equals(one.otlp(), other.otlp()), LogBatch.Payload.class)
                .build())
        .containsExactlyElementsOf(expected);
  }
}
