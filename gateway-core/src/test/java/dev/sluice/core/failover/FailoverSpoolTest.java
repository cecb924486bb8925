package dev.sluice.core.failover;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.failover.FlakySpool.Behavior;
import dev.sluice.core.port.DailyCounts.RecordCounts;
import dev.sluice.core.port.DeliveryStatusReader.DeliveryStatus;
import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.IdempotencyStore.ClaimResult;
import dev.sluice.core.port.Scheduler;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.core.port.Spool.Receipt;
import dev.sluice.core.port.SpoolConsumer;
import dev.sluice.core.port.SpoolConsumer.Delivery;
import dev.sluice.core.port.TimeoutScheduler;
import dev.sluice.testkit.InMemorySpool;
import dev.sluice.testkit.LogBatches;
import dev.sluice.testkit.ManualClock;
import java.time.Duration;
import java.util.ArrayList;
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
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests {@link FailoverSpool} with two spools in memory and a clock that the test moves. */
@Timeout(60)
final class FailoverSpoolTest {
  private static final Duration PRIMARY_TIMEOUT = Duration.ofMillis(500);
  private static final Duration PROBE_INTERVAL = Duration.ofSeconds(1);
  private static final int MAX_KEYS = 100;
  private static final Duration RETENTION = Duration.ofHours(2);

  /** The delay of the second check of a batch. */
  private static final Duration CHECK_DELAY = Duration.ofSeconds(1);

  private static final Duration SHORT_TIMEOUT = Duration.ofMillis(50);
  private static final IdempotencyStore.IdempotencyKey KEY =
      new IdempotencyStore.IdempotencyKey("default", "order-1", new UUID(1, 2));
  private static final IdempotencyStore.IdempotencyKey OTHER =
      new IdempotencyStore.IdempotencyKey("default", "order-1", new UUID(1, 3));

  private final ManualClock clock = new ManualClock("2026-08-24T10:00:00Z");
  private final InMemorySpool primarySpool = new InMemorySpool();
  private final FlakySpool primary = new FlakySpool(primarySpool);
  private final InMemorySpool fallback = new InMemorySpool();
  private final FailoverSpool failover = failover(PRIMARY_TIMEOUT, PROBE_INTERVAL);
  private final SpoolConsumer consumer = fallback.consumer();

  private FailoverSpool failover(Duration primaryTimeout, Duration probeInterval) {
    return failover(clock, clock, primaryTimeout, probeInterval);
  }

  private FailoverSpool failover(
      Scheduler scheduler,
      TimeoutScheduler timeoutScheduler,
      Duration primaryTimeout,
      Duration probeInterval) {
    var spool =
        node("node-1", fallback, scheduler, timeoutScheduler, primaryTimeout, probeInterval);
    fallback.setDuplicateCheck(spool.duplicateCheck());
    return spool;
  }

  /** Returns the spool of one of several processes with the same primary. */
  private FailoverSpool node(
      String name,
      InMemorySpool itsFallback,
      Scheduler scheduler,
      TimeoutScheduler timeoutScheduler,
      Duration primaryTimeout,
      Duration probeInterval) {
    return new FailoverSpool(
        FailoverSpool.SpoolTarget.of("Redis", primary),
        primary,
        primary,
        FailoverSpool.SpoolTarget.of("the log", itsFallback),
        new FailoverSpool.FailoverSettings(
            name, primaryTimeout, probeInterval, MAX_KEYS, RETENTION),
        scheduler,
        timeoutScheduler,
        clock);
  }

  @AfterEach
  void close() {
    failover.close();
  }

  @Test
  void append_primaryHealthy_isInPrimaryOnly() {
    var receipt = receipt(failover.append(LogBatches.of(3), AppendMode.SYNC).toCompletableFuture());

    assertThat(receipt.shard()).isZero();
    assertThat(primarySpool.recordCounts().accepted()).isEqualTo(3);
    assertThat(fallback.recordCounts()).isEqualTo(RecordCounts.NONE);
    assertThat(failover.failoverStatus()).isEqualTo(new FailoverSpool.FailoverStatus(true, "", 0));
  }

