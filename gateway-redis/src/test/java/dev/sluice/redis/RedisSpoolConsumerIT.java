package dev.sluice.redis;

import static dev.sluice.redis.RedisTestKeys.bytes;
import static dev.sluice.testkit.SpoolContract.assertSameBatches;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.core.codec.LogBatchCodec;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.DailyCounts.RecordCounts;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.Spool.AppendResult;
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
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests beyond the contract: consumer groups, other consumers, and foreign stream entries. */
@Timeout(60)
class RedisSpoolConsumerIT {
  static final SpoolConsumer.DeliveryLimits LIMITS =
      new SpoolConsumer.DeliveryLimits(1_000, 1 << 20, Duration.ofMillis(50));
  static final Duration TIMEOUT = Duration.ofSeconds(5);
  static final Duration SHORT_TIMEOUT = Duration.ofMillis(50);
  static final Duration IDLE_TIMEOUT = Duration.ofMillis(400);

  final RedisTestKeys keys = new RedisTestKeys();
  final RedisSpool spool = keys.spool(keys.settings(LIMITS));
  final RedisSpoolConsumer spoolConsumer = spool.newConsumer(0);
  final List<RedisSpool> others = new ArrayList<>();

  @AfterEach
  void close() {
    spoolConsumer.close();
    spool.close();
    others.forEach(RedisSpool::close);
    keys.close();
  }

  @Test
  void ack_everything_leavesAnEmptyStreamAndNothingPending() throws Exception {
    append(LogBatches.list(20, 10));

    ackAll(spoolConsumer);

    assertThat(keys.streamLength()).isZero();
    assertThat(keys.pending()).isZero();
  }

