package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.failover.Failover;
import dev.sluice.core.port.Deadlines;
import dev.sluice.core.port.Deliveries;
import dev.sluice.core.port.Deliveries.Delivery;
import dev.sluice.core.port.IdempotencyKeys;
import dev.sluice.core.port.IdempotencyKeys.Claimed;
import dev.sluice.core.port.Spool.Appended;
import dev.sluice.core.port.Spool.Fate;
import dev.sluice.core.port.Spool.Manner;
import dev.sluice.core.port.Spool.Receipt;
import dev.sluice.core.port.Spool.Tally;
import dev.sluice.core.port.Timer;
import dev.sluice.testkit.FickleSpool.Mood;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Two spools in memory that are one, by a time that the test moves. */
@Timeout(60)
final class FailoverTest {
  private static final Duration PATIENCE = Duration.ofMillis(500);
  private static final Duration PROBE = Duration.ofSeconds(1);
  private static final int KEYS = 100;
  private static final Duration RETENTION = Duration.ofHours(2);
  private static final Duration LONGEST_INSERT = Duration.ofMinutes(7);
  private static final Duration SHORT = Duration.ofMillis(50);
  private static final IdempotencyKeys.Key KEY =
      new IdempotencyKeys.Key("default", "order-1", new UUID(1, 2));
  private static final IdempotencyKeys.Key OTHER =
      new IdempotencyKeys.Key("default", "order-1", new UUID(1, 3));

  private final HandClock time = new HandClock("2026-08-24T10:00:00Z");
  private final InMemorySpool firstInside = new InMemorySpool();
  private final FickleSpool first = new FickleSpool(firstInside);
  private final InMemorySpool second = new InMemorySpool();
  private final Failover failover = failover(PATIENCE, PROBE);
  private final Deliveries deliveries = failover.deliveries();

  private Failover failover(Duration patience, Duration probe) {
    return failover(time, time, patience, probe, true);
  }

  private Failover failover(boolean delivers) {
    return failover(time, time, PATIENCE, PROBE, delivers);
  }

  private Failover failover(
      Timer timer, Deadlines deadlines, Duration patience, Duration probe, boolean delivers) {
    return new Failover(
        new Failover.Side("Redis", first, first, firstInside, firstInside),
        new Failover.Side("the log", second, second, second, second),
        second,
        new Failover.Settings(patience, probe, delivers, KEYS, RETENTION, LONGEST_INSERT),
        timer,
        deadlines,
        time);
  }

  @AfterEach
  void close() {
    failover.close();
  }

  @Test
  void append_firstWell_isThereAndNotInTheSecond() {
    var receipt = receipt(failover.append(LogBatches.of(3)).toCompletableFuture());

    assertThat(receipt.shard()).isZero();
    assertThat(firstInside.tally().accepted()).isEqualTo(3);
    assertThat(second.tally()).isEqualTo(Tally.NONE);
    assertThat(failover.status()).isEqualTo(new Failover.Status(true, "", 0));
  }

  @Test
  void append_firstBusyOrThrowing_isInTheSecondAtOnce() {
    for (var mood : List.of(Mood.BUSY, Mood.THROWING)) {
      first.be(mood);

      assertThat(receipt(append(LogBatches.of(3))).shard()).isNegative();
    }

    assertThat(firstInside.tally()).isEqualTo(Tally.NONE);
    assertThat(second.tally()).isEqualTo(new Tally(6, 6, 0, 0, 0));
    assertThat(failover.status().reason()).isEqualTo("first is full");
  }

  @Test
  void append_firstSilent_waitsForItsPatienceAndNoLongerAndOnce() {
    first.be(Mood.SILENT);

    var appended = append(LogBatches.of(3));
    time.advance(PATIENCE.minusMillis(1));
    assertThat(appended).isNotDone();
    time.advance(Duration.ofMillis(1));

    assertThat(receipt(appended).shard()).isNegative();
    var next = append(LogBatches.of(1));
    assertThat(next).isDone(); // nobody else waits for it
    assertThat(first.asked).hasValue(1);
    assertThat(failover.status())
        .isEqualTo(new Failover.Status(false, "Redis does not answer within 500 ms", 4));
  }

  @Test
  void append_firstAnswersInTime_takesItsDeadlineBack() {
    first.be(Mood.LATE);
    var appended = append(LogBatches.of(3));
    assertThat(time.waiting()).isOne();

    first.told.complete(null);

    assertThat(receipt(appended).shard()).isZero();
    assertThat(time.waiting()).isZero();
  }