  @Test
  void append_primaryUnavailableOrThrowing_isInFallbackImmediately() {
    for (var behavior : List.of(Behavior.UNAVAILABLE, Behavior.THROWING)) {
      primary.setBehavior(behavior);

      assertThat(receipt(append(LogBatches.of(3))).shard()).isNegative();
    }

    assertThat(primarySpool.recordCounts()).isEqualTo(RecordCounts.NONE);
    assertThat(fallback.recordCounts()).isEqualTo(new RecordCounts(6, 6, 0));
    assertThat(failover.failoverStatus().reason()).isEqualTo("primary is full");
  }

  @Test
  void append_primaryUnresponsive_waitsForItsTimeoutOnce() {
    primary.setBehavior(Behavior.UNRESPONSIVE);

    var appended = append(LogBatches.of(3));
    clock.advance(PRIMARY_TIMEOUT.minusMillis(1));
    assertThat(appended).isNotDone();
    clock.advance(Duration.ofMillis(1));

    assertThat(receipt(appended).shard()).isNegative();
    var next = append(LogBatches.of(1));
    assertThat(next).isDone(); // only the first append waits for the timeout
    assertThat(primary.calls).hasValue(1);
    assertThat(failover.failoverStatus())
        .isEqualTo(
            new FailoverSpool.FailoverStatus(false, "Redis does not respond within 500 ms", 4));
  }

  @Test
  void append_primaryRespondsInTime_cancelsItsTimeout() {
    primary.setBehavior(Behavior.DELAYED);
    var appended = append(LogBatches.of(3));
    assertThat(clock.pendingTasks()).isOne();

    primary.delayedRelease.complete(null);

    assertThat(receipt(appended).shard()).isZero();
    assertThat(clock.pendingTasks()).isZero();
  }

  @Test
  void append_schedulerStopped_getsTheResponseOfPrimary() {
    primary.setBehavior(Behavior.DELAYED);
    TimeoutScheduler stopped =
        (_, _) -> {
          throw new IllegalStateException("stopped");
        };
    try (var ending = failover(clock, stopped, PRIMARY_TIMEOUT, PROBE_INTERVAL)) {
      var appended = ending.append(LogBatches.of(3), AppendMode.SYNC).toCompletableFuture();
      assertThat(appended).isNotDone();

      primary.delayedRelease.complete(null);

      assertThat(receipt(appended).shard()).isZero();
    }
  }

  @Test
  void append_bothUnavailable_isUnavailableWithBothReasons() {
    primary.setBehavior(Behavior.UNAVAILABLE);
    fallback.setUnavailable(new AppendResult.Unavailable(Duration.ofSeconds(3), "disk is full"));

    assertThat(append(LogBatches.of(3)).join())
        .isEqualTo(
            new AppendResult.Unavailable(
                Duration.ofSeconds(3), "Redis: primary is full; the log: disk is full", true));
    assertThat(failover.status().toCompletableFuture().join().unavailableReason())
        .contains("Redis: primary is full; the log: disk is full");

    fallback.setUnavailable(null);
    assertThat(failover.status().toCompletableFuture().join().unavailableReason()).isNull();
  }

  /**
   * An append with an unknown outcome may be in the primary when it is retried, although the
   * primary is unavailable now.
   */
  @Test
  void append_outcomeUnknownAndFallbackUnavailable_staysUnknown() throws Exception {
    var batch = LogBatches.of(1);
    primary.setBehavior(Behavior.UNAVAILABLE);
    append(LogBatches.of(1)).join();
    fallback.setUnavailable(new AppendResult.Unavailable(Duration.ofSeconds(3), "disk is full"));
    var refused =
        failover.append(batch, AppendMode.POSSIBLE_DUPLICATE).toCompletableFuture().join();
    fallback.setUnavailable(null);

    receipt(failover.append(batch, AppendMode.POSSIBLE_DUPLICATE).toCompletableFuture());

    assertThat(((AppendResult.Unavailable) refused).outcomeUnknown()).isTrue();
    assertThat(consumer.poll(Duration.ZERO, Duration.ZERO)).isEmpty();
  }

  /** The append must not wait for the primary to recover, which may take days. */
  @Test
  void append_onlyFallbackUnavailable_isConfirmedOnRetry() throws Exception {
    var batch = LogBatches.of(3);
    failover.start();
    primary.setBehavior(Behavior.UNAVAILABLE);
    clock.advance(PROBE_INTERVAL);
    fallback.setUnavailable(new AppendResult.Unavailable(Duration.ofSeconds(3), "disk is full"));
    var refused = append(batch).join();
    fallback.setUnavailable(null);

    receipt(append(batch));

    assertThat(((AppendResult.Unavailable) refused).outcomeUnknown()).isFalse();
    assertThat(primary.calls).hasValue(0);
    var delivery =
        await()
            .until(() -> consumer.poll(SHORT_TIMEOUT, Duration.ZERO), d -> d.isPresent())
            .orElseThrow();
    assertThat(ids(delivery)).containsExactly(batch.appendId());
    assertThat(delivery.redelivered()).isFalse();
  }

