package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.delivery.DeadLetterReplayer;
import dev.sluice.core.delivery.DeadLetterReplayer.ReplayResult;
import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.domain.ReplayId;
import dev.sluice.core.port.DeadLetterStore;
import dev.sluice.core.port.DeadLetterStore.DeadLetterCounts;
import dev.sluice.core.port.DeadLetterStore.DeadLetterItem;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.core.port.SpoolConsumer.Delivery;
import dev.sluice.core.port.WriteResult;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;
import org.assertj.core.api.recursive.comparison.RecursiveComparisonConfiguration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The contract of all {@link DeadLetterStore} implementations. Each test begins without dead
 * letters.
 */
@Timeout(60)
public abstract class DeadLetterStoreContract {
  private static final Instant REJECTED_AT = Instant.parse("2026-03-04T05:06:07.089Z");
  private static final DeadLetterCounts ONE_OPEN = new DeadLetterCounts(1, 0, 0);
  private static final DeadLetterCounts ONE_REPLAYING = new DeadLetterCounts(0, 1, 0);
  private static final DeadLetterCounts ONE_PURGED = new DeadLetterCounts(0, 0, 1);

  /** Returns the store, the same within a test. */
  protected abstract DeadLetterStore deadLetterStore();

  // ---- write

  @Test
  void write_several_areListedInTheOrderOfTheirIds() throws Exception {
    var letters = letters(3);

    write(letters, false);

    assertDeadLetters(deadLetterStore().list(null, 10), letters);
    assertThat(deadLetterStore().counts()).isEqualTo(new DeadLetterCounts(3, 0, 0));
  }

  @Test
  void write_repeated_addsNothing() throws Exception {
    var letters = letters(2);
    write(letters, false);

    write(letters, true);

    assertDeadLetters(deadLetterStore().list(null, 10), letters);
    assertThat(deadLetterStore().counts()).isEqualTo(new DeadLetterCounts(2, 0, 0));
  }

  /** The gateway was killed between the write and the acknowledgement; an operator was faster. */
  @Test
  void write_repeatedAfterAPurgeOrAReplay_changesNothing() throws Exception {
    var letters = letters(2);
    write(letters, false);
    deadLetterStore().purge(id(letters.getFirst()));
    replay(letters.getLast());

    write(letters, true);

    assertThat(deadLetterStore().list(null, 10)).isEmpty();
    assertThat(deadLetterStore().counts()).isEqualTo(ONE_PURGED);
  }

  /** An earlier attempt wrote the dead letter, then the table was repaired. */
  @Test
  void write_redeliveryWhoseRecordIsStoredNow_completesTheReplay() throws Exception {
    var letters = letters(2);
    write(letters, false);

    var delivery = delivery(letters, true);
    assertThat(deadLetterStore().write(delivery, letters.subList(1, 2)))
        .isEqualTo(new WriteResult.Written());

    assertDeadLetters(deadLetterStore().list(null, 10), letters.subList(1, 2));
    assertThat(deadLetterStore().counts()).isEqualTo(ONE_OPEN);
  }

  @Test
  void write_redeliveryOfOtherRecords_completesNoReplay() throws Exception {
    var letters = letters(3);
    write(letters, false);

    var others = List.of(letters.getFirst(), letters.getLast()); // the second one is between them
    assertThat(deadLetterStore().write(delivery(others, true), List.of()))
        .isEqualTo(new WriteResult.Written());

    assertDeadLetters(deadLetterStore().list(null, 10), letters.subList(1, 2));
  }

  @Test
  void write_rejectedReplay_isOpenAgainWithItsNewReason() throws Exception {
    var letter = letters(1).getFirst();
    write(List.of(letter), false);
    replay(letter);

    var again = rejectedReplay(letter);
    write(List.of(again), true);

    assertDeadLetters(deadLetterStore().list(null, 10), List.of(again));
    assertThat(again.replays()).isEqualTo(1);
    assertThat(deadLetterStore().counts()).isEqualTo(ONE_OPEN);
  }

  @Test
  void write_largeRecords_areAllWritten() throws Exception {
    var letters = new ArrayList<DeadLetter>();
    for (var letter : letters(3)) {
      letters.add(withLog(letter, withOtlp(letter.log(), new byte[9 << 20])));
    }

    write(letters, false);

    assertDeadLetters(deadLetterStore().list(null, 10), letters);
  }