  @Test
  void append_noDeadlinesAnyMore_isAnsweredByTheFirst() {
    first.be(Mood.LATE);
    Deadlines stopped =
        (_, _) -> {
          throw new IllegalStateException("stopped");
        };
    try (var ending = failover(time, stopped, PATIENCE, PROBE, true)) {
      var appended = ending.append(LogBatches.of(3), Manner.AWAITED).toCompletableFuture();
      assertThat(appended).isNotDone();

      first.told.complete(null);

      assertThat(receipt(appended).shard()).isZero();
    }
  }

  @Test
  void append_bothBusy_isBusyAndNamesBothReasons() {
    first.be(Mood.BUSY);
    second.refuse(new Appended.Busy(Duration.ofSeconds(3), "disk is full"));

    assertThat(append(LogBatches.of(3)).join())
        .isEqualTo(
            new Appended.Busy(
                Duration.ofSeconds(3), "Redis: first is full; the log: disk is full", true));
    assertThat(failover.unavailable()).contains("Redis: first is full; the log: disk is full");

    second.refuse(null);
    assertThat(failover.unavailable()).isEmpty();
  }

  /** What ended in doubt and comes again may be in the first, though that is away by now. */
  @Test
  void append_inDoubtAndRefusedByTheSecond_staysInDoubt() throws Exception {
    var batch = LogBatches.of(1);
    first.be(Mood.BUSY);
    append(LogBatches.of(1)).join();
    second.refuse(new Appended.Busy(Duration.ofSeconds(3), "disk is full"));
    var refused = failover.append(batch, Manner.AGAIN).toCompletableFuture().join();
    second.refuse(null);

    receipt(failover.append(batch, Manner.AGAIN).toCompletableFuture());

    assertThat(((Appended.Busy) refused).doubtful()).isTrue();
    assertThat(deliveries.next(Duration.ZERO)).isEmpty();
  }

  /** It must not wait for the first to come back, which may take days. */
  @Test
  void append_refusedByTheSecondAlone_isCertainWhenItComesAgain() throws Exception {
    var batch = LogBatches.of(3);
    failover.start();
    first.be(Mood.BUSY);
    time.advance(PROBE);
    second.refuse(new Appended.Busy(Duration.ofSeconds(3), "disk is full"));
    var refused = append(batch).join();
    second.refuse(null);

    receipt(append(batch));

    assertThat(((Appended.Busy) refused).doubtful()).isFalse();
    assertThat(first.asked).hasValue(0);
    var delivery = await().until(() -> deliveries.next(SHORT), d -> d.isPresent()).orElseThrow();
    assertThat(ids(delivery)).containsExactly(batch.appendId());
    assertThat(delivery.again()).isFalse();
  }

  @Test
  void probe_firstSaysItIsInTrouble_opensBeforeAnyAppend() {
    failover.start();
    first.be(Mood.BUSY);

    time.advance(PROBE);

    receipt(append(LogBatches.of(1)));
    assertThat(first.asked).hasValue(0);
  }

  @Test
  void probe_wellTwiceInARow_closesAndNotBefore() {
    failover.start();
    first.be(Mood.BUSY);
    time.advance(PROBE);
    assertThat(failover.status().firstTakesLogs()).isFalse();

    for (var mood : List.of(Mood.WELL, Mood.SILENT, Mood.WELL, Mood.BUSY, Mood.WELL)) {
      first.be(mood);
      time.advance(PROBE);
      if (mood == Mood.SILENT) {
        time.advance(PATIENCE);
      }
      assertThat(failover.status().firstTakesLogs()).as("%s", mood).isFalse();
    }
    time.advance(PROBE);

    assertThat(failover.status().firstTakesLogs()).isTrue();
  }

  @Test
  void giveBack_firstWellAgain_hasAllInTheirOrder() throws Exception {
    failover.start();
    first.be(Mood.BUSY);
    var batches = LogBatches.some(50, 2);
    batches.forEach(batch -> receipt(append(batch)));
    assertThat(failover.tally().inFlight()).isEqualTo(100);

    becomeWell();

    await().until(() -> second.tally().equals(Tally.NONE));
    assertThat(failover.tally()).isEqualTo(new Tally(100, 100, 0, 0, 0));
    var delivery = firstInside.next(Duration.ZERO).orElseThrow();
    assertThat(ids(delivery)).isEqualTo(batches.stream().map(LogBatch::appendId).toList());
    assertThat(deliveries.next(SHORT)).isEmpty();
  }