  @Test
  void probe_primaryUnavailable_opensTheBreakerBeforeAnyAppend() {
    failover.start();
    primary.setBehavior(Behavior.UNAVAILABLE);

    clock.advance(PROBE_INTERVAL);

    receipt(append(LogBatches.of(1)));
    assertThat(primary.calls).hasValue(0);
  }

  @Test
  void probe_healthyTwiceInARow_closesTheBreaker() {
    failover.start();
    primary.setBehavior(Behavior.UNAVAILABLE);
    clock.advance(PROBE_INTERVAL);
    assertThat(failover.failoverStatus().primaryAvailable()).isFalse();

    for (var behavior :
        List.of(
            Behavior.HEALTHY,
            Behavior.UNRESPONSIVE,
            Behavior.HEALTHY,
            Behavior.UNAVAILABLE,
            Behavior.HEALTHY)) {
      primary.setBehavior(behavior);
      clock.advance(PROBE_INTERVAL);
      if (behavior == Behavior.UNRESPONSIVE) {
        clock.advance(PRIMARY_TIMEOUT);
      }
      assertThat(failover.failoverStatus().primaryAvailable()).as("%s", behavior).isFalse();
    }
    clock.advance(PROBE_INTERVAL);

    assertThat(failover.failoverStatus().primaryAvailable()).isTrue();
  }

  @Test
  void poll_primaryUnavailable_returnsConfirmedAndHoldsTheRest() throws Exception {
    primary.setBehavior(Behavior.UNRESPONSIVE);
    var doubtful = append(LogBatches.of(3));
    clock.advance(PRIMARY_TIMEOUT);
    receipt(doubtful);
    receipt(append(LogBatches.of(5)));

    var delivery = consumer.poll(Duration.ZERO, Duration.ZERO).orElseThrow();

    assertThat(delivery.records()).isEqualTo(5);
    assertThat(delivery.redelivered()).isFalse();
    assertThat(consumer.poll(Duration.ZERO, Duration.ZERO).orElseThrow().redelivered()).isTrue();
    consumer.ack(delivery);
    assertThat(consumer.poll(Duration.ZERO, Duration.ZERO)).isEmpty();
    assertThat(fallback.recordCounts().inFlight()).isEqualTo(3);
  }

  @Test
  void poll_primaryRecovered_deliversTheRest() throws Exception {
    failover.start();
    primary.setBehavior(Behavior.UNAVAILABLE);
    // opens the breaker before the append, so that the outcome is not unknown
    clock.advance(PROBE_INTERVAL);
    var batch = LogBatches.of(5);
    receipt(append(batch));
    recoverPrimary();

    var delivery = consumer.poll(Duration.ZERO, Duration.ZERO).orElseThrow();

    assertThat(ids(delivery)).containsExactly(batch.appendId());
    assertThat(delivery.redelivered()).isFalse();
    assertThat(primarySpool.recordCounts()).isEqualTo(RecordCounts.NONE);
  }

  @Test
  void poll_primaryResponseLost_dropsTheCopyWhenPrimaryHasDelivered() throws Exception {
    failover.start();
    var receipt = appendWithUnknownOutcome(Behavior.RESPONSE_LOST, LogBatches.of(3));
    recoverPrimary();

    assertThat(consumer.poll(Duration.ZERO, Duration.ZERO)).isEmpty();
    assertThat(failover.recordCounts()).isEqualTo(new RecordCounts(6, 6, 0));
    assertThat(statusOf(receipt)).isEqualTo(new DeliveryStatus.Pending());

    primarySpool
        .consumer()
        .ack(primarySpool.consumer().poll(Duration.ZERO, Duration.ZERO).orElseThrow());
    clock.advance(CHECK_DELAY);
    assertThat(consumer.poll(Duration.ZERO, Duration.ZERO)).isEmpty();
    assertThat(failover.recordCounts()).isEqualTo(new RecordCounts(3, 0, 0));
    assertThat(statusOf(receipt)).isEqualTo(new DeliveryStatus.Delivered());
  }

