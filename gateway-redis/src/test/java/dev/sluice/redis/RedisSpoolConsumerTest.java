package dev.sluice.redis;

import static dev.sluice.redis.RedisTestKeys.bytes;
import static dev.sluice.testkit.SpoolContract.assertSameBatches;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.core.port.Spool.RecordCounts;
import dev.sluice.core.port.SpoolConsumer;
import dev.sluice.core.port.SpoolConsumer.Delivery;
import dev.sluice.testkit.LogBatches;
import dev.sluice.testkit.SharedEngines;
import io.lettuce.core.Consumer;
import io.lettuce.core.KillArgs;
import io.lettuce.core.Range;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.XReadArgs;
import io.lettuce.core.XReadArgs.StreamOffset;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the contract cannot say: consumer groups, other consumers, entries that are not ours. */
@Timeout(60)
class RedisSpoolConsumerTest {
  static final SpoolConsumer.DeliveryLimits BOUNDS =
      new SpoolConsumer.DeliveryLimits(1_000, 1 << 20, Duration.ofMillis(50));
  static final Duration PATIENCE = Duration.ofSeconds(5);
  static final Duration SHORT = Duration.ofMillis(50);
  static final Duration IDLE = Duration.ofMillis(400);

  final RedisTestKeys keys = new RedisTestKeys();
  final RedisSpool spool = keys.spool(keys.settings(BOUNDS));
  final RedisSpoolConsumer deliveries = spool.newConsumer(0);
  final List<RedisSpool> others = new ArrayList<>();

  @AfterEach
  void close() {
    deliveries.close();
    spool.close();
    others.forEach(RedisSpool::close);
    keys.close();
  }

  @Test
  void ack_everything_leavesAnEmptyStreamAndNothingPending() throws Exception {
    append(LogBatches.list(20, 10));

    ackAll(deliveries);

    assertThat(keys.streamLength()).isZero();
    assertThat(keys.pending()).isZero();
  }

  /** More ids than Lua's unpack takes at once. */
  @Test
  void ack_thousandsOfEntries_removesThemAll() throws Exception {
    var large =
        keys.spool(
            keys.settings(
                new SpoolConsumer.DeliveryLimits(1_000_000, 1 << 30, Duration.ofMillis(50))));
    others.add(large);
    var appends =
        LogBatches.list(10_000, 1).stream()
            .map(batch -> large.append(batch).toCompletableFuture())
            .toList();
    appends.forEach(append -> assertThat(append.join()).isInstanceOf(AppendResult.Accepted.class));
    var consumer = large.newConsumer(0);
    assertThat(large.recordCounts()).isEqualTo(new RecordCounts(10_000, 10_000, 0, 0, 0));

    var delivery = consumer.poll(PATIENCE).orElseThrow();
    consumer.ack(delivery);

    assertThat(delivery.batches()).hasSize(10_000);
    assertThat(keys.streamLength()).isZero();
    assertThat(keys.pending()).isZero();
  }

  @Test
  void poll_singleLog_isDeliveredAfterLinger() throws Exception {
    var patient =
        keys.spool(
            keys.settings(new SpoolConsumer.DeliveryLimits(1_000, 1 << 20, Duration.ofSeconds(1))));
    others.add(patient);
    var consumer = patient.newConsumer(0);
    assertThat(consumer.poll(SHORT)).isEmpty();
    var waiting = new FutureTask<>(() -> consumer.poll(PATIENCE));
    Thread.ofVirtual().start(waiting);
    long start = System.nanoTime();

    append(LogBatches.list(1, 1));

    assertThat(waiting.get()).isPresent();
    assertThat(Duration.ofNanos(System.nanoTime() - start))
        .isBetween(Duration.ofMillis(950), Duration.ofMillis(1_200));
  }