  @Test
  void giveBack_whatTheFirstTookWithoutSaying_isThereOnce() {
    failover.start();
    first.be(Mood.MUTE);
    var appended = append(LogBatches.of(3));
    time.advance(PATIENCE);
    receipt(appended);
    assertThat(firstInside.tally().accepted()).isEqualTo(3);
    assertThat(second.tally().accepted()).isEqualTo(3);

    becomeWell();

    await().until(() -> second.tally().equals(Tally.NONE));
    assertThat(firstInside.tally()).isEqualTo(new Tally(3, 3, 0, 0, 0));
  }

  @Test
  void giveBack_refusedInTheMiddle_goesOnWhenWellAndIsNotDeliveredMeanwhile() throws Exception {
    failover.start();
    first.be(Mood.BUSY);
    LogBatches.some(10, 1).forEach(batch -> receipt(append(batch)));
    var left = new AtomicInteger(5);
    first.mood = () -> left.getAndDecrement() > 0 ? Mood.WELL : Mood.BUSY;
    time.advance(PROBE);
    time.advance(PROBE);
    await().until(() -> left.get() < 0 && !failover.status().firstTakesLogs());
    assertThat(firstInside.tally().accepted()).isBetween(1L, 5L);

    assertThat(deliveries.next(SHORT)).isEmpty(); // the first may deliver some of it
    receipt(append(LogBatches.of(2)));
    var fresh = await().until(() -> deliveries.next(SHORT), d -> d.isPresent()).orElseThrow();
    assertThat(fresh.records()).isEqualTo(2);
    deliveries.settle(fresh);
    becomeWell();

    await().until(() -> second.tally().inFlight() == 0);
    assertThat(firstInside.tally()).isEqualTo(new Tally(10, 10, 0, 0, 0));
    assertThat(second.tally()).isEqualTo(new Tally(2, 0, 0, 0, 0));
  }

  @Test
  void deliveries_firstAway_handOutWhatIsCertainAndHoldTheRest() throws Exception {
    first.be(Mood.SILENT);
    var doubtful = append(LogBatches.of(3));
    time.advance(PATIENCE);
    receipt(doubtful);
    receipt(append(LogBatches.of(5)));

    var delivery = deliveries.next(Duration.ZERO).orElseThrow();

    assertThat(delivery.records()).isEqualTo(5);
    assertThat(delivery.again()).isFalse();
    assertThat(deliveries.next(Duration.ZERO).orElseThrow().again()).isTrue();
    deliveries.settle(delivery);
    assertThat(deliveries.next(Duration.ZERO)).isEmpty();
    assertThat(second.tally().inFlight()).isEqualTo(3);
  }

  @Test
  void deliveries_firstWellAgain_finishWhatWasBegunAndNothingElse() throws Exception {
    failover.start();
    first.be(Mood.BUSY);
    time.advance(PROBE); // else what opens would be doubtful
    receipt(append(LogBatches.of(5)));
    var begun = await().until(() -> deliveries.next(SHORT), d -> d.isPresent()).orElseThrow();
    receipt(append(LogBatches.of(2)));
    becomeWell();

    var again = deliveries.next(SHORT).orElseThrow();
    assertThat(again.token()).isEqualTo(begun.token());
    deliveries.settle(again);

    await().until(() -> second.tally().inFlight() == 0);
    assertThat(deliveries.next(SHORT)).isEmpty();
    assertThat(firstInside.tally().accepted()).isEqualTo(2);
    assertThat(second.tally().accepted()).isEqualTo(5);
  }

  /** An insert of it may still be under way in the store. */
  @Test
  void giveBack_workerGoneWithADelivery_leavesThatForTheNextStart() throws Exception {
    failover.start();
    var begun = begun();
    deliveries.close();
    becomeWell();

    failover.drain(Duration.ofDays(1)); // ends when there is nothing that it may have

    assertThat(firstInside.tally()).isEqualTo(Tally.NONE);
    failover.close();
    try (var next = failover(true)) {
      next.start();
      var again = next.deliveries().next(SHORT).orElseThrow();
      assertThat(again.token()).isEqualTo(begun.token());
      assertThat(again.again()).isTrue();
      assertThat(firstInside.tally()).isEqualTo(Tally.NONE);
      next.deliveries().settle(again);

      await().until(() -> second.tally().inFlight() == 0);
      assertThat(next.deliveries().next(SHORT)).isEmpty();
    }
    assertThat(second.tally()).isEqualTo(new Tally(5, 0, 0, 0, 0));
    assertThat(firstInside.tally()).isEqualTo(new Tally(2, 2, 0, 0, 0));
  }