  @Test
  void append_idRefusedByPrimary_isInFallbackAndPrimaryStaysInUse() throws Exception {
    failover.start();
    var batch = LogBatches.of(3);
    primarySpool.resolve(batch.appendId()).toCompletableFuture().join();

    var receipt = receipt(append(batch));

    assertThat(receipt.shard()).isNegative();
    assertThat(failover.failoverStatus().primaryAvailable()).isTrue();
    var delivery = consumer.poll(Duration.ZERO, Duration.ZERO).orElseThrow();
    assertThat(ids(delivery)).containsExactly(batch.appendId());
    assertThat(delivery.redelivered()).isTrue();
  }

  @Test
  void recordCounts_twoNodes_includeTheFallbackOfTheOther() throws Exception {
    failover.start();
    var otherFallback = new InMemorySpool();
    try (var other = node("node-2", otherFallback, clock, clock, PRIMARY_TIMEOUT, PROBE_INTERVAL)) {
      other.start();
      primary.setBehavior(Behavior.UNAVAILABLE);
      clock.advance(PROBE_INTERVAL);
      receipt(append(LogBatches.of(5)));
      recoverPrimary();
      clock.advance(PROBE_INTERVAL);
      assertThat(other.recordCounts()).isEqualTo(new RecordCounts(5, 5, 0));

      consumer.ack(consumer.poll(Duration.ZERO, Duration.ZERO).orElseThrow());
      clock.advance(PROBE_INTERVAL);

      assertThat(failover.recordCounts()).isEqualTo(new RecordCounts(5, 0, 0));
      assertThat(other.recordCounts()).isEqualTo(new RecordCounts(5, 0, 0));
    }
  }

  @Test
  void poll_primaryNeverReceivedTheBatch_deliversTheCopy() throws Exception {
    failover.start();
    var batch = LogBatches.of(3);
    var receipt = appendWithUnknownOutcome(Behavior.UNRESPONSIVE, batch);
    recoverPrimary();

    var delivery = consumer.poll(Duration.ZERO, Duration.ZERO).orElseThrow();

    assertThat(ids(delivery)).containsExactly(batch.appendId());
    assertThat(delivery.redelivered()).isTrue();
    assertThat(statusOf(receipt)).isEqualTo(new DeliveryStatus.Pending());
    consumer.ack(delivery);
    assertThat(statusOf(receipt)).isEqualTo(new DeliveryStatus.Delivered());
    assertThat(failover.recordCounts()).isEqualTo(new RecordCounts(3, 0, 0));
  }

  /** The append may still be on its way when the primary is asked. */
  @Test
  void poll_appendArrivesInPrimaryLater_isDeliveredOnce() throws Exception {
    failover.start();
    appendWithUnknownOutcome(Behavior.DELAYED, LogBatches.of(3));
    recoverPrimary();
    consumer.ack(consumer.poll(Duration.ZERO, Duration.ZERO).orElseThrow());

    primary.delayedRelease.complete(null);

    assertThat(primarySpool.consumer().poll(Duration.ZERO, Duration.ZERO)).isEmpty();
    assertThat(failover.recordCounts()).isEqualTo(new RecordCounts(3, 0, 0));
  }

  @Test
  void poll_primaryDoesNotRespondToTheCheck_delaysNoOtherBatch() throws Exception {
    failover.start();
    appendWithUnknownOutcome(Behavior.UNRESPONSIVE, LogBatches.of(3));
    receipt(append(LogBatches.of(5)));
    recoverPrimary();
    primary.setBehavior(Behavior.UNRESPONSIVE);

    var certain = consumer.poll(Duration.ZERO, Duration.ZERO).orElseThrow();
    assertThat(certain.records()).isEqualTo(5);
    consumer.ack(certain);
    assertThat(consumer.poll(Duration.ZERO, Duration.ZERO)).isEmpty();

    primary.setBehavior(Behavior.HEALTHY);
    clock.advance(PRIMARY_TIMEOUT);
    assertThat(consumer.poll(Duration.ZERO, Duration.ZERO)).isEmpty(); // the check has failed
    clock.advance(CHECK_DELAY);
    assertThat(consumer.poll(Duration.ZERO, Duration.ZERO).orElseThrow().records()).isEqualTo(3);
  }