  // ---- list and find

  @Test
  void list_pages_areContinuedAfterAPurgedOne() throws Exception {
    var letters = letters(5);
    write(letters, false);

    var first = deadLetterStore().list(null, 2);
    assertDeadLetters(first, letters.subList(0, 2));
    deadLetterStore().purge(id(letters.get(1)));
    assertDeadLetters(deadLetterStore().list(id(letters.get(1)), 2), letters.subList(2, 4));
    assertDeadLetters(deadLetterStore().list(id(letters.get(3)), 2), letters.subList(4, 5));
    assertThat(deadLetterStore().list(id(letters.get(4)), 2)).isEmpty();
  }

  @Test
  void find_known_returnsItAndUnknownNothing() throws Exception {
    var letters = letters(2);
    write(letters.subList(0, 1), false);

    var found = deadLetterStore().find(id(letters.getFirst())).orElseThrow();

    assertDeadLetters(List.of(found), letters.subList(0, 1));
    assertThat(found.replayStarted()).isFalse();
    assertThat(deadLetterStore().find(id(letters.getLast()))).isEmpty();
  }

  @Test
  void findBetween_openAndPurged_areFoundAndReplayedOnesAreNot() throws Exception {
    var letters = letters(5);
    write(letters, false);
    deadLetterStore().purge(id(letters.get(1)));
    replay(letters.get(2));
    deadLetterStore().startReplay(letters.get(3));

    assertThat(deadLetterStore().findBetween(id(letters.get(1)), id(letters.get(3))))
        .containsExactlyInAnyOrder(id(letters.get(1)), id(letters.get(3)));
  }

  // ---- purge

  @Test
  void purge_open_isCountedAsPurgedOnce() throws Exception {
    var letter = letters(1).getFirst();
    write(List.of(letter), false);

    assertThat(deadLetterStore().purge(id(letter))).isTrue();
    assertThat(deadLetterStore().purge(id(letter))).isFalse();

    assertThat(deadLetterStore().find(id(letter))).isEmpty();
    assertThat(deadLetterStore().counts()).isEqualTo(ONE_PURGED);
  }

  @Test
  void purge_replayStarted_isFalse() throws Exception {
    var letter = letters(1).getFirst();
    write(List.of(letter), false);
    deadLetterStore().startReplay(letter);

    assertThat(deadLetterStore().purge(id(letter))).isFalse();
    assertThat(deadLetterStore().counts()).isEqualTo(ONE_REPLAYING);
  }

  /** Another gateway has read the dead letter before its purge. */
  @Test
  void startReplay_concurrentlyPurged_prevails() throws Exception {
    var letter = letters(1).getFirst();
    write(List.of(letter), false);
    deadLetterStore().purge(id(letter));

    deadLetterStore().startReplay(letter);
    assertThat(deadLetterStore().counts()).isEqualTo(ONE_REPLAYING);
    deadLetterStore().completeReplay(id(letter));

    assertThat(deadLetterStore().counts()).isEqualTo(DeadLetterCounts.NONE);
  }

  // ---- replay

  @Test
  void startReplay_corrected_keepsTheCorrectionUntilItsCompletion() throws Exception {
    var letter = letters(1).getFirst();
    write(List.of(letter), false);
    var corrected = withLog(letter, withOtlp(letter.log(), new byte[] {1, 2, 3}));

    deadLetterStore().startReplay(corrected);

    var found = deadLetterStore().find(id(letter)).orElseThrow();
    assertDeadLetters(List.of(found), List.of(corrected));
    assertThat(found.replayStarted()).isTrue();
    assertThat(deadLetterStore().counts()).isEqualTo(ONE_REPLAYING);

    deadLetterStore().completeReplay(id(letter));

    assertThat(deadLetterStore().find(id(letter))).isEmpty();
    assertThat(deadLetterStore().counts()).isEqualTo(DeadLetterCounts.NONE);
  }

  @Test
  void completeReplay_notStarted_doesNothing() throws Exception {
    var letter = letters(1).getFirst();
    write(List.of(letter), false);

    deadLetterStore().completeReplay(id(letter));

    assertThat(deadLetterStore().counts()).isEqualTo(ONE_OPEN);
  }