  @Test
  void giveBack_batchOfABegunDeliverySetAside_leavesTheRestToTheWorker() throws Exception {
    failover.start();
    begun();
    var begun = deliveries.next(SHORT).orElseThrow();
    assertThat(begun.batches()).hasSize(2);
    deliveries.setAside(begun.batches().getFirst().appendId(), "bad");
    becomeWell();

    var rest = deliveries.next(SHORT).orElseThrow();

    SpoolContract.assertSame(rest.batches(), begun.batches().subList(1, 2));
  }

  @Test
  void giveBack_begunBeforeTheStartAndNoWorker_waitsUntilNoInsertCanBeUnderWay() throws Exception {
    failover.start();
    begun();
    first.be(Mood.WELL);
    deliveries.close();
    failover.close();

    try (var next = failover(false)) {
      next.start();
      time.advance(LONGEST_INSERT.minusSeconds(1));
      next.drain(Duration.ofDays(1)); // ends when there is nothing that it may have
      assertThat(firstInside.tally()).isEqualTo(Tally.NONE);
    }
    try (var next = failover(false)) {
      next.start();
      time.advance(LONGEST_INSERT);

      await().until(() -> second.tally().equals(Tally.NONE));
      var delivery = firstInside.next(Duration.ZERO).orElseThrow();
      assertThat(delivery.records()).isEqualTo(7);
      assertThat(delivery.again()).isTrue();
    }
  }

  /** A delivery of five records in two batches that a worker has begun, and two records behind. */
  private Delivery begun() throws Exception {
    first.be(Mood.BUSY);
    time.advance(PROBE); // else what opens would be doubtful
    receipt(append(LogBatches.of(3)));
    receipt(append(LogBatches.of(2)));
    var begun = await().until(() -> deliveries.next(SHORT), d -> d.isPresent()).orElseThrow();
    receipt(append(LogBatches.of(2)));
    return begun;
  }

  @Test
  void append_whileGivingBackStandsStill_isTaken() {
    failover.start();
    first.be(Mood.BUSY);
    LogBatches.some(20, 1).forEach(batch -> receipt(append(batch)));
    var silent = new AtomicBoolean();
    first.mood =
        () ->
            Thread.currentThread().getName().equals("give-back") && silent.get()
                ? Mood.SILENT
                : Mood.WELL;
    silent.set(true);
    time.advance(PROBE);
    time.advance(PROBE);
    await().until(() -> first.asked.get() > 1); // one that is answered late holds up nobody

    for (var batch : LogBatches.some(100, 1)) {
      assertThat(receipt(append(batch)).shard()).isZero();
    }
  }

  @Test
  void fate_ofWhatWasGivenBack_isThatInTheFirst() throws Exception {
    failover.start();
    first.be(Mood.BUSY);
    var batch = LogBatches.of(5);
    var receipt = receipt(append(batch));
    assertThat(fate(receipt, batch)).isEqualTo(new Fate.Waiting());
    becomeWell();
    await().until(() -> second.tally().equals(Tally.NONE));
    assertThat(fate(receipt, batch)).isEqualTo(new Fate.Waiting());

    firstInside.settle(firstInside.next(Duration.ZERO).orElseThrow());

    assertThat(fate(receipt, batch)).isEqualTo(new Fate.Settled(0));
  }

  @Test
  void claim_takenBeforeTheChange_isTakenAfterIt() {
    receipt(append(LogBatches.of(1), mine(KEY)));
    first.be(Mood.BUSY);
    append(LogBatches.of(1)).join();

    assertThat(claim(KEY)).isEqualTo(new Claimed.Taken());
    assertThat(claim(OTHER)).isEqualTo(new Claimed.Another());
    time.advance(RETENTION);
    assertThat(claim(OTHER)).isInstanceOf(Claimed.Mine.class);
  }