  @Test
  void poll_primaryLosesTheBatchAfterACheck_deliversTheCopy() throws Exception {
    failover.start();
    var batch = LogBatches.of(3);
    appendWithUnknownOutcome(Behavior.RESPONSE_LOST, batch);
    recoverPrimary();
    assertThat(consumer.poll(Duration.ZERO, Duration.ZERO)).isEmpty(); // the primary has it

    primary.spool = new InMemorySpool();
    clock.advance(CHECK_DELAY);

    assertThat(ids(consumer.poll(Duration.ZERO, Duration.ZERO).orElseThrow()))
        .containsExactly(batch.appendId());
  }

  @Test
  void poll_manyPossibleDuplicates_checksFewAtATime() throws Exception {
    failover.start();
    primary.setBehavior(Behavior.UNRESPONSIVE);
    var appended = new ArrayList<CompletableFuture<AppendResult>>();
    for (int i = 0; i < 40; i++) {
      appended.add(append(LogBatches.of(1)));
    }
    clock.advance(PRIMARY_TIMEOUT);
    appended.forEach(FailoverSpoolTest::receipt);
    recoverPrimary();
    primary.setBehavior(Behavior.UNRESPONSIVE);

    for (int i = 0; i < 3; i++) {
      assertThat(consumer.poll(Duration.ZERO, Duration.ZERO)).isEmpty();
    }
    assertThat(primary.resolves).hasValue(16);

    primary.setBehavior(Behavior.HEALTHY);
    clock.advance(PRIMARY_TIMEOUT);
    for (int i = 0; i < 40; i++) {
      clock.advance(CHECK_DELAY);
      consumer.ack(consumer.poll(Duration.ZERO, Duration.ZERO).orElseThrow());
    }
    assertThat(fallback.recordCounts()).isEqualTo(new RecordCounts(40, 0, 0));
  }

  /** Appends a batch whose append to the primary ends by its timeout. */
  private Receipt appendWithUnknownOutcome(Behavior behavior, LogBatch batch) {
    primary.setBehavior(behavior);
    var appended = append(batch);
    clock.advance(PRIMARY_TIMEOUT);
    var receipt = receipt(appended);
    assertThat(receipt.shard()).isNegative();
    return receipt;
  }

  @Test
  void claim_completedBeforeFailover_isCompletedAfterIt() {
    receipt(append(LogBatches.of(1), claimGranted(KEY)));
    primary.setBehavior(Behavior.UNAVAILABLE);
    append(LogBatches.of(1)).join();

    assertThat(claim(KEY)).isEqualTo(new ClaimResult.Completed());
    assertThat(claim(OTHER)).isEqualTo(new ClaimResult.IdempotencyKeyReused());
    clock.advance(RETENTION);
    assertThat(claim(OTHER)).isInstanceOf(ClaimResult.Granted.class);
  }

  @Test
  void claim_moreThanMaxKeys_evictsTheLeastRecentlyUsed() {
    receipt(append(LogBatches.of(1), claimGranted(KEY)));
    primary.setBehavior(Behavior.UNAVAILABLE);
    append(LogBatches.of(1)).join();
    for (int i = 0; i < MAX_KEYS; i++) {
      claimGranted(new IdempotencyStore.IdempotencyKey("default", "another-" + i, new UUID(1, 2)));
    }

    assertThat(claim(OTHER)).isInstanceOf(ClaimResult.Granted.class);
  }

  @Test
  void claim_inProgressInPrimary_isInProgressInFallback() {
    claimGranted(KEY);
    primary.setBehavior(Behavior.UNAVAILABLE);
    append(LogBatches.of(1)).join();

    assertThat(claim(KEY)).isEqualTo(new ClaimResult.InProgress());
    clock.advance(IdempotencyStore.CLAIM_TTL);
    assertThat(claim(KEY)).isInstanceOf(ClaimResult.Granted.class);
  }