  /** The replay was rejected again before the replaying gateway could complete it. */
  @Test
  void completeReplay_rejectedMeanwhile_leavesTheNewDeadLetter() throws Exception {
    var letter = letters(1).getFirst();
    write(List.of(letter), false);
    deadLetterStore().startReplay(letter);
    var again = rejectedReplay(letter);
    write(List.of(again), true);

    deadLetterStore().completeReplay(id(letter));

    assertDeadLetters(deadLetterStore().list(null, 10), List.of(again));
  }

  /** A gateway that is killed between the append and the completion repeats the replay. */
  @Test
  void replay_killedBeforeTheCompletion_isRepeatedWithOneAppend() throws Exception {
    var letter = letters(1).getFirst();
    write(List.of(letter), false);
    var spool = new InMemorySpool();
    deadLetterStore().startReplay(letter);
    assertThat(spool.append(letter.log(), AppendMode.SYNC).toCompletableFuture().join())
        .isInstanceOf(AppendResult.Accepted.class);

    var item = deadLetterStore().list(null, 1).getFirst();
    assertThat(new DeadLetterReplayer(spool, deadLetterStore()).replay(item, item.letter().log()))
        .isEqualTo(new ReplayResult.Replayed());

    assertThat(deadLetterStore().counts()).isEqualTo(DeadLetterCounts.NONE);
    assertThat(spool.recordCounts().inFlight()).isEqualTo(1);
    assertThat(spool.recordCounts().accepted()).isZero();
  }

  @Test
  void replay_killedBeforeTheCompletion_isCompletedByItsDelivery() throws Exception {
    var letter = letters(1).getFirst();
    write(List.of(letter), false);
    deadLetterStore().startReplay(letter);
    var spool = new InMemorySpool();
    spool.append(letter.log(), AppendMode.POSSIBLE_DUPLICATE);

    var delivery = spool.consumer().poll(Duration.ZERO, Duration.ZERO).orElseThrow();
    assertThat(deadLetterStore().write(delivery, List.of())).isEqualTo(new WriteResult.Written());

    assertThat(deadLetterStore().counts()).isEqualTo(DeadLetterCounts.NONE);
  }

  @Test
  void replay_spoolUnavailable_staysOpenAndCanBeRepeated() throws Exception {
    var letter = letters(1).getFirst();
    write(List.of(letter), false);
    var spool = new InMemorySpool();
    var replayer = new DeadLetterReplayer(spool, deadLetterStore());
    var item = deadLetterStore().list(null, 1).getFirst();
    spool.setUnavailable(new AppendResult.Unavailable(Duration.ofSeconds(1), "full"));

    assertThat(replayer.replay(item, item.letter().log()))
        .isEqualTo(new ReplayResult.SpoolUnavailable("full"));
    assertThat(deadLetterStore().list(null, 1)).hasSize(1);

    spool.setUnavailable(null);
    assertThat(replayer.replay(item, item.letter().log())).isEqualTo(new ReplayResult.Replayed());
    assertThat(deadLetterStore().list(null, 1)).isEmpty();
  }

  // ---- adopt

  @Test
  void adopt_repeated_addsEachOnce() throws Exception {
    var letters = oldLetters(2);

    adopt(letters);
    adopt(letters);

    assertThat(deadLetterStore().list(null, 10))
        .extracting(item -> item.letter().log().firstId())
        .containsExactly(id(letters.getFirst()), id(letters.getLast()));
    assertThat(deadLetterStore().list(null, 10))
        .extracting(item -> item.letter().log().appendId())
        .containsExactly(
            ReplayId.of(id(letters.getFirst()), 1), ReplayId.of(id(letters.getLast()), 1));
  }

  @Test
  void adopt_purgedMeanwhile_changesNothing() throws Exception {
    var letters = oldLetters(1);
    adopt(letters);
    deadLetterStore().purge(id(letters.getFirst()));

    adopt(letters);

    assertThat(deadLetterStore().counts()).isEqualTo(ONE_PURGED);
  }