  @Test
  void poll_fullDelivery_doesNotLinger() throws Exception {
    var patient =
        keys.spool(
            keys.settings(
                new SpoolConsumer.DeliveryLimits(1_000, 1 << 20, Duration.ofSeconds(30))));
    others.add(patient);
    append(LogBatches.list(6, 250));
    var consumer = patient.newConsumer(0);
    long start = System.nanoTime();

    var delivery = consumer.poll(PATIENCE).orElseThrow();

    assertThat(delivery.records()).isEqualTo(1_000);
    assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(10));
  }

  @Test
  void poll_zeroTimeout_doesNotLinger() throws Exception {
    var patient =
        keys.spool(
            keys.settings(
                new SpoolConsumer.DeliveryLimits(1_000, 1 << 20, Duration.ofSeconds(30))));
    others.add(patient);
    append(LogBatches.list(1, 1));
    long start = System.nanoTime();

    assertThat(patient.newConsumer(0).poll(Duration.ZERO)).isPresent();

    assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(10));
  }

  @Test
  void poll_twoWorkersOfAProcess_keepTheirOwnDeliveriesAfterARestart() throws Exception {
    var batches = LogBatches.list(2, 1);
    append(batches.subList(0, 1));
    var first = deliveries.poll(PATIENCE).orElseThrow();
    append(batches.subList(1, 2));
    Delivery second;
    try (var other = spool.newConsumer(0, 1)) {
      second = other.poll(PATIENCE).orElseThrow();
    }

    try (var one = spool.newConsumer(0, 0);
        var other = spool.newConsumer(0, 1)) {
      var firstAgain = one.poll(PATIENCE).orElseThrow();
      var secondAgain = other.poll(PATIENCE).orElseThrow();

      assertSameBatches(first.batches(), batches.subList(0, 1));
      assertSameBatches(second.batches(), batches.subList(1, 2));
      assertThat(firstAgain.token()).isEqualTo(first.token());
      assertThat(secondAgain.token()).isEqualTo(second.token());
    }
  }

  /** It may be another Redis, or the same one without what it wrote last. */
  @Test
  void poll_connectionLostUnnoticed_earlierEntriesAreRedelivered() throws Exception {
    append(LogBatches.list(1, 1));
    deliveries.ack(deliveries.poll(PATIENCE).orElseThrow());
    append(LogBatches.list(1, 1));
    var connections = connections();
    keys.redis().clientKill(KillArgs.Builder.typeNormal().skipme(true));
    await().until(() -> connections().size() == connections.size());

    assertThat(deliveries.poll(PATIENCE).orElseThrow().redelivered()).isTrue();
  }

  /** Of all clients, without what changes by itself. */
  private List<String> connections() {
    return keys.redis().clientList().lines().map(line -> line.split(" ", 2)[0]).toList();
  }

  /** As when a reply is lost on the way: the entry is pending, and nobody here knows of it. */
  @Test
  void poll_morePendingUnnoticed_redeliversTheUnackedAloneThenTheRest() throws Exception {
    var batches = LogBatches.list(3, 1);
    append(batches.subList(0, 1));
    var first = deliveries.poll(PATIENCE).orElseThrow();
    append(batches.subList(1, 3));
    readAs("one", 2);

    var again = deliveries.poll(PATIENCE).orElseThrow();
    deliveries.ack(again);
    var rest = deliveries.poll(PATIENCE).orElseThrow();

    assertThat(again.token()).isEqualTo(first.token());
    assertSameBatches(rest.batches(), batches.subList(1, 3));
  }

  @Test
  void poll_pendingUnnoticed_isDeliveredWithTheNextClaimCheck() throws Exception {
    var consumer = spoolOf("one", IDLE).newConsumer(0);
    assertThat(consumer.poll(SHORT)).isEmpty();
    var batches = LogBatches.list(1, 1);
    append(batches);
    readAs("one", 1);

    await().until(() -> consumer.poll(SHORT).isPresent());
  }

  @Test
  void depth_entryOfAnHourAgo_isAnHourOld() {
    var later =
        new RedisSpool(keys.settings(BOUNDS), () -> Instant.now().plus(Duration.ofHours(1)));
    others.add(later);
    append(LogBatches.list(2, 1));

    assertThat(later.depth().oldestAge()).isBetween(Duration.ofMinutes(59), Duration.ofMinutes(61));
  }

  /** Bytes bound a reply, whatever the number of entries. */
  @Test
  void read_largeEntries_stopsWhenTheReplyIsLargeEnough() throws Exception {
    assertThat(deliveries.poll(SHORT)).isEmpty();
    append(LogBatches.list(3, 500));

    List<Object> reply =
        Script.READ
            .<List<Object>>run(
                keys.connection,
                new byte[][] {keys.stream()},
                bytes("sluice"),
                bytes("one"),
                bytes("10000"),
                bytes("256"))
            .get();

    assertThat(reply).hasSize(4); // whether there is more, and of one entry id, envelope, mark
    assertThat(reply.getFirst()).isEqualTo(1L);
  }

  /** What was recorded wins over what would be gathered now. */
  @Test
  void poll_limitsChanged_redeliversTheSame() throws Exception {
    append(LogBatches.list(6, 300));
    var first = deliveries.poll(PATIENCE).orElseThrow();

    var smaller = restartedWith(new SpoolConsumer.DeliveryLimits(1, 1, Duration.ZERO));
    var second = smaller.poll(PATIENCE).orElseThrow();
    var larger = restartedWith(SpoolConsumer.DeliveryLimits.DEFAULT);
    var third = larger.poll(PATIENCE).orElseThrow();

    assertThat(first.batches()).hasSize(3);
    assertThat(List.of(second.token(), third.token())).containsOnly(first.token());
    assertSameBatches(second.batches(), first.batches());
    larger.ack(third);
    assertThat(larger.poll(PATIENCE).orElseThrow().batches()).hasSize(3);
  }

  @Test
  void poll_redisRestartedAndLimitsChanged_redeliversTheSame() throws Exception {
    append(LogBatches.list(6, 300));
    var first = deliveries.poll(PATIENCE).orElseThrow();
    SharedEngines.redis().stop();
    SharedEngines.redis().restart();
    var larger = restartedWith(SpoolConsumer.DeliveryLimits.DEFAULT);

    var again =
        await()
            .ignoreExceptions()
            .until(() -> larger.poll(PATIENCE), Optional::isPresent)
            .orElseThrow();

    assertThat(again.token()).isEqualTo(first.token());
    assertThat(again.redelivered()).isTrue();
    assertSameBatches(again.batches(), first.batches());
  }

  /** More than a page of the pending list, and more than Lua's unpack takes at once. */
  @Test
  void poll_thousandsOfEntriesUnacked_areRedeliveredAlsoToAnotherConsumer() throws Exception {
    var deliveryLimits =
        new SpoolConsumer.DeliveryLimits(1_000_000, 1 << 30, Duration.ofMillis(50));
    var dead = keys.spool(keys.settings("dead", deliveryLimits, IDLE));
    others.add(dead);
    append(LogBatches.list(3_000, 1));
    var consumer = dead.newConsumer(0);
    var first = consumer.poll(PATIENCE).orElseThrow();
    var again = consumer.poll(PATIENCE).orElseThrow();
    dead.close();
    var heir = spoolOf("heir", IDLE).newConsumer(0);

    var taken = awaitDelivery(heir);

    assertThat(first.batches()).hasSize(3_000);
    assertThat(again.token()).isEqualTo(first.token());
    assertThat(taken.token()).isEqualTo(first.token());
    assertThat(taken.redelivered()).isTrue();
    assertSameBatches(taken.batches(), first.batches());
  }

  /** Redis may have lost, with the last it wrote, that they had been delivered. */
  @Test
  void poll_entriesFromBeforeTheStart_areRedelivered() throws Exception {
    append(LogBatches.list(2, 3));

    assertThat(deliveries.poll(PATIENCE).orElseThrow().redelivered()).isTrue();
  }

  @Test
  void renewLease_claimedByAnotherMeanwhile_isFalse() throws Exception {
    append(LogBatches.list(2, 3));
    var silent = spoolOf("silent", IDLE).newConsumer(0);
    var first = silent.poll(PATIENCE).orElseThrow();
    assertThat(silent.renewLease(first)).isTrue();
    var heir = spoolOf("heir", IDLE).newConsumer(0);

    awaitDelivery(heir);

    await().until(() -> !silent.renewLease(first));
  }

  /** As an earlier release leaves it: pending, with a count of deliveries. */
  @Test
  void poll_pendingWithoutDeliveryId_isAccumulatedWithinTheLimitsAndMarked() throws Exception {
    append(LogBatches.list(5, 300));
    readAs("one", 5);

    var first = deliveries.poll(PATIENCE).orElseThrow();
    var again = restartedWith(SpoolConsumer.DeliveryLimits.DEFAULT).poll(PATIENCE).orElseThrow();

    assertThat(first.batches()).hasSize(3);
    assertThat(first.redelivered()).isTrue();
    assertThat(again.token()).isEqualTo(first.token());
  }

  @Test
  void poll_redisFull_isMarkedAndRedeliveredTheSame() throws Exception {
    var batches = LogBatches.list(6, 300);
    append(batches);
    try (var _ = keys.limitMemory()) {
      assertThat(spool.append(LogBatches.of(1)).toCompletableFuture().join())
          .isInstanceOf(AppendResult.Unavailable.class);

      var first = deliveries.poll(PATIENCE).orElseThrow();
      var again = deliveries.poll(PATIENCE).orElseThrow();
      var restarted = restartedWith(SpoolConsumer.DeliveryLimits.DEFAULT);
      var afterRestart = restarted.poll(PATIENCE).orElseThrow();
      restarted.ack(afterRestart);
      restarted.ack(restarted.poll(PATIENCE).orElseThrow());

      assertThat(first.batches()).hasSize(3);
      assertThat(List.of(again.token(), afterRestart.token())).containsOnly(first.token());
      assertSameBatches(afterRestart.batches(), batches.subList(0, 3));
      assertThat(keys.streamLength()).isZero();
      assertThat(keys.pending()).isZero();
    }
  }

  /**
   * The one that was taken for dead goes on: both have the delivery, and one effect comes of it.
   */
  @Test
  void ack_claimedByAnotherMeanwhile_takesEffectOnce() throws Exception {
    append(LogBatches.list(3, 300));
    var slow = spoolOf("slow", Duration.ofMinutes(2)).newConsumer(0);
    var heir = spoolOf("heir", IDLE).newConsumer(0);
    var letters = List.of(new DeadLetter(LogBatches.of(1), "no", Instant.EPOCH));

    var first = slow.poll(PATIENCE).orElseThrow();
    var taken = awaitDelivery(heir);

    assertThat(taken.token()).isEqualTo(first.token());
    assertThat(taken.redelivered()).isTrue();
    assertSameBatches(taken.batches(), first.batches());
    assertThat(slow.ack(first, letters)).isTrue();
    assertThat(heir.ack(taken, letters)).isTrue();
    assertThat(spool.deadLetters().capacity().used()).isEqualTo(1);
    assertThat(keys.redis().hget(keys.ledger(), bytes("settled"))).isEqualTo(bytes("900"));
    assertThat(keys.streamLength()).isZero();
    assertThat(slow.poll(SHORT)).isEmpty();
    assertThat(heir.poll(SHORT)).isEmpty();
  }

  /** What it read beyond its delivery is not its own any more, and was delivered by another. */
  @Test
  void poll_carryoverClaimedByAnother_isNotDelivered() throws Exception {
    append(LogBatches.list(5, 300));
    var slow = spoolOf("slow", Duration.ofMinutes(2)).newConsumer(0);
    var heir = spoolOf("heir", IDLE).newConsumer(0);
    var first = slow.poll(PATIENCE).orElseThrow();
    assertThat(first.batches()).hasSize(3);
    assertThat(awaitDelivery(heir).token()).isEqualTo(first.token());
    slow.ack(first);

    assertThat(slow.poll(SHORT)).isEmpty();

    var rest = heir.poll(PATIENCE).orElseThrow();
    assertThat(rest.batches()).hasSize(2);
    assertThat(slow.poll(SHORT)).isEmpty();
    assertThat(heir.poll(PATIENCE).orElseThrow().token()).isEqualTo(rest.token());
  }

  /** However long a delivery is tried, the one that tries it is alive, and so is the delivery. */
  @Test
  void poll_redelivery_resetsTheIdleTime() throws Exception {
    append(LogBatches.list(1, 1));
    var _ = deliveries.poll(PATIENCE).orElseThrow();
    var before = signsOfLife();
    await().until(() -> signsOfLife().get(2) > before.get(2) + 100);

    var _ = deliveries.poll(PATIENCE).orElseThrow();

    assertThat(signsOfLife().get(0)).isGreaterThan(before.get(0) + 90);
    assertThat(signsOfLife().get(1)).isGreaterThan(before.get(1) + 90);
  }

  /** By Redis's clock: when the consumer was seen, when the entry was delivered, and now. */
  private List<Long> signsOfLife() {
    return keys.redis()
        .eval(
            """
            local time = redis.call('TIME')
            local now = time[1] * 1000 + math.floor(time[2] / 1000)
            local consumer = redis.call('XINFO', 'CONSUMERS', KEYS[1], 'sluice')[1]
            local entry = redis.call('XPENDING', KEYS[1], 'sluice', '-', '+', 1)[1]
            return { now - consumer[6], now - entry[3], now }
            """,
            ScriptOutputType.MULTI,
            keys.stream());
  }

  @Test
  void skip_thenRestart_isSkippedAgainAndBlocksNothing() throws Exception {
    var batches = LogBatches.list(3, 10);
    append(batches);
    var all = deliveries.poll(PATIENCE).orElseThrow();
    deliveries.skip(batches.getFirst().appendId(), "not what it says");
    assertThat(deliveries.skippedEntries()).isEqualTo(1);
    deliveries.ack(deliveries.poll(PATIENCE).orElseThrow());
    append(LogBatches.list(1, 1));

    var restarted = restarted();
    var met = restarted.poll(PATIENCE).orElseThrow();
    restarted.skip(batches.getFirst().appendId(), "not what it says");
    var next = restarted.poll(PATIENCE).orElseThrow();
    restarted.ack(next);

    assertThat(met.token()).isNotEqualTo(all.token());
    assertSameBatches(met.batches(), batches.subList(0, 1));
    assertThat(next.records()).isEqualTo(1);
    assertThat(restarted.poll(SHORT)).isEmpty();
    assertThat(restarted.skippedEntries()).isEqualTo(1);
    assertThat(keys.pending()).isEqualTo(1);
  }

  @Test
  void poll_longerMinLinger_lingersThatLong() throws Exception {
    var waiting = new FutureTask<>(() -> deliveries.poll(PATIENCE, Duration.ofSeconds(30)));
    append(LogBatches.list(1, 900));
    Thread.ofVirtual().start(waiting);
    await().until(() -> keys.redis().xinfoGroups(keys.stream()).size() == 1 && keys.pending() == 1);
    await().during(BOUNDS.linger().multipliedBy(4)).until(() -> !waiting.isDone());

    append(LogBatches.list(1, 100)); // full now

    assertThat(waiting.get().orElseThrow().batches()).hasSize(2);
  }

  @Test
  void poll_longerMinLingerWithZeroTimeout_doesNotLinger() throws Exception {
    append(LogBatches.list(1, 1));
    long start = System.nanoTime();

    assertThat(deliveries.poll(Duration.ZERO, Duration.ofSeconds(30))).isPresent();

    assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(10));
  }

  @Test
  void poll_moreWithinLinger_isOneDelivery() throws Exception {
    var patient =
        keys.spool(
            keys.settings(new SpoolConsumer.DeliveryLimits(1_000, 1 << 20, Duration.ofSeconds(2))));
    others.add(patient);
    var consumer = patient.newConsumer(0);
    var waiting = new FutureTask<>(() -> consumer.poll(PATIENCE));
    append(LogBatches.list(1, 1));
    Thread.ofVirtual().start(waiting);
    await().until(() -> keys.pending() == 1);

    append(LogBatches.list(1, 1));

    assertThat(waiting.get().orElseThrow().batches()).hasSize(2);
  }

  @Test
  void poll_readBeyondALimit_isFirstInTheNextDelivery() throws Exception {
    var batches = LogBatches.list(6, 300);
    append(batches.subList(0, 5));
    var first = deliveries.poll(PATIENCE).orElseThrow();
    deliveries.ack(first);
    append(batches.subList(5, 6));

    var second = deliveries.poll(PATIENCE).orElseThrow();
    var again = deliveries.poll(PATIENCE).orElseThrow();

    assertSameBatches(first.batches(), batches.subList(0, 3));
    assertSameBatches(second.batches(), batches.subList(3, 6));
    assertThat(again.token()).isEqualTo(second.token());
    assertSameBatches(again.batches(), batches.subList(3, 6));
  }

  @Test
  void poll_groupDestroyed_recreatesItAndContinues() throws Exception {
    append(LogBatches.list(1, 1));
    ackAll(deliveries);
    keys.redis().xgroupDestroy(keys.stream(), bytes("sluice"));
    var batches = LogBatches.list(2, 1);
    append(batches);

    var delivery = deliveries.poll(PATIENCE).orElseThrow();

    assertSameBatches(delivery.batches(), batches);
  }

  @Test
  void poll_groupDestroyedWhileUnacked_deliversTheStream() throws Exception {
    var batches = LogBatches.list(2, 600);
    append(batches);
    deliveries.ack(deliveries.poll(PATIENCE).orElseThrow());
    var unsettled = deliveries.poll(PATIENCE).orElseThrow();
    keys.redis().xgroupDestroy(keys.stream(), bytes("sluice"));

    var again = deliveries.poll(PATIENCE).orElseThrow();

    assertThat(again.token()).isEqualTo(unsettled.token());
    assertThat(again.redelivered()).isTrue();
    assertSameBatches(again.batches(), batches.subList(1, 2));
  }

  @Test
  void poll_streamDeletedWhileBlocked_continues() throws Exception {
    assertThat(deliveries.poll(SHORT)).isEmpty();
    keys.redis().del(keys.stream());

    assertThat(deliveries.poll(SHORT)).isEmpty();
    append(LogBatches.list(1, 1));

    assertThat(deliveries.poll(PATIENCE)).isPresent();
  }

  @Test
  void poll_entryDeletedWhilePending_isAckedAndOmitted() throws Exception {
    var batches = LogBatches.list(3, 1);
    append(batches);
    var _ = deliveries.poll(PATIENCE).orElseThrow();
    var middle = keys.redis().xrange(keys.stream(), Range.unbounded()).get(1).getId();
    keys.redis().xdel(keys.stream(), middle);

    var delivery = deliveries.poll(PATIENCE).orElseThrow();

    assertSameBatches(delivery.batches(), List.of(batches.get(0), batches.get(2)));
    assertThat(keys.pending()).isEqualTo(2);
    deliveries.ack(delivery);
    assertThat(keys.pending()).isZero();
  }

  @Test
  void poll_corruptNewerAndForeignEntries_stayPendingAndBlockNothing() throws Exception {
    var batches = LogBatches.list(2, 1);
    byte[] corrupt = LogBatchCodec.encode(LogBatches.of(1));
    corrupt[corrupt.length - 1] ^= 1;
    byte[] newer = LogBatchCodec.encode(LogBatches.of(1));
    newer[0] = 2;
    append(batches.subList(0, 1));
    keys.redis().xadd(keys.stream(), Map.of(bytes("e"), corrupt));
    keys.redis().xadd(keys.stream(), Map.of(bytes("e"), newer));
    keys.redis().xadd(keys.stream(), Map.of(bytes("what"), bytes("ever")));
    append(batches.subList(1, 2));

    var delivery = deliveries.poll(PATIENCE).orElseThrow();
    var again = deliveries.poll(PATIENCE).orElseThrow();
    deliveries.ack(again);

    assertSameBatches(delivery.batches(), batches);
    assertThat(again.token()).isEqualTo(delivery.token());
    assertThat(deliveries.poll(SHORT)).isEmpty();
    assertThat(deliveries.skippedEntries()).isEqualTo(3);
    assertThat(keys.pending()).isEqualTo(3);
    assertThat(keys.streamLength()).isEqualTo(3);
    assertThat(restarted().poll(SHORT)).isEmpty();
  }

  @Test
  void poll_onlyUnreadableAheadAndZeroTimeout_deliversTheRest() throws Exception {
    for (int i = 0; i < 300; i++) {
      keys.redis().xadd(keys.stream(), Map.of(bytes("e"), bytes("x")));
    }
    append(LogBatches.list(1, 1));

    assertThat(deliveries.poll(Duration.ZERO)).isPresent();
    assertThat(deliveries.skippedEntries()).isEqualTo(300);
  }

  @Test
  void poll_unreadableRemovedManually_isNoLongerCounted() throws Exception {
    var id = keys.redis().xadd(keys.stream(), Map.of(bytes("e"), bytes("x")));
    assertThat(deliveries.poll(SHORT)).isEmpty();
    assertThat(deliveries.skippedEntries()).isEqualTo(1);
    keys.redis().xack(keys.stream(), bytes("sluice"), id);
    append(LogBatches.list(1, 1));

    var _ = deliveries.poll(PATIENCE).orElseThrow();
    deliveries.ack(deliveries.poll(PATIENCE).orElseThrow()); // unsettled once: read again
    deliveries.poll(SHORT);

    assertThat(deliveries.skippedEntries()).isZero();
  }

  @Test
  void poll_deadConsumer_itsDeliveryIsClaimedUnchanged() throws Exception {
    var dead = spoolOf("dead", IDLE);
    var batches = LogBatches.list(5, 300);
    append(batches);
    var unsettled = dead.newConsumer(0).poll(PATIENCE).orElseThrow();
    dead.close();
    var heir = spoolOf("heir", IDLE).newConsumer(0);

    var delivered = new ArrayList<Delivery>();
    await()
        .until(
            () -> {
              heir.poll(SHORT)
                  .ifPresent(
                      delivery -> {
                        delivered.add(delivery);
                        heir.ack(delivery);
                      });
              return keys.streamLength() == 0;
            });

    assertThat(delivered.stream().map(Delivery::token)).contains(unsettled.token());
    assertThat(delivered.stream().flatMap(d -> d.batches().stream()).map(LogBatch::appendId))
        .containsExactlyInAnyOrderElementsOf(batches.stream().map(LogBatch::appendId).toList());
  }

  @Test
  void poll_twoDeadConsumers_theirDeliveriesAreNotMixed() throws Exception {
    var batches = LogBatches.list(4, 1);
    append(batches);
    readAs("one-dead", 1);
    readAs("two-dead", 1);
    readAs("one-dead", 1);
    readAs("two-dead", 1);
    var heir = spoolOf("heir", IDLE).newConsumer(0);

    var delivered = new ArrayList<Delivery>();
    await()
        .until(
            () -> {
              heir.poll(SHORT).ifPresent(delivered::add);
              if (!delivered.isEmpty()) {
                heir.ack(delivered.getLast());
              }
              return keys.streamLength() == 2;
            });
    delivered.add(heir.poll(PATIENCE).orElseThrow());

    assertThat(delivered.stream().map(d -> d.batches().stream().map(LogBatch::appendId).toList()))
        .containsExactlyInAnyOrder(
            List.of(batches.get(0).appendId(), batches.get(2).appendId()),
            List.of(batches.get(1).appendId(), batches.get(3).appendId()));
  }

  @Test
  void poll_deadConsumerUnderConstantLoad_itsEntriesAreClaimed() throws Exception {
    var batch = LogBatches.of(1);
    append(List.of(batch));
    readAs("dead", 1);
    var heir = spoolOf("heir", IDLE).newConsumer(0);

    await()
        .until(
            () -> {
              append(LogBatches.list(5, 300));
              var delivery = heir.poll(PATIENCE);
              delivery.ifPresent(heir::ack);
              return delivery.stream()
                  .flatMap(d -> d.batches().stream())
                  .anyMatch(b -> b.appendId().equals(batch.appendId()));
            });
  }

  @Test
  void poll_otherConsumerAliveAndIdle_keepsItsEntries() throws Exception {
    keys.redis().xadd(keys.stream(), Map.of(bytes("e"), bytes("x")));
    var alive = spoolOf("alive", IDLE).newConsumer(0);
    assertThat(alive.poll(SHORT)).isEmpty();
    var other = spoolOf("other", IDLE).newConsumer(0);
    long end = System.nanoTime() + IDLE.multipliedBy(4).toNanos();

    while (System.nanoTime() < end) {
      alive.poll(SHORT);
      other.poll(SHORT);
      assertThat(other.skippedEntries()).isZero(); // each time: it might be taken back by the end
    }

    assertThat(alive.skippedEntries()).isEqualTo(1);
  }

  @Test
  void poll_clockSetBack_stillClaims() throws Exception {
    var clock = new AtomicReference<>(Instant.now());
    var alive = new RedisSpool(keys.settings("alive", BOUNDS, IDLE), clock::get);
    others.add(alive);
    var consumer = alive.newConsumer(0);
    assertThat(consumer.poll(SHORT)).isEmpty(); // has looked for the dead
    clock.set(clock.get().minus(Duration.ofHours(1)));
    var batches = LogBatches.list(1, 1);
    append(batches);
    readAs("dead", 1);

    assertSameBatches(awaitDelivery(consumer).batches(), batches);
  }

  @Test
  void poll_deadConsumerWithNothingPending_isDeleted() throws Exception {
    append(LogBatches.list(1, 1));
    readAs("gone", 1);
    keys.redis()
        .xack(
            keys.stream(),
            bytes("sluice"),
            keys.redis().xrange(keys.stream(), Range.unbounded()).getFirst().getId());
    var alive = spoolOf("alive", Duration.ofMillis(50)).newConsumer(0);

    await()
        .until(
            () -> {
              alive.poll(SHORT);
              return keys.redis().xinfoConsumers(keys.stream(), bytes("sluice")).size() == 1;
            });
  }

  @Test
  void allOperations_scriptsFlushed_stillWork() throws Exception {
    append(LogBatches.list(1, 1));
    keys.redis().scriptFlush();
    append(LogBatches.list(1, 1));
    keys.redis().scriptFlush();
    var delivery = deliveries.poll(PATIENCE).orElseThrow();
    keys.redis().scriptFlush();

    deliveries.ack(delivery);

    keys.redis().scriptFlush();
    assertThat(spool.recordCounts()).isEqualTo(new RecordCounts(2, 0, 0, 0, 0));
    keys.redis().scriptFlush();
    assertThat(spool.depth().entries()).isZero();
  }

  @Test
  void shards_several_shareTheBatchesAndAddUp() throws Exception {
    var settings = keys.settings(BOUNDS);
    var three =
        new RedisSpool(
            new RedisSpool.Settings(
                settings.url(),
                3,
                settings.prefix(),
                settings.group(),
                settings.instance(),
                BOUNDS,
                settings.deadLetters(),
                settings.consumerIdleTimeout(),
                settings.commandTimeout(),
                settings.appendSettings()),
            InstantSource.system());
    others.add(three);
    for (var batch : LogBatches.list(90, 2)) {
      var first = three.append(batch).toCompletableFuture().join();
      assertThat(first).isInstanceOf(AppendResult.Accepted.class);
      assertThat(three.append(batch).toCompletableFuture().join()).isEqualTo(first);
    }

    assertThat(three.recordCounts()).isEqualTo(new RecordCounts(180, 180, 0, 0, 0));
    assertThat(three.depth().entries()).isEqualTo(90);
    int batches = 0;
    for (int shard = 0; shard < 3; shard++) {
      var delivery = three.newConsumer(shard).poll(PATIENCE).orElseThrow();
      batches += delivery.batches().size();
      assertThat(delivery.token()).startsWith(shard + ":");
    }
    assertThat(batches).isEqualTo(90);
    keys.redis().del(bytes("{" + keys.prefix + ":1}:logs"), bytes("{" + keys.prefix + ":2}:logs"));
  }

  @SuppressWarnings("unchecked") // a vararg of a generic type
  private void readAs(String consumer, int count) {
    if (keys.redis().xinfoGroups(keys.stream()).isEmpty()) {
      keys.redis().xgroupCreate(StreamOffset.from(keys.stream(), "0"), bytes("sluice"));
    }
    keys.redis()
        .xreadgroup(
            Consumer.from(bytes("sluice"), bytes(consumer)),
            XReadArgs.Builder.count(count),
            StreamOffset.lastConsumed(keys.stream()));
  }

  private RedisSpool spoolOf(String instance, Duration claimIdle) {
    var other = keys.spool(keys.settings(instance, BOUNDS, claimIdle));
    others.add(other);
    return other;
  }

  private RedisSpoolConsumer restartedWith(SpoolConsumer.DeliveryLimits deliveryLimits) {
    var other = keys.spool(keys.settings(deliveryLimits));
    others.add(other);
    return other.newConsumer(0);
  }

  private static Delivery awaitDelivery(SpoolConsumer spoolConsumer) {
    return await().until(() -> spoolConsumer.poll(SHORT), Optional::isPresent).orElseThrow();
  }

  private RedisSpoolConsumer restarted() {
    return spool.newConsumer(0);
  }

  private void append(List<LogBatch> batches) {
    for (var batch : batches) {
      assertThat(spool.append(batch).toCompletableFuture().join())
          .isInstanceOf(AppendResult.Accepted.class);
    }
  }

  private static void ackAll(SpoolConsumer spoolConsumer) throws InterruptedException {
    var delivery = spoolConsumer.poll(Duration.ZERO);
    while (delivery.isPresent()) {
      spoolConsumer.ack(delivery.get());
      delivery = spoolConsumer.poll(Duration.ZERO);
    }
  }
}