  @Test
  void appendUnderClaim_primaryResponseLost_isInFallbackAndCompletedInBoth() throws Exception {
    failover.start();
    var claim = claimGranted(KEY);
    primary.setBehavior(Behavior.RESPONSE_LOST);

    var appended = append(LogBatches.of(4), claim);
    clock.advance(PRIMARY_TIMEOUT);

    receipt(appended);
    assertThat(claim(KEY)).isEqualTo(new ClaimResult.Completed());
    assertThat(claimInPrimary(KEY)).isEqualTo(new ClaimResult.Completed());
    recoverPrimary();
    primarySpool
        .consumer()
        .ack(primarySpool.consumer().poll(Duration.ZERO, Duration.ZERO).orElseThrow());
    assertThat(consumer.poll(Duration.ZERO, Duration.ZERO)).isEmpty();
    assertThat(failover.recordCounts()).isEqualTo(new RecordCounts(4, 0, 0));
  }

  @Test
  void appendUnderClaim_primaryNeverReceivedIt_isDeliveredAndTheKeyCompleted() throws Exception {
    failover.start();
    var claim = claimGranted(KEY);
    primary.setBehavior(Behavior.UNRESPONSIVE);
    var appended = append(LogBatches.of(4), claim);
    clock.advance(PRIMARY_TIMEOUT);
    receipt(appended);
    recoverPrimary();

    assertThat(consumer.poll(Duration.ZERO, Duration.ZERO).orElseThrow().records()).isEqualTo(4);
    await().until(() -> claimInPrimary(KEY).equals(new ClaimResult.Completed()));
  }

  @Test
  void claim_completedInFallbackBeforeStart_isCompleted() {
    var claim = (ClaimResult.Granted) fallback.claim(KEY).toCompletableFuture().join();
    receipt(
        fallback.append(LogBatches.of(1), claim.claim(), AppendMode.SYNC).toCompletableFuture());

    assertThat(claim(OTHER)).isEqualTo(new ClaimResult.IdempotencyKeyReused());
    assertThat(claim(KEY)).isEqualTo(new ClaimResult.Completed());
    assertThat(primary.calls).hasValue(0);
  }

  @Test
  void probe_primaryRecovered_copiesTheKeysOfTheFallback() {
    failover.start();
    primary.setBehavior(Behavior.UNAVAILABLE);
    receipt(append(LogBatches.of(4), claimGranted(KEY)));
    assertThat(claimInPrimary(OTHER)).isInstanceOf(ClaimResult.Granted.class);

    recoverPrimary();

    await().until(() -> claimInPrimary(KEY).equals(new ClaimResult.Completed()));
  }

  @Test
  void probe_keyThatCannotBeCopied_staysAndDoesNotOpenTheBreaker() {
    failover.start();
    primary.setBehavior(Behavior.UNAVAILABLE);
    receipt(append(LogBatches.of(4), claimGranted(KEY)));
    primary.failsToCompleteKeys = true;

    recoverPrimary();
    await().until(() -> clock.pendingTasks() > 1); // the retry, besides the probe
    assertThat(failover.failoverStatus().primaryAvailable()).isTrue();

    primary.failsToCompleteKeys = false;
    clock.advance(CHECK_DELAY);
    await().until(() -> claimInPrimary(KEY).equals(new ClaimResult.Completed()));
  }

  @Test
  void start_keysInFallback_areCopiedWhenPrimaryIsAvailable() {
    var claim = (ClaimResult.Granted) fallback.claim(KEY).toCompletableFuture().join();
    receipt(
        fallback.append(LogBatches.of(1), claim.claim(), AppendMode.SYNC).toCompletableFuture());
    primary.setBehavior(Behavior.UNAVAILABLE);
    failover.start();
    await().until(() -> !failover.failoverStatus().primaryAvailable());

    recoverPrimary();

    await().until(() -> claimInPrimary(KEY).equals(new ClaimResult.Completed()));
  }

  @Test
  void release_eitherSpool_keyIsFree() {
    join(failover.release(claimGranted(KEY).claim()));
    primary.setBehavior(Behavior.UNAVAILABLE);
    append(LogBatches.of(1)).join();
    join(failover.release(claimGranted(KEY).claim()));

    claimGranted(KEY);
  }

