package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.failover.FailoverSpool;
import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.IdempotencyStore.ClaimResult;
import dev.sluice.core.port.Scheduler;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.core.port.Spool.DeliveryStatus;
import dev.sluice.core.port.Spool.Receipt;
import dev.sluice.core.port.Spool.RecordCounts;
import dev.sluice.core.port.SpoolConsumer;
import dev.sluice.core.port.SpoolConsumer.Delivery;
import dev.sluice.core.port.TimeoutScheduler;
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
  private static final IdempotencyStore.IdempotencyKey KEY =
      new IdempotencyStore.IdempotencyKey("default", "order-1", new UUID(1, 2));
  private static final IdempotencyStore.IdempotencyKey OTHER =
      new IdempotencyStore.IdempotencyKey("default", "order-1", new UUID(1, 3));

  private final HandClock time = new HandClock("2026-08-24T10:00:00Z");
  private final InMemorySpool firstInside = new InMemorySpool();
  private final FickleSpool first = new FickleSpool(firstInside);
  private final InMemorySpool second = new InMemorySpool();
  private final FailoverSpool failover = failover(PATIENCE, PROBE);
  private final SpoolConsumer deliveries = failover.fallbackConsumer();

  private FailoverSpool failover(Duration patience, Duration probe) {
    return failover(time, time, patience, probe, true);
  }

  private FailoverSpool failover(boolean delivers) {
    return failover(time, time, PATIENCE, PROBE, delivers);
  }

  private FailoverSpool failover(
      Scheduler scheduler,
      TimeoutScheduler timeoutScheduler,
      Duration patience,
      Duration probe,
      boolean delivers) {
    return new FailoverSpool(
        new FailoverSpool.SpoolTarget("Redis", first, first, firstInside, firstInside),
        new FailoverSpool.SpoolTarget("the log", second, second, second, second),
        second,
        new FailoverSpool.FailoverSettings(
            patience, probe, delivers, KEYS, RETENTION, LONGEST_INSERT),
        scheduler,
        timeoutScheduler,
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
    assertThat(firstInside.recordCounts().accepted()).isEqualTo(3);
    assertThat(second.recordCounts()).isEqualTo(RecordCounts.NONE);
    assertThat(failover.failoverStatus()).isEqualTo(new FailoverSpool.FailoverStatus(true, "", 0));
  }

  @Test
  void append_firstBusyOrThrowing_isInTheSecondAtOnce() {
    for (var mood : List.of(Mood.BUSY, Mood.THROWING)) {
      first.be(mood);

      assertThat(receipt(append(LogBatches.of(3))).shard()).isNegative();
    }

    assertThat(firstInside.recordCounts()).isEqualTo(RecordCounts.NONE);
    assertThat(second.recordCounts()).isEqualTo(new RecordCounts(6, 6, 0, 0, 0));
    assertThat(failover.failoverStatus().reason()).isEqualTo("first is full");
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
    assertThat(failover.failoverStatus())
        .isEqualTo(
            new FailoverSpool.FailoverStatus(false, "Redis does not answer within 500 ms", 4));
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
    TimeoutScheduler stopped =
        (_, _) -> {
          throw new IllegalStateException("stopped");
        };
    try (var ending = failover(time, stopped, PATIENCE, PROBE, true)) {
      var appended = ending.append(LogBatches.of(3), AppendMode.SYNC).toCompletableFuture();
      assertThat(appended).isNotDone();

      first.told.complete(null);

      assertThat(receipt(appended).shard()).isZero();
    }
  }

  @Test
  void append_bothBusy_isBusyAndNamesBothReasons() {
    first.be(Mood.BUSY);
    second.refuse(new AppendResult.Unavailable(Duration.ofSeconds(3), "disk is full"));

    assertThat(append(LogBatches.of(3)).join())
        .isEqualTo(
            new AppendResult.Unavailable(
                Duration.ofSeconds(3), "Redis: first is full; the log: disk is full", true));
    assertThat(failover.unavailableReason())
        .contains("Redis: first is full; the log: disk is full");

    second.refuse(null);
    assertThat(failover.unavailableReason()).isEmpty();
  }

  /** What ended in doubt and comes again may be in the first, though that is away by now. */
  @Test
  void append_inDoubtAndRefusedByTheSecond_staysInDoubt() throws Exception {
    var batch = LogBatches.of(1);
    first.be(Mood.BUSY);
    append(LogBatches.of(1)).join();
    second.refuse(new AppendResult.Unavailable(Duration.ofSeconds(3), "disk is full"));
    var refused =
        failover.append(batch, AppendMode.POSSIBLE_DUPLICATE).toCompletableFuture().join();
    second.refuse(null);

    receipt(failover.append(batch, AppendMode.POSSIBLE_DUPLICATE).toCompletableFuture());

    assertThat(((AppendResult.Unavailable) refused).outcomeUnknown()).isTrue();
    assertThat(deliveries.poll(Duration.ZERO)).isEmpty();
  }

  /** It must not wait for the first to come back, which may take days. */
  @Test
  void append_refusedByTheSecondAlone_isCertainWhenItComesAgain() throws Exception {
    var batch = LogBatches.of(3);
    failover.start();
    first.be(Mood.BUSY);
    time.advance(PROBE);
    second.refuse(new AppendResult.Unavailable(Duration.ofSeconds(3), "disk is full"));
    var refused = append(batch).join();
    second.refuse(null);

    receipt(append(batch));

    assertThat(((AppendResult.Unavailable) refused).outcomeUnknown()).isFalse();
    assertThat(first.asked).hasValue(0);
    var delivery = await().until(() -> deliveries.poll(SHORT), d -> d.isPresent()).orElseThrow();
    assertThat(ids(delivery)).containsExactly(batch.appendId());
    assertThat(delivery.redelivered()).isFalse();
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
    assertThat(failover.failoverStatus().firstTakesLogs()).isFalse();

    for (var mood : List.of(Mood.WELL, Mood.SILENT, Mood.WELL, Mood.BUSY, Mood.WELL)) {
      first.be(mood);
      time.advance(PROBE);
      if (mood == Mood.SILENT) {
        time.advance(PATIENCE);
      }
      assertThat(failover.failoverStatus().firstTakesLogs()).as("%s", mood).isFalse();
    }
    time.advance(PROBE);

    assertThat(failover.failoverStatus().firstTakesLogs()).isTrue();
  }

  @Test
  void giveBack_firstWellAgain_hasAllInTheirOrder() throws Exception {
    failover.start();
    first.be(Mood.BUSY);
    var batches = LogBatches.some(50, 2);
    batches.forEach(batch -> receipt(append(batch)));
    assertThat(failover.recordCounts().inFlight()).isEqualTo(100);

    becomeWell();

    await().until(() -> second.recordCounts().equals(RecordCounts.NONE));
    assertThat(failover.recordCounts()).isEqualTo(new RecordCounts(100, 100, 0, 0, 0));
    var delivery = firstInside.poll(Duration.ZERO).orElseThrow();
    assertThat(ids(delivery)).isEqualTo(batches.stream().map(LogBatch::appendId).toList());
    assertThat(deliveries.poll(SHORT)).isEmpty();
  }

  @Test
  void giveBack_whatTheFirstTookWithoutSaying_isThereOnce() {
    failover.start();
    first.be(Mood.MUTE);
    var appended = append(LogBatches.of(3));
    time.advance(PATIENCE);
    receipt(appended);
    assertThat(firstInside.recordCounts().accepted()).isEqualTo(3);
    assertThat(second.recordCounts().accepted()).isEqualTo(3);

    becomeWell();

    await().until(() -> second.recordCounts().equals(RecordCounts.NONE));
    assertThat(firstInside.recordCounts()).isEqualTo(new RecordCounts(3, 3, 0, 0, 0));
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
    await().until(() -> left.get() < 0 && !failover.failoverStatus().firstTakesLogs());
    assertThat(firstInside.recordCounts().accepted()).isBetween(1L, 5L);

    assertThat(deliveries.poll(SHORT)).isEmpty(); // the first may deliver some of it
    receipt(append(LogBatches.of(2)));
    var fresh = await().until(() -> deliveries.poll(SHORT), d -> d.isPresent()).orElseThrow();
    assertThat(fresh.records()).isEqualTo(2);
    deliveries.ack(fresh);
    becomeWell();

    await().until(() -> second.recordCounts().inFlight() == 0);
    assertThat(firstInside.recordCounts()).isEqualTo(new RecordCounts(10, 10, 0, 0, 0));
    assertThat(second.recordCounts()).isEqualTo(new RecordCounts(2, 0, 0, 0, 0));
  }

  @Test
  void deliveries_firstAway_handOutWhatIsCertainAndHoldTheRest() throws Exception {
    first.be(Mood.SILENT);
    var doubtful = append(LogBatches.of(3));
    time.advance(PATIENCE);
    receipt(doubtful);
    receipt(append(LogBatches.of(5)));

    var delivery = deliveries.poll(Duration.ZERO).orElseThrow();

    assertThat(delivery.records()).isEqualTo(5);
    assertThat(delivery.redelivered()).isFalse();
    assertThat(deliveries.poll(Duration.ZERO).orElseThrow().redelivered()).isTrue();
    deliveries.ack(delivery);
    assertThat(deliveries.poll(Duration.ZERO)).isEmpty();
    assertThat(second.recordCounts().inFlight()).isEqualTo(3);
  }

  @Test
  void deliveries_firstWellAgain_finishWhatWasBegunAndNothingElse() throws Exception {
    failover.start();
    first.be(Mood.BUSY);
    time.advance(PROBE); // else what opens would be doubtful
    receipt(append(LogBatches.of(5)));
    var begun = await().until(() -> deliveries.poll(SHORT), d -> d.isPresent()).orElseThrow();
    receipt(append(LogBatches.of(2)));
    becomeWell();

    var again = deliveries.poll(SHORT).orElseThrow();
    assertThat(again.token()).isEqualTo(begun.token());
    deliveries.ack(again);

    await().until(() -> second.recordCounts().inFlight() == 0);
    assertThat(deliveries.poll(SHORT)).isEmpty();
    assertThat(firstInside.recordCounts().accepted()).isEqualTo(2);
    assertThat(second.recordCounts().accepted()).isEqualTo(5);
  }

  /** An insert of it may still be under way in the store. */
  @Test
  void giveBack_workerGoneWithADelivery_leavesThatForTheNextStart() throws Exception {
    failover.start();
    var begun = begun();
    deliveries.close();
    becomeWell();

    failover.drain(Duration.ofDays(1)); // ends when there is nothing that it may have

    assertThat(firstInside.recordCounts()).isEqualTo(RecordCounts.NONE);
    failover.close();
    try (var next = failover(true)) {
      next.start();
      var again = next.fallbackConsumer().poll(SHORT).orElseThrow();
      assertThat(again.token()).isEqualTo(begun.token());
      assertThat(again.redelivered()).isTrue();
      assertThat(firstInside.recordCounts()).isEqualTo(RecordCounts.NONE);
      next.fallbackConsumer().ack(again);

      await().until(() -> second.recordCounts().inFlight() == 0);
      assertThat(next.fallbackConsumer().poll(SHORT)).isEmpty();
    }
    assertThat(second.recordCounts()).isEqualTo(new RecordCounts(5, 0, 0, 0, 0));
    assertThat(firstInside.recordCounts()).isEqualTo(new RecordCounts(2, 2, 0, 0, 0));
  }

  @Test
  void giveBack_batchOfABegunDeliverySetAside_leavesTheRestToTheWorker() throws Exception {
    failover.start();
    begun();
    var begun = deliveries.poll(SHORT).orElseThrow();
    assertThat(begun.batches()).hasSize(2);
    deliveries.skip(begun.batches().getFirst().appendId(), "bad");
    becomeWell();

    var rest = deliveries.poll(SHORT).orElseThrow();

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
      assertThat(firstInside.recordCounts()).isEqualTo(RecordCounts.NONE);
    }
    try (var next = failover(false)) {
      next.start();
      time.advance(LONGEST_INSERT);

      await().until(() -> second.recordCounts().equals(RecordCounts.NONE));
      var delivery = firstInside.poll(Duration.ZERO).orElseThrow();
      assertThat(delivery.records()).isEqualTo(7);
      assertThat(delivery.redelivered()).isTrue();
    }
  }

  /** A delivery of five records in two batches that a worker has begun, and two records behind. */
  private Delivery begun() throws Exception {
    first.be(Mood.BUSY);
    time.advance(PROBE); // else what opens would be doubtful
    receipt(append(LogBatches.of(3)));
    receipt(append(LogBatches.of(2)));
    var begun = await().until(() -> deliveries.poll(SHORT), d -> d.isPresent()).orElseThrow();
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
            Thread.currentThread().getName().equals("fallback-drainer") && silent.get()
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
    assertThat(fate(receipt, batch)).isEqualTo(new DeliveryStatus.Pending());
    becomeWell();
    await().until(() -> second.recordCounts().equals(RecordCounts.NONE));
    assertThat(fate(receipt, batch)).isEqualTo(new DeliveryStatus.Pending());

    firstInside.ack(firstInside.poll(Duration.ZERO).orElseThrow());

    assertThat(fate(receipt, batch)).isEqualTo(new DeliveryStatus.Delivered(0));
  }

  @Test
  void claim_takenBeforeTheChange_isTakenAfterIt() {
    receipt(append(LogBatches.of(1), mine(KEY)));
    first.be(Mood.BUSY);
    append(LogBatches.of(1)).join();

    assertThat(claim(KEY)).isEqualTo(new ClaimResult.Completed());
    assertThat(claim(OTHER)).isEqualTo(new ClaimResult.KeyReused());
    time.advance(RETENTION);
    assertThat(claim(OTHER)).isInstanceOf(ClaimResult.Granted.class);
  }

  @Test
  void claim_moreKeysThanAreRemembered_forgetsThoseUsedLongestAgo() {
    receipt(append(LogBatches.of(1), mine(KEY)));
    first.be(Mood.BUSY);
    append(LogBatches.of(1)).join();
    for (int i = 0; i < KEYS; i++) {
      mine(new IdempotencyStore.IdempotencyKey("default", "another-" + i, new UUID(1, 2)));
    }

    assertThat(claim(OTHER)).isInstanceOf(ClaimResult.Granted.class);
  }

  @Test
  void claim_underWayInTheFirst_isUnderWayInTheSecond() {
    mine(KEY);
    first.be(Mood.BUSY);
    append(LogBatches.of(1)).join();

    assertThat(claim(KEY)).isEqualTo(new ClaimResult.InProgress());
    time.advance(IdempotencyStore.CLAIM_TTL);
    assertThat(claim(KEY)).isInstanceOf(ClaimResult.Granted.class);
  }

  @Test
  void appendUnderClaim_firstFellSilent_isInTheSecondAndTakenInBothInTheEnd() {
    failover.start();
    var claim = mine(KEY);
    first.be(Mood.MUTE);

    var appended = append(LogBatches.of(4), claim);
    time.advance(PATIENCE);

    receipt(appended);
    assertThat(claim(KEY)).isEqualTo(new ClaimResult.Completed());
    becomeWell();
    await().until(() -> second.recordCounts().equals(RecordCounts.NONE));
    assertThat(firstInside.recordCounts()).isEqualTo(new RecordCounts(4, 4, 0, 0, 0));
    assertThat(firstInside.claim(KEY).toCompletableFuture().join())
        .isEqualTo(new ClaimResult.Completed());
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

    await().until(() -> second.recordCounts().equals(RecordCounts.NONE));
    assertThat(firstInside.recordCounts()).isEqualTo(new RecordCounts(4, 4, 0, 0, 0));
    assertThat(firstInside.claim(KEY).toCompletableFuture().join())
        .isEqualTo(new ClaimResult.Completed());
  }

  @Test
  void claim_takenInTheSecondBeforeTheStart_isTaken() {
    var claim = (ClaimResult.Granted) second.claim(KEY).toCompletableFuture().join();
    receipt(second.append(LogBatches.of(1), claim.claim()).toCompletableFuture());

    assertThat(claim(OTHER)).isEqualTo(new ClaimResult.KeyReused());
    assertThat(claim(KEY)).isEqualTo(new ClaimResult.Completed());
    assertThat(first.asked).hasValue(0);
  }

  @Test
  void giveBack_keyedInTheSecond_takesTheKeyInTheFirst() {
    failover.start();
    first.be(Mood.BUSY);
    receipt(append(LogBatches.of(4), mine(KEY)));
    becomeWell();

    await().until(() -> second.recordCounts().equals(RecordCounts.NONE));
    assertThat(firstInside.claim(KEY).toCompletableFuture().join())
        .isEqualTo(new ClaimResult.Completed());
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

    assertThat(second.recordCounts()).isEqualTo(RecordCounts.NONE);
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
              threads.submit(() -> work(both.fallbackConsumer(), stored, working)));
      var clients =
          IntStream.range(0, 16).mapToObj(_ -> threads.submit(() -> send(both, accepted))).toList();
      for (var client : clients) {
        client.get();
      }
      first.be(Mood.WELL);

      await()
          .atMost(Duration.ofSeconds(30))
          .untilAsserted(() -> assertThat(stored.keySet()).containsAll(accepted));
      await().until(() -> both.recordCounts().inFlight() == 0);
      working.set(false);
      for (var worker : workers) {
        worker.get();
      }
      assertThat(accepted).hasSize(16 * 200);
      assertThat(stored.values()).containsOnly(1);
      assertThat(both.recordCounts().accepted()).isEqualTo(stored.size());
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

  private static @Nullable Void send(FailoverSpool failover, Set<UUID> accepted) {
    for (var batch : LogBatches.some(200, 1)) {
      receipt(failover.append(batch, AppendMode.SYNC).toCompletableFuture());
      accepted.add(batch.appendId());
    }
    return null;
  }

  private static @Nullable Void work(
      SpoolConsumer spoolConsumer, Map<UUID, Integer> stored, AtomicBoolean working)
      throws InterruptedException {
    while (working.get()) {
      var next = spoolConsumer.poll(Duration.ofMillis(5));
      if (next.isEmpty()) {
        continue;
      }
      var delivery = next.get();
      for (var id : ids(delivery)) {
        stored.merge(id, 1, (there, one) -> delivery.redelivered() ? there : there + one);
      }
      if (ThreadLocalRandom.current().nextInt(5) > 0) { // else it was stored and not known to be
        spoolConsumer.ack(delivery);
      }
    }
    return null;
  }

  /** What was open closes: asked twice, and waiting until what follows is under way. */
  private void becomeWell() {
    first.be(Mood.WELL);
    time.advance(PROBE);
    time.advance(PROBE);
    assertThat(failover.failoverStatus().firstTakesLogs()).isTrue();
  }

  private CompletableFuture<AppendResult> append(LogBatch batch) {
    return failover.append(batch, AppendMode.SYNC).toCompletableFuture();
  }

  private CompletableFuture<AppendResult> append(LogBatch batch, ClaimResult.Granted granted) {
    return failover.append(batch, granted.claim(), AppendMode.SYNC).toCompletableFuture();
  }

  private ClaimResult claim(IdempotencyStore.IdempotencyKey key) {
    return failover.claim(key).toCompletableFuture().join();
  }

  private ClaimResult.Granted mine(IdempotencyStore.IdempotencyKey key) {
    var claimResult = claim(key);
    assertThat(claimResult).isInstanceOf(ClaimResult.Granted.class);
    return (ClaimResult.Granted) claimResult;
  }

  private void join(CompletionStage<Void> stage) {
    stage.toCompletableFuture().join();
  }

  private DeliveryStatus fate(Receipt receipt, LogBatch batch) {
    return failover
        .statusOf(receipt, batch.firstId(), batch.records())
        .toCompletableFuture()
        .join();
  }

  private static Receipt receipt(CompletableFuture<AppendResult> appended) {
    var answer = appended.orTimeout(30, TimeUnit.SECONDS).join();
    assertThat(answer).isInstanceOf(AppendResult.Accepted.class);
    return ((AppendResult.Accepted) answer).receipt();
  }

  private static List<UUID> ids(Delivery delivery) {
    return delivery.batches().stream().map(LogBatch::appendId).toList();
  }
}