  @Test
  void claim_moreKeysThanAreRemembered_forgetsThoseUsedLongestAgo() {
    receipt(append(LogBatches.of(1), mine(KEY)));
    first.be(Mood.BUSY);
    append(LogBatches.of(1)).join();
    for (int i = 0; i < KEYS; i++) {
      mine(new IdempotencyKeys.Key("default", "another-" + i, new UUID(1, 2)));
    }

    assertThat(claim(OTHER)).isInstanceOf(Claimed.Mine.class);
  }

  @Test
  void claim_underWayInTheFirst_isUnderWayInTheSecond() {
    mine(KEY);
    first.be(Mood.BUSY);
    append(LogBatches.of(1)).join();

    assertThat(claim(KEY)).isEqualTo(new Claimed.UnderWay());
    time.advance(IdempotencyKeys.CLAIM_ENDS_AFTER);
    assertThat(claim(KEY)).isInstanceOf(Claimed.Mine.class);
  }

  @Test
  void appendUnderClaim_firstFellSilent_isInTheSecondAndTakenInBothInTheEnd() {
    failover.start();
    var claim = mine(KEY);
    first.be(Mood.MUTE);

    var appended = append(LogBatches.of(4), claim);
    time.advance(PATIENCE);

    receipt(appended);
    assertThat(claim(KEY)).isEqualTo(new Claimed.Taken());
    becomeWell();
    await().until(() -> second.tally().equals(Tally.NONE));
    assertThat(firstInside.tally()).isEqualTo(new Tally(4, 4, 0, 0, 0));
    assertThat(firstInside.claim(KEY).toCompletableFuture().join()).isEqualTo(new Claimed.Taken());
  }

  /** What was under way to the first when it fell silent may still arrive there. */
  @Test
  void appendUnderClaim_firstHasNotGotIt_isGivenBackUnderTheFirstsOwnClaim() {
    failover.start();
    var claim = mine(KEY);
    first.be(Mood.SILENT);
    var appended = append(LogBatches.of(4), claim);
    time.advance(PATIENCE);
    receipt(appended);
    becomeWell();

    await().until(() -> second.tally().equals(Tally.NONE));
    assertThat(firstInside.tally()).isEqualTo(new Tally(4, 4, 0, 0, 0));
    assertThat(firstInside.claim(KEY).toCompletableFuture().join()).isEqualTo(new Claimed.Taken());
  }

  @Test
  void claim_takenInTheSecondBeforeTheStart_isTaken() {
    var claim = (Claimed.Mine) second.claim(KEY).toCompletableFuture().join();
    receipt(second.append(LogBatches.of(1), claim.claim()).toCompletableFuture());

    assertThat(claim(OTHER)).isEqualTo(new Claimed.Another());
    assertThat(claim(KEY)).isEqualTo(new Claimed.Taken());
    assertThat(first.asked).hasValue(0);
  }

  @Test
  void giveBack_keyedInTheSecond_takesTheKeyInTheFirst() {
    failover.start();
    first.be(Mood.BUSY);
    receipt(append(LogBatches.of(4), mine(KEY)));
    becomeWell();

    await().until(() -> second.tally().equals(Tally.NONE));
    assertThat(firstInside.claim(KEY).toCompletableFuture().join()).isEqualTo(new Claimed.Taken());
  }

  @Test
  void release_eitherSpool_keyIsFree() {
    join(failover.release(mine(KEY).claim()));
    first.be(Mood.BUSY);
    append(LogBatches.of(1)).join();
    join(failover.release(mine(KEY).claim()));

    mine(KEY);
  }

  @Test
  void drain_firstWell_givesBackEverythingAndEnds() {
    failover.start();
    first.be(Mood.BUSY);
    LogBatches.some(10, 1).forEach(batch -> receipt(append(batch)));
    deliveries.close();
    becomeWell();

    failover.drain(Duration.ofSeconds(30));

    assertThat(second.tally()).isEqualTo(Tally.NONE);
    failover.close();
    failover.close();
  }