  /** Acknowledges more ids than one call of Lua's unpack accepts. */
  @Test
  void ack_thousandsOfEntries_removesThemAll() throws Exception {
    var large =
        keys.spool(
            keys.settings(
                new SpoolConsumer.DeliveryLimits(1_000_000, 1 << 30, Duration.ofMillis(50))));
    others.add(large);
    var appends =
        LogBatches.list(10_000, 1).stream()
            .map(batch -> large.append(batch, AppendMode.SYNC).toCompletableFuture())
            .toList();
    appends.forEach(append -> assertThat(append.join()).isInstanceOf(AppendResult.Accepted.class));
    var consumer = large.newConsumer(0);
    assertThat(large.recordCounts()).isEqualTo(new RecordCounts(10_000, 10_000, 0));

    var delivery = consumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
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
    assertThat(consumer.poll(SHORT_TIMEOUT, Duration.ZERO)).isEmpty();
    var waiting = new FutureTask<>(() -> consumer.poll(TIMEOUT, Duration.ZERO));
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

    var delivery = consumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();

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

    assertThat(patient.newConsumer(0).poll(Duration.ZERO, Duration.ZERO)).isPresent();

    assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(10));
  }

  @Test
  void poll_twoWorkersOfAProcess_keepTheirOwnDeliveriesAfterARestart() throws Exception {
    var batches = LogBatches.list(2, 1);
    append(batches.subList(0, 1));
    var first = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
    append(batches.subList(1, 2));
    Delivery second;
    try (var other = spool.newConsumer(0, 1)) {
      second = other.poll(TIMEOUT, Duration.ZERO).orElseThrow();
    }

    try (var one = spool.newConsumer(0, 0);
        var other = spool.newConsumer(0, 1)) {
      var firstRedelivery = one.poll(TIMEOUT, Duration.ZERO).orElseThrow();
      var secondRedelivery = other.poll(TIMEOUT, Duration.ZERO).orElseThrow();

      assertSameBatches(first.batches(), batches.subList(0, 1));
      assertSameBatches(second.batches(), batches.subList(1, 2));
      assertThat(firstRedelivery.token()).isEqualTo(first.token());
      assertThat(secondRedelivery.token()).isEqualTo(second.token());
    }
  }

  /** The new connection can lead to another Redis, or to the same one without its latest writes. */
  @Test
  void poll_connectionLostUnnoticed_earlierEntriesAreRedelivered() throws Exception {
    append(LogBatches.list(1, 1));
    spoolConsumer.ack(spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow());
    append(LogBatches.list(1, 1));
    var connections = connections();
    keys.redis().clientKill(KillArgs.Builder.typeNormal().skipme(true));
    await().until(() -> connections().size() == connections.size());

    assertThat(spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow().redelivered()).isTrue();
  }

  /** Returns the id field of all clients, without the fields that change with time. */
  private List<String> connections() {
    return keys.redis().clientList().lines().map(line -> line.split(" ", 2)[0]).toList();
  }

  /** Simulates a lost reply: the entries are pending, but the consumer does not know them. */
  @Test
  void poll_morePendingUnnoticed_redeliversTheUnackedAloneThenTheRest() throws Exception {
    var batches = LogBatches.list(3, 1);
    append(batches.subList(0, 1));
    var first = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
    append(batches.subList(1, 3));
    readAs("one", 2);

    var redelivery = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
    spoolConsumer.ack(redelivery);
    var rest = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();

    assertThat(redelivery.token()).isEqualTo(first.token());
    assertSameBatches(rest.batches(), batches.subList(1, 3));
  }

  @Test
  void poll_pendingUnnoticed_isDeliveredWithTheNextClaimCheck() throws Exception {
    var consumer = spoolOf("one", IDLE_TIMEOUT).newConsumer(0);
    assertThat(consumer.poll(SHORT_TIMEOUT, Duration.ZERO)).isEmpty();
    var batches = LogBatches.list(1, 1);
    append(batches);
    readAs("one", 1);

    await().until(() -> consumer.poll(SHORT_TIMEOUT, Duration.ZERO).isPresent());
  }

  @Test
  void depth_entryOfAnHourAgo_isAnHourOld() {
    var later =
        new RedisSpool(keys.settings(LIMITS), () -> Instant.now().plus(Duration.ofHours(1)));
    others.add(later);
    append(LogBatches.list(2, 1));

    assertThat(later.depth().oldestAge()).isBetween(Duration.ofMinutes(59), Duration.ofMinutes(61));
  }

  /** The maximum number of bytes limits a reply, whatever the number of entries is. */
  @Test
  void read_largeEntries_stopsWhenTheReplyIsLargeEnough() throws Exception {
    assertThat(spoolConsumer.poll(SHORT_TIMEOUT, Duration.ZERO)).isEmpty();
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

    assertThat(reply).hasSize(4); // more entries?, then one entry: id, batch, possible duplicate
    assertThat(reply.getFirst()).isEqualTo(1L);
  }

  /** A recorded delivery does not depend on the current limits. */
  @Test
  void poll_limitsChanged_redeliversTheSame() throws Exception {
    append(LogBatches.list(6, 300));
    var first = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();

    var smaller = restartedWith(new SpoolConsumer.DeliveryLimits(1, 1, Duration.ZERO));
    var second = smaller.poll(TIMEOUT, Duration.ZERO).orElseThrow();
    var larger = restartedWith(SpoolConsumer.DeliveryLimits.DEFAULT);
    var third = larger.poll(TIMEOUT, Duration.ZERO).orElseThrow();

    assertThat(first.batches()).hasSize(3);
    assertThat(List.of(second.token(), third.token())).containsOnly(first.token());
    assertSameBatches(second.batches(), first.batches());
    larger.ack(third);
    assertThat(larger.poll(TIMEOUT, Duration.ZERO).orElseThrow().batches()).hasSize(3);
  }

  @Test
  void poll_redisRestartedAndLimitsChanged_redeliversTheSame() throws Exception {
    append(LogBatches.list(6, 300));
    var first = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
    SharedEngines.redis().stop();
    SharedEngines.redis().restart();
    var larger = restartedWith(SpoolConsumer.DeliveryLimits.DEFAULT);

    var redelivery =
        await()
            .ignoreExceptions()
            .until(() -> larger.poll(TIMEOUT, Duration.ZERO), Optional::isPresent)
            .orElseThrow();

    assertThat(redelivery.token()).isEqualTo(first.token());
    assertThat(redelivery.redelivered()).isTrue();
    assertSameBatches(redelivery.batches(), first.batches());
  }

  /** Exceeds one page of the pending entries list, and one call of Lua's unpack. */
  @Test
  void poll_thousandsOfEntriesUnacked_areRedeliveredAlsoToAnotherConsumer() throws Exception {
    var deliveryLimits =
        new SpoolConsumer.DeliveryLimits(1_000_000, 1 << 30, Duration.ofMillis(50));
    var dead = keys.spool(keys.settings("dead", deliveryLimits, IDLE_TIMEOUT));
    others.add(dead);
    append(LogBatches.list(3_000, 1));
    var consumer = dead.newConsumer(0);
    var first = consumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
    var redelivery = consumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
    dead.close();
    var claimant = spoolOf("claimant", IDLE_TIMEOUT).newConsumer(0);

    var claimed = awaitDelivery(claimant);

    assertThat(first.batches()).hasSize(3_000);
    assertThat(redelivery.token()).isEqualTo(first.token());
    assertThat(claimed.token()).isEqualTo(first.token());
    assertThat(claimed.redelivered()).isTrue();
    assertSameBatches(claimed.batches(), first.batches());
  }

  /** Redis may have lost its latest writes, and with them an earlier delivery of the entries. */
  @Test
  void poll_entriesFromBeforeTheStart_areRedelivered() throws Exception {
    append(LogBatches.list(2, 3));

    assertThat(spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow().redelivered()).isTrue();
  }

  @Test
  void renewLease_claimedByAnotherMeanwhile_isFalse() throws Exception {
    append(LogBatches.list(2, 3));
    var silent = spoolOf("silent", IDLE_TIMEOUT).newConsumer(0);
    var first = silent.poll(TIMEOUT, Duration.ZERO).orElseThrow();
    assertThat(silent.renewLease(first)).isTrue();
    var claimant = spoolOf("claimant", IDLE_TIMEOUT).newConsumer(0);

    awaitDelivery(claimant);

    await().until(() -> !silent.renewLease(first));
  }

  /** Simulates an earlier release: the entries are pending with a real delivery count. */
  @Test
  void poll_pendingWithoutDeliveryId_isAccumulatedWithinTheLimitsAndMarked() throws Exception {
    append(LogBatches.list(5, 300));
    readAs("one", 5);

    var first = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
    var redelivery =
        restartedWith(SpoolConsumer.DeliveryLimits.DEFAULT)
            .poll(TIMEOUT, Duration.ZERO)
            .orElseThrow();

    assertThat(first.batches()).hasSize(3);
    assertThat(first.redelivered()).isTrue();
    assertThat(redelivery.token()).isEqualTo(first.token());
  }

  @Test
  void poll_redisFull_isMarkedAndRedeliveredTheSame() throws Exception {
    var batches = LogBatches.list(6, 300);
    append(batches);
    try (var _ = keys.limitMemory()) {
      assertThat(spool.append(LogBatches.of(1), AppendMode.SYNC).toCompletableFuture().join())
          .isInstanceOf(AppendResult.Unavailable.class);

      var first = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
      var redelivery = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
      var restarted = restartedWith(SpoolConsumer.DeliveryLimits.DEFAULT);
      var afterRestart = restarted.poll(TIMEOUT, Duration.ZERO).orElseThrow();
      restarted.ack(afterRestart);
      restarted.ack(restarted.poll(TIMEOUT, Duration.ZERO).orElseThrow());

      assertThat(first.batches()).hasSize(3);
      assertThat(List.of(redelivery.token(), afterRestart.token())).containsOnly(first.token());
      assertSameBatches(afterRestart.batches(), batches.subList(0, 3));
      assertThat(keys.streamLength()).isZero();
      assertThat(keys.pending()).isZero();
    }
  }

  /**
   * A consumer that counted as dead is alive: both consumers have the delivery and acknowledge it.
   */
  @Test
  void ack_claimedByAnotherMeanwhile_takesEffectOnce() throws Exception {
    append(LogBatches.list(3, 300));
    var slow = spoolOf("slow", Duration.ofMinutes(2)).newConsumer(0);
    var claimant = spoolOf("claimant", IDLE_TIMEOUT).newConsumer(0);

    var first = slow.poll(TIMEOUT, Duration.ZERO).orElseThrow();
    var claimed = awaitDelivery(claimant);

    assertThat(claimed.token()).isEqualTo(first.token());
    assertThat(claimed.redelivered()).isTrue();
    assertSameBatches(claimed.batches(), first.batches());
    slow.ack(first);
    claimant.ack(claimed);
    assertThat(keys.redis().hget(keys.ledger(), bytes("settled"))).isEqualTo(bytes("900"));
    assertThat(keys.streamLength()).isZero();
    assertThat(slow.poll(SHORT_TIMEOUT, Duration.ZERO)).isEmpty();
    assertThat(claimant.poll(SHORT_TIMEOUT, Duration.ZERO)).isEmpty();
  }

  /** Entries that the slow consumer read beyond its delivery now belong to the other consumer. */
  @Test
  void poll_carryoverClaimedByAnother_isNotDelivered() throws Exception {
    append(LogBatches.list(5, 300));
    var slow = spoolOf("slow", Duration.ofMinutes(2)).newConsumer(0);
    var claimant = spoolOf("claimant", IDLE_TIMEOUT).newConsumer(0);
    var first = slow.poll(TIMEOUT, Duration.ZERO).orElseThrow();
    assertThat(first.batches()).hasSize(3);
    assertThat(awaitDelivery(claimant).token()).isEqualTo(first.token());
    slow.ack(first);

    assertThat(slow.poll(SHORT_TIMEOUT, Duration.ZERO)).isEmpty();

    var rest = claimant.poll(TIMEOUT, Duration.ZERO).orElseThrow();
    assertThat(rest.batches()).hasSize(2);
    assertThat(slow.poll(SHORT_TIMEOUT, Duration.ZERO)).isEmpty();
    assertThat(claimant.poll(TIMEOUT, Duration.ZERO).orElseThrow().token()).isEqualTo(rest.token());
  }

  /** A redelivery shows that the consumer is alive and resets the idle time of its entries. */
  @Test
  void poll_redelivery_resetsTheIdleTime() throws Exception {
    append(LogBatches.list(1, 1));
    var _ = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
    var before = activityTimes();
    await().until(() -> activityTimes().get(2) > before.get(2) + 100);

    var _ = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();

    assertThat(activityTimes().get(0)).isGreaterThan(before.get(0) + 90);
    assertThat(activityTimes().get(1)).isGreaterThan(before.get(1) + 90);
  }

  /**
   * Returns three times in Unix milliseconds of Redis: the last activity of the consumer, the last
   * delivery of its first pending entry, and the current time.
   */
  private List<Long> activityTimes() {
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
    var all = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
    spoolConsumer.skip(batches.getFirst().appendId(), "not what it says");
    assertThat(spoolConsumer.skippedEntries()).isEqualTo(1);
    spoolConsumer.ack(spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow());
    append(LogBatches.list(1, 1));

    var restarted = restarted();
    var redelivery = restarted.poll(TIMEOUT, Duration.ZERO).orElseThrow();
    restarted.skip(batches.getFirst().appendId(), "not what it says");
    var next = restarted.poll(TIMEOUT, Duration.ZERO).orElseThrow();
    restarted.ack(next);

    assertThat(redelivery.token()).isNotEqualTo(all.token());
    assertSameBatches(redelivery.batches(), batches.subList(0, 1));
    assertThat(next.records()).isEqualTo(1);
    assertThat(restarted.poll(SHORT_TIMEOUT, Duration.ZERO)).isEmpty();
    assertThat(restarted.skippedEntries()).isEqualTo(1);
    assertThat(keys.pending()).isEqualTo(1);
  }

  @Test
  void poll_longerMinLinger_lingersThatLong() throws Exception {
    var waiting = new FutureTask<>(() -> spoolConsumer.poll(TIMEOUT, Duration.ofSeconds(30)));
    append(LogBatches.list(1, 900));
    Thread.ofVirtual().start(waiting);
    await().until(() -> keys.redis().xinfoGroups(keys.stream()).size() == 1 && keys.pending() == 1);
    await().during(LIMITS.linger().multipliedBy(4)).until(() -> !waiting.isDone());

    append(LogBatches.list(1, 100)); // the delivery is full

    assertThat(waiting.get().orElseThrow().batches()).hasSize(2);
  }

  @Test
  void poll_longerMinLingerWithZeroTimeout_doesNotLinger() throws Exception {
    append(LogBatches.list(1, 1));
    long start = System.nanoTime();

    assertThat(spoolConsumer.poll(Duration.ZERO, Duration.ofSeconds(30))).isPresent();

    assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(10));
  }

  @Test
  void poll_moreWithinLinger_isOneDelivery() throws Exception {
    var patient =
        keys.spool(
            keys.settings(new SpoolConsumer.DeliveryLimits(1_000, 1 << 20, Duration.ofSeconds(2))));
    others.add(patient);
    var consumer = patient.newConsumer(0);
    var waiting = new FutureTask<>(() -> consumer.poll(TIMEOUT, Duration.ZERO));
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
    var first = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
    spoolConsumer.ack(first);
    append(batches.subList(5, 6));

    var second = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
    var redelivery = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();

    assertSameBatches(first.batches(), batches.subList(0, 3));
    assertSameBatches(second.batches(), batches.subList(3, 6));
    assertThat(redelivery.token()).isEqualTo(second.token());
    assertSameBatches(redelivery.batches(), batches.subList(3, 6));
  }

  @Test
  void poll_groupDestroyed_recreatesItAndContinues() throws Exception {
    append(LogBatches.list(1, 1));
    ackAll(spoolConsumer);
    keys.redis().xgroupDestroy(keys.stream(), bytes("sluice"));
    var batches = LogBatches.list(2, 1);
    append(batches);

    var delivery = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();

    assertSameBatches(delivery.batches(), batches);
  }

  @Test
  void poll_groupDestroyedWhileUnacked_deliversTheStream() throws Exception {
    var batches = LogBatches.list(2, 600);
    append(batches);
    spoolConsumer.ack(spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow());
    var unacked = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
    keys.redis().xgroupDestroy(keys.stream(), bytes("sluice"));

    var redelivery = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();

    assertThat(redelivery.token()).isEqualTo(unacked.token());
    assertThat(redelivery.redelivered()).isTrue();
    assertSameBatches(redelivery.batches(), batches.subList(1, 2));
  }

  @Test
  void poll_streamDeletedWhileBlocked_continues() throws Exception {
    assertThat(spoolConsumer.poll(SHORT_TIMEOUT, Duration.ZERO)).isEmpty();
    keys.redis().del(keys.stream());

    assertThat(spoolConsumer.poll(SHORT_TIMEOUT, Duration.ZERO)).isEmpty();
    append(LogBatches.list(1, 1));

    assertThat(spoolConsumer.poll(TIMEOUT, Duration.ZERO)).isPresent();
  }

  @Test
  void poll_entryDeletedWhilePending_isAckedAndOmitted() throws Exception {
    var batches = LogBatches.list(3, 1);
    append(batches);
    var _ = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
    var middle = keys.redis().xrange(keys.stream(), Range.unbounded()).get(1).getId();
    keys.redis().xdel(keys.stream(), middle);

    var delivery = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();

    assertSameBatches(delivery.batches(), List.of(batches.get(0), batches.get(2)));
    assertThat(keys.pending()).isEqualTo(2);
    spoolConsumer.ack(delivery);
    assertThat(keys.pending()).isZero();
  }

  /** Release 0.1.0 wrote this entry. Its bytes also contain the excluded "log 1" and "log 5". */
  @Test
  void poll_entryOfVersion1_isDeliveredWithoutExcludedRecords() throws Exception {
    var entry =
        """
        013c5003c4f99d04ba0102030405060708090a0b0c0d0e0f10185e90b248f1cd151112131415161718191a1b1c1d1e1f\
        2000000004000004d2000000d0000764656661756c74020103fb350a660a1c0a1a0a0c736572766963652e6e616d6512\
        0a0a08636865636b6f757412460a080a06676f6c64656e1212090036fb05b2905e182a070a056c6f6720301212090114\
        005b311212090214001f3268001c1b0340005b331212090414005734121209051400506c6f672035""";
    keys.redis().xadd(keys.stream(), Map.of(bytes("e"), HexFormat.of().parseHex(entry)));

    var batch = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow().batches().getFirst();

    assertThat(batch.records()).isEqualTo(4);
    assertThat(ExportLogsServiceRequest.parseFrom(batch.otlp()).getResourceLogsList())
        .flatExtracting(resource -> resource.getScopeLogs(0).getLogRecordsList())
        .extracting(log -> log.getBody().getStringValue())
        .containsExactly("log 0", "log 2", "log 3", "log 4");
  }

  @Test
  void poll_corruptNewerAndForeignEntries_stayPendingAndBlockNothing() throws Exception {
    var batches = LogBatches.list(2, 1);
    byte[] corrupt = LogBatchCodec.encode(LogBatches.of(1));
    corrupt[corrupt.length - 1] ^= 1;
    byte[] newer = LogBatchCodec.encode(LogBatches.of(1));
    newer[0] = 3;
    append(batches.subList(0, 1));
    keys.redis().xadd(keys.stream(), Map.of(bytes("e"), corrupt));
    keys.redis().xadd(keys.stream(), Map.of(bytes("e"), newer));
    keys.redis().xadd(keys.stream(), Map.of(bytes("what"), bytes("ever")));
    append(batches.subList(1, 2));

    var delivery = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
    var redelivery = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
    spoolConsumer.ack(redelivery);

    assertSameBatches(delivery.batches(), batches);
    assertThat(redelivery.token()).isEqualTo(delivery.token());
    assertThat(spoolConsumer.poll(SHORT_TIMEOUT, Duration.ZERO)).isEmpty();
    assertThat(spoolConsumer.skippedEntries()).isEqualTo(3);
    assertThat(keys.pending()).isEqualTo(3);
    assertThat(keys.streamLength()).isEqualTo(3);
    assertThat(restarted().poll(SHORT_TIMEOUT, Duration.ZERO)).isEmpty();
  }

  @Test
  void poll_onlyUnreadableAheadAndZeroTimeout_deliversTheRest() throws Exception {
    for (int i = 0; i < 300; i++) {
      keys.redis().xadd(keys.stream(), Map.of(bytes("e"), bytes("x")));
    }
    append(LogBatches.list(1, 1));

    assertThat(spoolConsumer.poll(Duration.ZERO, Duration.ZERO)).isPresent();
    assertThat(spoolConsumer.skippedEntries()).isEqualTo(300);
  }

  @Test
  void poll_unreadableRemovedManually_isNoLongerCounted() throws Exception {
    var id = keys.redis().xadd(keys.stream(), Map.of(bytes("e"), bytes("x")));
    assertThat(spoolConsumer.poll(SHORT_TIMEOUT, Duration.ZERO)).isEmpty();
    assertThat(spoolConsumer.skippedEntries()).isEqualTo(1);
    keys.redis().xack(keys.stream(), bytes("sluice"), id);
    append(LogBatches.list(1, 1));

    var _ = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
    spoolConsumer.ack(
        spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow()); // reads the list again
    spoolConsumer.poll(SHORT_TIMEOUT, Duration.ZERO);

    assertThat(spoolConsumer.skippedEntries()).isZero();
  }

  @Test
  void poll_deadConsumer_itsDeliveryIsClaimedUnchanged() throws Exception {
    var dead = spoolOf("dead", IDLE_TIMEOUT);
    var batches = LogBatches.list(5, 300);
    append(batches);
    var unacked = dead.newConsumer(0).poll(TIMEOUT, Duration.ZERO).orElseThrow();
    dead.close();
    var claimant = spoolOf("claimant", IDLE_TIMEOUT).newConsumer(0);

    var delivered = new ArrayList<Delivery>();
    await()
        .until(
            () -> {
              claimant
                  .poll(SHORT_TIMEOUT, Duration.ZERO)
                  .ifPresent(
                      delivery -> {
                        delivered.add(delivery);
                        claimant.ack(delivery);
                      });
              return keys.streamLength() == 0;
            });

    assertThat(delivered.stream().map(Delivery::token)).contains(unacked.token());
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
    var claimant = spoolOf("claimant", IDLE_TIMEOUT).newConsumer(0);

    var delivered = new ArrayList<Delivery>();
    await()
        .until(
            () -> {
              claimant.poll(SHORT_TIMEOUT, Duration.ZERO).ifPresent(delivered::add);
              if (!delivered.isEmpty()) {
                claimant.ack(delivered.getLast());
              }
              return keys.streamLength() == 2;
            });
    delivered.add(claimant.poll(TIMEOUT, Duration.ZERO).orElseThrow());

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
    var claimant = spoolOf("claimant", IDLE_TIMEOUT).newConsumer(0);

    await()
        .until(
            () -> {
              append(LogBatches.list(5, 300));
              var delivery = claimant.poll(TIMEOUT, Duration.ZERO);
              delivery.ifPresent(claimant::ack);
              return delivery.stream()
                  .flatMap(d -> d.batches().stream())
                  .anyMatch(b -> b.appendId().equals(batch.appendId()));
            });
  }

  @Test
  void poll_otherConsumerAliveAndIdle_keepsItsEntries() throws Exception {
    keys.redis().xadd(keys.stream(), Map.of(bytes("e"), bytes("x")));
    var alive = spoolOf("alive", IDLE_TIMEOUT).newConsumer(0);
    assertThat(alive.poll(SHORT_TIMEOUT, Duration.ZERO)).isEmpty();
    var other = spoolOf("other", IDLE_TIMEOUT).newConsumer(0);
    long end = System.nanoTime() + IDLE_TIMEOUT.multipliedBy(4).toNanos();

    while (System.nanoTime() < end) {
      alive.poll(SHORT_TIMEOUT, Duration.ZERO);
      other.poll(SHORT_TIMEOUT, Duration.ZERO);
      assertThat(other.skippedEntries()).isZero(); // in each round: a claim may be reversed
    }

    assertThat(alive.skippedEntries()).isEqualTo(1);
  }

  @Test
  void poll_clockSetBack_stillClaims() throws Exception {
    var clock = new AtomicReference<>(Instant.now());
    var alive = new RedisSpool(keys.settings("alive", LIMITS, IDLE_TIMEOUT), clock::get);
    others.add(alive);
    var consumer = alive.newConsumer(0);
    assertThat(consumer.poll(SHORT_TIMEOUT, Duration.ZERO))
        .isEmpty(); // has looked for dead consumers
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
              alive.poll(SHORT_TIMEOUT, Duration.ZERO);
              return keys.redis().xinfoConsumers(keys.stream(), bytes("sluice")).size() == 1;
            });
  }

  @Test
  void allOperations_scriptsFlushed_stillWork() throws Exception {
    append(LogBatches.list(1, 1));
    keys.redis().scriptFlush();
    append(LogBatches.list(1, 1));
    keys.redis().scriptFlush();
    var delivery = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
    keys.redis().scriptFlush();

    spoolConsumer.ack(delivery);

    keys.redis().scriptFlush();
    assertThat(spool.recordCounts()).isEqualTo(new RecordCounts(2, 0, 0));
    keys.redis().scriptFlush();
    assertThat(spool.depth().entries()).isZero();
  }

  @Test
  void shards_several_shareTheBatchesAndAddUp() throws Exception {
    var settings = keys.settings(LIMITS);
    var three =
        new RedisSpool(
            new RedisSpool.RedisSpoolSettings(
                settings.url(),
                3,
                settings.prefix(),
                settings.group(),
                settings.instance(),
                LIMITS,
                settings.consumerIdleTimeout(),
                settings.commandTimeout(),
                settings.appendSettings()),
            InstantSource.system());
    others.add(three);
    for (var batch : LogBatches.list(90, 2)) {
      var first = three.append(batch, AppendMode.SYNC).toCompletableFuture().join();
      assertThat(first).isInstanceOf(AppendResult.Accepted.class);
      assertThat(three.append(batch, AppendMode.SYNC).toCompletableFuture().join())
          .isEqualTo(first);
    }

    assertThat(three.recordCounts()).isEqualTo(new RecordCounts(180, 180, 0));
    assertThat(three.depth().entries()).isEqualTo(90);
    int batches = 0;
    for (int shard = 0; shard < 3; shard++) {
      var delivery = three.newConsumer(shard).poll(TIMEOUT, Duration.ZERO).orElseThrow();
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

  private RedisSpool spoolOf(String instance, Duration consumerIdleTimeout) {
    var other = keys.spool(keys.settings(instance, LIMITS, consumerIdleTimeout));
    others.add(other);
    return other;
  }

  private RedisSpoolConsumer restartedWith(SpoolConsumer.DeliveryLimits deliveryLimits) {
    var other = keys.spool(keys.settings(deliveryLimits));
    others.add(other);
    return other.newConsumer(0);
  }

  private static Delivery awaitDelivery(SpoolConsumer spoolConsumer) {
    return await()
        .until(() -> spoolConsumer.poll(SHORT_TIMEOUT, Duration.ZERO), Optional::isPresent)
        .orElseThrow();
  }

  private RedisSpoolConsumer restarted() {
    return spool.newConsumer(0);
  }

  private void append(List<LogBatch> batches) {
    for (var batch : batches) {
      assertThat(spool.append(batch, AppendMode.SYNC).toCompletableFuture().join())
          .isInstanceOf(AppendResult.Accepted.class);
    }
  }

  private static void ackAll(SpoolConsumer spoolConsumer) throws InterruptedException {
    var delivery = spoolConsumer.poll(Duration.ZERO, Duration.ZERO);
    while (delivery.isPresent()) {
      spoolConsumer.ack(delivery.get());
      delivery = spoolConsumer.poll(Duration.ZERO, Duration.ZERO);
    }
  }
}
