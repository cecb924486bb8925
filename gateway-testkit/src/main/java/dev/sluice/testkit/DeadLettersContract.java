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
 * What all {@link DeadLetterQueue} keep to, with the {@link SpoolConsumer} that add them. Each test
 * begins with an empty spool of one shard that keeps {@link #CAPACITY} letters.
 */
@Timeout(60)
public abstract class DeadLettersContract {
  /** Dead letters that are kept. */
  protected static final int CAPACITY = 3;

  private static final Duration PATIENCE = Duration.ofSeconds(5);
  private static final Instant AT = Instant.parse("2026-03-04T05:06:07.089Z");

  /** The spool, always the same within a test, as the others here are. */
  protected abstract Spool spool();

  protected abstract SpoolConsumer deliveries();

  protected abstract DeadLetterQueue deadLetters();

  @Test
  void settle_withLetters_keepsThemOldestFirstAndDeliversNothingAgain() throws Exception {
    append(LogBatches.of(10));
    var delivery = deliveries().poll(PATIENCE).orElseThrow();
    var letters = letters(3);

    boolean settled = deliveries().ack(delivery, letters);

    assertThat(settled).isTrue();
    assertLetters(deadLetters().list(null, 10), letters);
    assertThat(deliveries().poll(Duration.ZERO)).isEmpty();
  }

  @Test
  void settle_noRoomForAll_isFalseAndDoesNothing() throws Exception {
    append(LogBatches.of(10));
    var delivery = deliveries().poll(PATIENCE).orElseThrow();

    assertThat(deliveries().ack(delivery, letters(CAPACITY + 1))).isFalse();

    assertThat(deadLetters().capacity()).isEqualTo(new Capacity(0, CAPACITY));
    var again = deliveries().poll(PATIENCE).orElseThrow();
    assertThat(again.token()).isEqualTo(delivery.token());
    SpoolContract.assertSame(again.batches(), delivery.batches());
  }

  @Test
  void settle_noRoomBesideOthers_isTrueOnceThereIs() throws Exception {
    var kept = keep(2);
    append(LogBatches.of(10));
    var delivery = deliveries().poll(PATIENCE).orElseThrow();
    var more = letters(2);

    assertThat(deliveries().ack(delivery, more)).isFalse();
    assertThat(deadLetters().purge(deadLetters().list(null, 1).getFirst().id())).isTrue();
    assertThat(deliveries().ack(delivery, more)).isTrue();

    assertLetters(
        deadLetters().list(null, 10), List.of(kept.get(1), more.getFirst(), more.getLast()));
  }

  @Test
  void settle_noLettersAndNoRoom_isTrue() throws Exception {
    keep(CAPACITY);
    append(LogBatches.of(1));

    var delivery = deliveries().poll(PATIENCE).orElseThrow();

    assertThat(deliveries().ack(delivery, List.of())).isTrue();
    assertThat(deliveries().poll(Duration.ZERO)).isEmpty();
  }

  @Test
  void list_pageAfterPage_endsWithAnEmptyOne() throws Exception {
    var letters = keep(3);

    var first = deadLetters().list(null, 2);
    var second = deadLetters().list(first.getLast().id(), 2);
    var third = deadLetters().list(second.getLast().id(), 2);

    assertLetters(first, letters.subList(0, 2));
    assertLetters(second, letters.subList(2, 3));
    assertThat(third).isEmpty();
  }

  @Test
  void list_afterOneThatIsGone_goesOnBehindIt() throws Exception {
    var letters = keep(3);
    var first = deadLetters().list(null, 1).getFirst().id();
    deadLetters().purge(first);

    assertLetters(deadLetters().list(first, 10), letters.subList(1, 3));
  }

  @Test
  void list_afterNoId_isRefused() {
    assertThatThrownBy(() -> deadLetters().list("what", 1))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void find_oneOfThem_isIt() throws Exception {
    var letters = keep(2);
    var second = deadLetters().list(null, 2).getLast();

    var found = deadLetters().find(second.id()).orElseThrow();

    assertThat(found.id()).isEqualTo(second.id());
    assertLetters(List.of(found), letters.subList(1, 2));
  }

  @Test
  void find_noneOfThatId_isEmpty() throws Exception {
    keep(1);
    var id = deadLetters().list(null, 1).getFirst().id();
    deadLetters().purge(id);

    assertThat(deadLetters().find(id)).isEmpty();
    assertThat(deadLetters().find("what")).isEmpty();
    assertThat(deadLetters().find("")).isEmpty();
  }

  @Test
  void replay_asCorrected_isDeliveredAndNotAcceptedAgain() throws Exception {
    keep(2);
    long accepted = spool().recordCounts().accepted();
    var deadLetterItem = deadLetters().list(null, 1).getFirst();
    var corrected = withBytesOf(deadLetterItem.letter().log(), LogBatches.of(1));

    assertThat(deadLetters().replay(deadLetterItem.id(), corrected)).isTrue();

    assertThat(deadLetters().find(deadLetterItem.id())).isEmpty();
    assertThat(deadLetters().capacity().used()).isEqualTo(1);
    var delivery = deliveries().poll(PATIENCE).orElseThrow();
    SpoolContract.assertSame(delivery.batches(), List.of(corrected));
    assertThat(spool().recordCounts().accepted()).isEqualTo(accepted);
    assertThat(spool().recordCounts().inFlight()).isEqualTo(1);
  }

  @Test
  void replay_noneOfThatId_isFalseAndAppendsNothing() throws Exception {
    keep(1);
    var deadLetterItem = deadLetters().list(null, 1).getFirst();
    deadLetters().purge(deadLetterItem.id());

    assertThat(deadLetters().replay(deadLetterItem.id(), deadLetterItem.letter().log())).isFalse();
    assertThat(deadLetters().replay("what", deadLetterItem.letter().log())).isFalse();

    assertThat(deliveries().poll(Duration.ZERO)).isEmpty();
  }

  @Test
  void replay_anotherLog_isRefusedAndChangesNothing() throws Exception {
    var letters = keep(1);
    var id = deadLetters().list(null, 1).getFirst().id();
    var log = letters.getFirst().log();
    var twoDays = 2 * Duration.ofDays(1).toNanos();

    assertThatThrownBy(() -> deadLetters().replay(id, LogBatches.of(1)))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(
            () -> deadLetters().replay(id, receivedAt(log, log.receivedNanos() - twoDays)))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> deadLetters().replay(id, LogBatches.of(2)))
        .isInstanceOf(IllegalArgumentException.class);

    assertLetters(deadLetters().list(null, 10), letters);
    assertThat(deliveries().poll(Duration.ZERO)).isEmpty();
  }

  @Test
  void purge_oneOfThem_isGoneAndTheOthersAreNot() throws Exception {
    var letters = keep(2);
    var first = deadLetters().list(null, 1).getFirst().id();

    assertThat(deadLetters().purge(first)).isTrue();
    assertThat(deadLetters().purge(first)).isFalse();
    assertThat(deadLetters().purge("what")).isFalse();

    assertLetters(deadLetters().list(null, 10), letters.subList(1, 2));
    assertThat(deliveries().poll(Duration.ZERO)).isEmpty();
  }

  @Test
  void room_someKept_countsThem() throws Exception {
    assertThat(deadLetters().capacity()).isEqualTo(new Capacity(0, CAPACITY));

    keep(2);

    assertThat(deadLetters().capacity()).isEqualTo(new Capacity(2, CAPACITY));
  }

  /** So many letters come to be. */
  private List<DeadLetter> keep(int count) throws Exception {
    var letters = letters(count);
    append(LogBatches.of(count));
    var delivery = deliveries().poll(PATIENCE).orElseThrow();
    assertThat(deliveries().ack(delivery, letters)).isTrue();
    return letters;
  }

  private static List<DeadLetter> letters(int count) {
    return IntStream.range(0, count)
        .mapToObj(i -> new DeadLetter(LogBatches.of(1), "no " + i, AT.plusMillis(i)))
        .toList();
  }

  private void append(LogBatch batch) throws Exception {
    assertThat(spool().append(batch).toCompletableFuture().get(30, SECONDS))
        .isInstanceOf(AppendResult.Accepted.class);
  }

  private static LogBatch withBytesOf(LogBatch log, LogBatch other) {
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

  private static void assertLetters(List<DeadLetterItem> actual, List<DeadLetter> expected) {
    assertThat(actual.stream().map(DeadLetterItem::letter))
        .usingRecursiveFieldByFieldElementComparator(
            RecursiveComparisonConfiguration.builder()
                .withEqualsForType(
                    (one, other) -> Arrays.equals(one.otlp(), other.otlp()), LogBatch.Payload.class)
                .build())
        .containsExactlyElementsOf(expected);
  }
}