  /**
   * The primary fails randomly in every way. The workers check a redelivered batch before they
   * store it, as the store does; a batch that is stored twice was delivered twice as new.
   */
  @Test
  void deliver_primaryFailsAtRandom_storesExactlyOnce() throws Exception {
    try (var timer = Executors.newScheduledThreadPool(2);
        var threads = Executors.newVirtualThreadPerTaskExecutor();
        var both =
            failover(
                (delay, task) -> {
                  var _ = timer.schedule(task, delay.toNanos(), TimeUnit.NANOSECONDS);
                },
                (timeout, onTimeout) -> {
                  var wait = timer.schedule(onTimeout, timeout.toNanos(), TimeUnit.NANOSECONDS);
                  return () -> wait.cancel(false);
                },
                Duration.ofMillis(20),
                Duration.ofMillis(3))) {
      both.start();
      primary.behavior = FailoverSpoolTest::randomBehavior;
      var stored = new ConcurrentHashMap<UUID, Integer>();
      var accepted = ConcurrentHashMap.<UUID>newKeySet();
      var working = new AtomicBoolean(true);
      var workers =
          List.of(
              threads.submit(() -> work(primarySpool.consumer(), stored, working)),
              threads.submit(() -> work(fallback.consumer(), stored, working)));
      var clients =
          IntStream.range(0, 16).mapToObj(_ -> threads.submit(() -> send(both, accepted))).toList();
      for (var client : clients) {
        client.get();
      }
      primary.setBehavior(Behavior.HEALTHY);

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

  /** Returns failures in phases, with healthy phases between them. */
  private static Behavior randomBehavior() {
    long phase = TimeUnit.NANOSECONDS.toMillis(System.nanoTime()) / 40 % 3;
    var behaviors = Behavior.values();
    return phase > 0 && ThreadLocalRandom.current().nextInt(4) == 0
        ? behaviors[ThreadLocalRandom.current().nextInt(behaviors.length)]
        : Behavior.HEALTHY;
  }

  private static @Nullable Void send(FailoverSpool failover, Set<UUID> accepted) {
    for (var batch : LogBatches.list(200, 1)) {
      receipt(failover.append(batch, AppendMode.SYNC).toCompletableFuture());
      accepted.add(batch.appendId());
    }
    return null;
  }

  private static @Nullable Void work(
      SpoolConsumer spoolConsumer, Map<UUID, Integer> stored, AtomicBoolean working)
      throws InterruptedException {
    while (working.get()) {
      var next = spoolConsumer.poll(Duration.ofMillis(5), Duration.ZERO);
      if (next.isEmpty()) {
        continue;
      }
      var delivery = next.get();
      for (var id : ids(delivery)) {
        stored.merge(id, 1, (count, one) -> delivery.redelivered() ? count : count + one);
      }
      if (ThreadLocalRandom.current().nextInt(5) > 0) { // else the batch is stored but not acked
        spoolConsumer.ack(delivery);
      }
    }
    return null;
  }

  /** Closes the breaker: two healthy probes in a row. */
  private void recoverPrimary() {
    primary.setBehavior(Behavior.HEALTHY);
    clock.advance(PROBE_INTERVAL);
    clock.advance(PROBE_INTERVAL);
    assertThat(failover.failoverStatus().primaryAvailable()).isTrue();
  }

  private CompletableFuture<AppendResult> append(LogBatch batch) {
    return failover.append(batch, AppendMode.SYNC).toCompletableFuture();
  }

  private CompletableFuture<AppendResult> append(LogBatch batch, ClaimResult.Granted granted) {
    return failover.append(batch, granted.claim(), AppendMode.SYNC).toCompletableFuture();
  }

  private ClaimResult claimInPrimary(IdempotencyStore.IdempotencyKey key) {
    return primarySpool.claim(key).toCompletableFuture().join();
  }

  private ClaimResult claim(IdempotencyStore.IdempotencyKey key) {
    return failover.claim(key).toCompletableFuture().join();
  }

  private ClaimResult.Granted claimGranted(IdempotencyStore.IdempotencyKey key) {
    var claimResult = claim(key);
    assertThat(claimResult).isInstanceOf(ClaimResult.Granted.class);
    return (ClaimResult.Granted) claimResult;
  }

  private void join(CompletionStage<Void> stage) {
    stage.toCompletableFuture().join();
  }

  private DeliveryStatus statusOf(Receipt receipt) {
    return failover.statusOf(receipt).toCompletableFuture().join();
  }

  private static Receipt receipt(CompletableFuture<AppendResult> appended) {
    var appendResult = appended.orTimeout(30, TimeUnit.SECONDS).join();
    assertThat(appendResult).isInstanceOf(AppendResult.Accepted.class);
    return ((AppendResult.Accepted) appendResult).receipt();
  }

  private static List<UUID> ids(Delivery delivery) {
    return delivery.batches().stream().map(LogBatch::appendId).toList();
  }
}