  /**
   * The first fails in every way at random. Whoever delivers looks first when told to, as the store
   * does; whatever is stored twice was handed out as new twice.
   */
  @Test
  void everything_firstFailsAtRandom_isStoredExactlyOnce() throws Exception {
    try (var timer = Executors.newScheduledThreadPool(2);
        var threads = Executors.newVirtualThreadPerTaskExecutor();
        var both =
            failover(
                (delay, task) -> {
                  var _ = timer.schedule(task, delay.toNanos(), TimeUnit.NANOSECONDS);
                },
                (within, missed) -> {
                  var wait = timer.schedule(missed, within.toNanos(), TimeUnit.NANOSECONDS);
                  return () -> wait.cancel(false);
                },
                Duration.ofMillis(20),
                Duration.ofMillis(3),
                true)) {
      both.start();
      first.mood = FailoverTest::atRandom;
      var stored = new ConcurrentHashMap<UUID, Integer>();
      var accepted = ConcurrentHashMap.<UUID>newKeySet();
      var working = new AtomicBoolean(true);
      var workers =
          List.of(
              threads.submit(() -> work(firstInside, stored, working)),
              threads.submit(() -> work(both.deliveries(), stored, working)));
      var clients =
          IntStream.range(0, 16).mapToObj(_ -> threads.submit(() -> send(both, accepted))).toList();
      for (var client : clients) {
        client.get();
      }
      first.be(Mood.WELL);

      await()
          .atMost(Duration.ofSeconds(30))
          .untilAsserted(() -> assertThat(stored.keySet()).containsAll(accepted));
      await().until(() -> both.tally().inFlight() == 0);
      working.set(false);
      for (var worker : workers) {
        worker.get();
      }
      assertThat(accepted).hasSize(16 * 200);
      assertThat(stored.values()).containsOnly(1);
      assertThat(both.tally().accepted()).isEqualTo(stored.size());
    }
  }

  /** Troubles that last for a while, and well in between. */
  private static Mood atRandom() {
    long phase = TimeUnit.NANOSECONDS.toMillis(System.nanoTime()) / 40 % 3;
    var moods = Mood.values();
    return phase > 0 && ThreadLocalRandom.current().nextInt(4) == 0
        ? moods[ThreadLocalRandom.current().nextInt(moods.length)]
        : Mood.WELL;
  }

  private static @Nullable Void send(Failover failover, Set<UUID> accepted) {
    for (var batch : LogBatches.some(200, 1)) {
      receipt(failover.append(batch, Manner.AWAITED).toCompletableFuture());
      accepted.add(batch.appendId());
    }
    return null;
  }

  private static @Nullable Void work(
      Deliveries deliveries, Map<UUID, Integer> stored, AtomicBoolean working)
      throws InterruptedException {
    while (working.get()) {
      var next = deliveries.next(Duration.ofMillis(5));
      if (next.isEmpty()) {
        continue;
      }
      var delivery = next.get();
      for (var id : ids(delivery)) {
        stored.merge(id, 1, (there, one) -> delivery.again() ? there : there + one);
      }
      if (ThreadLocalRandom.current().nextInt(5) > 0) { // else it was stored and not known to be
        deliveries.settle(delivery);
      }
    }
    return null;
  }

  /** What was open closes: asked twice, and waiting until what follows is under way. */
  private void becomeWell() {
    first.be(Mood.WELL);
    time.advance(PROBE);
    time.advance(PROBE);
    assertThat(failover.status().firstTakesLogs()).isTrue();
  }

  private CompletableFuture<Appended> append(LogBatch batch) {
    return failover.append(batch, Manner.AWAITED).toCompletableFuture();
  }

  private CompletableFuture<Appended> append(LogBatch batch, Claimed.Mine mine) {
    return failover.append(batch, mine.claim(), Manner.AWAITED).toCompletableFuture();
  }

  private Claimed claim(IdempotencyKeys.Key key) {
    return failover.claim(key).toCompletableFuture().join();
  }

  private Claimed.Mine mine(IdempotencyKeys.Key key) {
    var claimed = claim(key);
    assertThat(claimed).isInstanceOf(Claimed.Mine.class);
    return (Claimed.Mine) claimed;
  }

  private void join(CompletionStage<Void> stage) {
    stage.toCompletableFuture().join();
  }

  private Fate fate(Receipt receipt, LogBatch batch) {
    return failover.fate(receipt, batch.firstId(), batch.records()).toCompletableFuture().join();
  }

  private static Receipt receipt(CompletableFuture<Appended> appended) {
    var answer = appended.orTimeout(30, TimeUnit.SECONDS).join();
    assertThat(answer).isInstanceOf(Appended.Accepted.class);
    return ((Appended.Accepted) answer).receipt();
  }

  private static List<UUID> ids(Delivery delivery) {
    return delivery.batches().stream().map(LogBatch::appendId).toList();
  }
}