  /** A gateway of the earlier release has rejected the replay. */
  @Test
  void adopt_replayedMeanwhile_isOpenAgain() throws Exception {
    var letter = letters(1).getFirst();
    write(List.of(letter), false);
    replay(letter);

    adopt(List.of(withLog(letter, withAppendId(letter.log(), UUID.randomUUID()))));
    adopt(List.of(withLog(letter, withAppendId(letter.log(), UUID.randomUUID()))));

    assertThat(deadLetterStore().counts()).isEqualTo(ONE_OPEN);
    assertThat(deadLetterStore().list(null, 1).getFirst().letter().replays()).isEqualTo(1);
  }

  // ---- counts

  @Test
  void counts_severalDays_areByReceiveDay() throws Exception {
    var letters = letters(3);
    var day = letters.getFirst().log().day();
    var dayBefore = day.minusDays(1);
    var earlier =
        withLog(
            letters.get(2),
            receivedAt(
                letters.get(2).log(),
                letters.get(2).log().receivedNanos() - Duration.ofDays(1).toNanos()));
    write(List.of(letters.get(0), letters.get(1), earlier), false);
    deadLetterStore().purge(id(letters.get(1)));

    assertThat(deadLetterStore().counts(LocalDate.EPOCH))
        .containsOnlyKeys(dayBefore, day)
        .containsEntry(dayBefore, ONE_OPEN)
        .containsEntry(day, new DeadLetterCounts(1, 0, 1));
    assertThat(deadLetterStore().counts(day)).containsOnlyKeys(day);
  }

  private void write(List<DeadLetter> letters, boolean redelivered) throws InterruptedException {
    assertThat(deadLetterStore().write(delivery(letters, redelivered), letters))
        .isEqualTo(new WriteResult.Written());
  }

  private void adopt(List<DeadLetter> letters) throws InterruptedException {
    assertThat(deadLetterStore().adopt(letters)).isEqualTo(new WriteResult.Written());
  }

  private void replay(DeadLetter letter) {
    deadLetterStore().startReplay(letter);
    deadLetterStore().completeReplay(id(letter));
  }

  private static Delivery delivery(List<DeadLetter> letters, boolean redelivered) {
    return new Delivery("1-0", letters.stream().map(DeadLetter::log).toList(), redelivered);
  }

  /** Creates dead letters as a delivery worker does, all received on one day. */
  private static List<DeadLetter> letters(int count) {
    var letters = new ArrayList<DeadLetter>();
    long received = LogBatches.of(1).receivedNanos();
    for (int i = 0; i < count; i++) {
      var log = receivedAt(LogBatches.of(1), received);
      letters.add(
          new DeadLetter(
              withAppendId(log, ReplayId.after(log.appendId(), log.firstId())),
              "no " + i,
              469 + i,
              REJECTED_AT.plusMillis(i)));
    }
    letters.sort(Comparator.comparing(DeadLetterStoreContract::id));
    return letters;
  }

  /** Creates dead letters as an earlier release does. */
  private static List<DeadLetter> oldLetters(int count) {
    return letters(count).stream()
        .map(letter -> withLog(letter, withAppendId(letter.log(), UUID.randomUUID())))
        .toList();
  }

  /** Returns the dead letter of a replay that is rejected. */
  private static DeadLetter rejectedReplay(DeadLetter letter) {
    var log = letter.log();
    return new DeadLetter(
        withAppendId(log, ReplayId.after(log.appendId(), log.firstId())),
        "still no",
        letter.code(),
        REJECTED_AT.plusSeconds(9));
  }

  private static LogId id(DeadLetter letter) {
    return letter.log().firstId();
  }

  private static DeadLetter withLog(DeadLetter letter, LogBatch log) {
    return new DeadLetter(log, letter.reason(), letter.code(), letter.deadLetteredAt());
  }

  private static LogBatch withAppendId(LogBatch log, UUID appendId) {
    return batch(log, appendId, log.receivedNanos(), log.otlp());
  }

  private static LogBatch receivedAt(LogBatch log, long nanos) {
    return batch(log, log.appendId(), nanos, log.otlp());
  }

  private static LogBatch withOtlp(LogBatch log, byte[] otlp) {
    return batch(log, log.appendId(), log.receivedNanos(), otlp);
  }

  private static LogBatch batch(LogBatch log, UUID appendId, long receivedNanos, byte[] otlp) {
    return new LogBatch(
        appendId, log.tenant(), receivedNanos, log.firstId(), 1, log.expandedBytes(), otlp);
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
