package dev.sluice.redis;

import static dev.sluice.redis.RedisTestKeys.bytes;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.DailyCounts.RecordCounts;
import dev.sluice.core.port.DeliveryStatusReader.DeliveryStatus;
import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.IdempotencyStore.ClaimResult;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.core.port.Spool.Receipt;
import dev.sluice.core.port.Spool.SpoolStatus;
import dev.sluice.core.port.SpoolConsumer;
import dev.sluice.engines.EmbeddedRedis;
import dev.sluice.testkit.LogBatches;
import dev.sluice.testkit.SharedEngines;
import dev.sluice.testkit.TcpProxy;
import io.lettuce.core.Range;
import io.lettuce.core.RedisClient;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.XAddArgs;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.LocalDate;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Appends with lost replies, deduplication of appends, and the status of entries and of Redis. */
@Timeout(120)
class RedisAppendIT {
  static final Duration APPEND_TIMEOUT = Duration.ofMinutes(1);

  final RedisTestKeys keys = new RedisTestKeys();
  final TcpProxy proxy = TcpProxy.to(SharedEngines.redis().port());
  final RedisSpool spool = spool(APPEND_TIMEOUT, Duration.ofSeconds(5), 0);

  private RedisSpool spool(Duration appendTimeout, Duration commandTimeout, int replicas) {
    return new RedisSpool(
        new RedisSpool.RedisSpoolSettings(
            "redis://:" + SharedEngines.redis().password() + "@127.0.0.1:" + proxy.port(),
            1,
            keys.prefix,
            "sluice",
            "one",
            SpoolConsumer.DeliveryLimits.DEFAULT,
            Duration.ofMinutes(2),
            commandTimeout,
            new RedisSpool.AppendSettings(replicas, appendTimeout, 1_000, Duration.ofHours(1))),
        InstantSource.system());
  }

  @AfterEach
  void close() {
    spool.close();
    proxy.close();
    keys.close();
  }

  @Test
  void append_replyLostAfterExecution_isAcceptedOnce() {
    append(spool, LogBatches.of(1));
    proxy.dropNextResponse();

    var receipt = accepted(append(spool, LogBatches.of(2)));

    assertThat(proxy.droppedResponses()).isEqualTo(1);
    assertThat(keys.streamLength()).isEqualTo(2);
    assertThat(spool.recordCounts()).isEqualTo(new RecordCounts(3, 3, 0));
    assertThat(
            keys.redis().xrange(keys.stream(), Range.create(receipt.entryId(), receipt.entryId())))
        .hasSize(1);
  }

  @Test
  void append_someRepliesLost_isStoredOnceIfAcceptedElseNotAtAll() {
    append(spool, LogBatches.of(1));
    proxy.dropResponses();

    var appends =
        LogBatches.list(20, 1).stream()
            .map(b -> spool.append(b, AppendMode.SYNC).toCompletableFuture())
            .toList();
    await().until(() -> proxy.droppedResponses() >= 2);
    proxy.heal();

    long accepted = appends.stream().filter(a -> a.join() instanceof AppendResult.Accepted).count();
    assertThat(accepted).isPositive(); // appends that were not sent are unavailable
    assertThat(keys.streamLength()).isEqualTo(1 + accepted);
    assertThat(spool.recordCounts()).isEqualTo(new RecordCounts(1 + accepted, 1 + accepted, 0));
  }

  @Test
  void append_underClaimAndReplyLost_isAcceptedOnceAndTheKeyCompleted() {
    var key = new IdempotencyStore.IdempotencyKey("default", "order-1", new UUID(1, 2));
    var claim = ((ClaimResult.Granted) spool.claim(key).toCompletableFuture().join()).claim();
    proxy.dropNextResponse();

    accepted(spool.append(LogBatches.of(2), claim, AppendMode.SYNC).toCompletableFuture().join());

    assertThat(proxy.droppedResponses()).isEqualTo(1);
    assertThat(keys.streamLength()).isEqualTo(1);
    assertThat(spool.claim(key).toCompletableFuture().join())
        .isEqualTo(new ClaimResult.Completed());
  }

  @Test
  void claim_replyLost_isGranted() {
    append(spool, LogBatches.of(1));
    proxy.dropNextResponse();

    var key = new IdempotencyStore.IdempotencyKey("default", "order-1", new UUID(1, 2));

    assertThat(spool.claim(key).toCompletableFuture().join())
        .isInstanceOf(ClaimResult.Granted.class);
    assertThat(proxy.droppedResponses()).isEqualTo(1);
  }

  @Test
  void append_noReply_isUnavailableAtLastAndRetryIsStoredOnce() {
    var batch = LogBatches.of(1);
    try (var hasty = spool(Duration.ofMillis(600), Duration.ofMillis(200), 0)) {
      append(hasty, LogBatches.of(1));
      proxy.freeze();
      long start = System.nanoTime();

      var appendResult = append(hasty, batch);

      assertThat(appendResult).isInstanceOf(AppendResult.Unavailable.class);
      assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThan(Duration.ofMillis(550));
      proxy.heal(); // the frozen commands arrive at Redis now
      await().until(() -> append(hasty, batch) instanceof AppendResult.Accepted);
      assertThat(keys.streamLength()).isEqualTo(2);
    }
  }

  @Test
  void ack_oldAppend_isForgotten() throws Exception {
    append(spool, LogBatches.of(1));
    append(spool, LogBatches.of(1));
    age(700_000);

    deliver(LogBatches.of(1));

    assertThat(keys.redis().zcard(keys.key("appends"))).isEqualTo(1);
    assertThat(keys.redis().hlen(keys.key("appends:entries"))).isEqualTo(1);
  }

  @Test
  void ack_oldAppendAndOlderEntryPending_isRemembered() throws Exception {
    var old = unreadableEntry();
    var batch = LogBatches.of(1);
    var receipt = deliver(batch);
    age(650_000);
    deliver(LogBatches.of(1));

    assertThat(accepted(append(spool, batch))).isEqualTo(receipt);

    keys.redis().xdel(keys.stream(), old.toString());
    deliver(LogBatches.of(1));
    assertThat(accepted(append(spool, batch))).isNotEqualTo(receipt);
  }

  @Test
  void ack_oldAppendAndNoTrafficSince_isRemembered() throws Exception {
    var batch = LogBatches.of(1);
    var receipt = deliver(batch);
    append(spool, LogBatches.of(1));
    age(700_000);
    simulateNoTraffic();
    ackNext(); // before the next append
    deliver(LogBatches.of(1));

    assertThat(accepted(append(spool, batch))).isEqualTo(receipt);

    keys.redis().hincrby(keys.ledger(), bytes("quiet"), -700_000);
    deliver(LogBatches.of(1));
    assertThat(accepted(append(spool, batch))).isNotEqualTo(receipt);
  }

  @Test
  void ack_noTrafficAndUnreadableEntry_isForgottenAfterADay() throws Exception {
    unreadableEntry();
    var batch = LogBatches.of(1);
    var receipt = deliver(batch);
    age(Duration.ofHours(23).toMillis());
    simulateNoTraffic();
    deliver(LogBatches.of(1));
    assertThat(accepted(append(spool, batch))).isEqualTo(receipt);

    age(Duration.ofHours(2).toMillis());
    simulateNoTraffic();
    deliver(LogBatches.of(1));

    assertThat(accepted(append(spool, batch))).isNotEqualTo(receipt);
  }

  /** Short pauses, or one unreadable entry, must not fill Redis with append ids in a day. */
  @Test
  void ack_moreAppendsThanTheExtendedLimit_forgetsTheOldest() throws Exception {
    unreadableEntry();
    var batch = LogBatches.of(1);
    var receipt = deliver(batch);
    long hourAgo = Instant.now().minus(Duration.ofHours(1)).toEpochMilli();
    keys.redis()
        .eval(
            "for i = 1, ARGV[1] do redis.call('ZADD', KEYS[1], ARGV[2] + i, i) end",
            ScriptOutputType.STATUS,
            new byte[][] {keys.key("appends")},
            bytes(Integer.toString(RedisSpool.MAX_EXTENDED_DEDUP_APPENDS)),
            bytes(Long.toString(hourAgo)));
    simulateNoTraffic();

    deliver(LogBatches.of(1));

    long left = RedisSpool.MAX_EXTENDED_DEDUP_APPENDS + 2 - 1_000;
    assertThat(keys.redis().zcard(keys.key("appends"))).isEqualTo(left);
    assertThat(keys.redis().zscore(keys.key("appends"), bytes("1000"))).isNull();
    assertThat(keys.redis().zscore(keys.key("appends"), bytes("1001"))).isNotNull();
    deliver(LogBatches.of(1));
    assertThat(keys.redis().zcard(keys.key("appends"))).isEqualTo(left + 1);
    assertThat(accepted(append(spool, batch))).isEqualTo(receipt);
  }

  @Test
  void ack_redisFull_stillForgets() throws Exception {
    append(spool, LogBatches.of(1));
    append(spool, LogBatches.of(1));
    age(700_000);

    try (var _ = keys.limitMemory()) {
      ackNext();
    }

    assertThat(keys.redis().zcard(keys.key("appends"))).isZero();
    assertThat(keys.redis().hlen(keys.key("appends:entries"))).isZero();
  }

  private Receipt deliver(LogBatch batch) throws InterruptedException {
    var receipt = accepted(append(spool, batch));
    ackNext();
    return receipt;
  }

  private void ackNext() throws InterruptedException {
    try (var spoolConsumer = spool.newConsumer(0)) {
      spoolConsumer.ack(spoolConsumer.poll(Duration.ofSeconds(30), Duration.ZERO).orElseThrow());
    }
  }

  /** Adds an unreadable entry whose id is two days old. */
  private StreamEntryId unreadableEntry() {
    var id = new StreamEntryId(Instant.now().minus(Duration.ofDays(2)).toEpochMilli(), 0);
    keys.redis()
        .xadd(keys.stream(), new XAddArgs().id(id.toString()), Map.of(bytes("e"), bytes("")));
    return id;
  }

  /** Makes the last append older than the pause that extends the retention of append ids. */
  private void simulateNoTraffic() {
    keys.redis().hincrby(keys.ledger(), bytes("last"), -11_000);
  }

  /** Makes all append ids older by a number of milliseconds. */
  private void age(double millis) {
    for (byte[] id : keys.redis().zrange(keys.key("appends"), 0, -1)) {
      keys.redis().zincrby(keys.key("appends"), -millis, id);
    }
  }

  @Test
  void append_withReplicas_isAcceptedOnceReplicated(@TempDir Path folder) throws Exception {
    try (var strict = spool(Duration.ofSeconds(3), Duration.ofSeconds(2), 1);
        var replica =
            EmbeddedRedis.start(
                new EmbeddedRedis.RedisEngineSettings(
                    folder, SharedEngines.cacheDirectory(), 0, "512mb"))) {
      var batch = LogBatches.of(1);
      assertThat(append(strict, batch))
          .isInstanceOfSatisfying(
              AppendResult.Unavailable.class,
              unavailable -> assertThat(unavailable.reason()).contains("0 of 1 replicas"));
      assertThat(spoolStatus(strict).notDurableReason()).contains("0 replicas, requires 1");

      var client = RedisClient.create(replica.url());
      try (var connection = client.connect()) {
        connection.sync().configSet("masterauth", SharedEngines.redis().password());
        connection.sync().replicaof("127.0.0.1", SharedEngines.redis().port());
        await().until(() -> append(strict, batch) instanceof AppendResult.Accepted);
        assertThat(spoolStatus(strict).unavailableReason()).isNull();
        signal("STOP", replica.pid());
        try {
          assertThat(append(strict, LogBatches.of(1))).isInstanceOf(AppendResult.Unavailable.class);
        } finally {
          signal("CONT", replica.pid());
        }
      } finally {
        client.shutdown();
      }
      assertThat(keys.streamLength()).isEqualTo(2);
    }
  }

  private static void signal(String name, long pid) throws Exception {
    assertThat(new ProcessBuilder("kill", "-" + name, Long.toString(pid)).start().waitFor())
        .isZero();
  }

  @Test
  void spoolStatus_noAppendOnlyFile_isNotDurable() {
    keys.redis().configSet("appendonly", "no");
    try {
      assertThat(spoolStatus(spool).notDurableReason()).contains("append-only file");
      assertThat(spoolStatus(spool).outageReason()).isNull();
    } finally {
      keys.redis().configSet("appendonly", "yes");
    }
  }

  @Test
  void spoolStatus_evictionEnabled_isNotDurable() {
    keys.redis().configSet("maxmemory-policy", "volatile-lru");
    try {
      assertThat(spoolStatus(spool).unavailableReason()).isNull();
      keys.redis().configSet("maxmemory-policy", "allkeys-lru");

      assertThat(spoolStatus(spool).notDurableReason()).contains("maxmemory-policy");
    } finally {
      keys.redis().configSet("maxmemory-policy", "noeviction");
    }
  }

  @Test
  void spoolStatus_someDelivered_countsDeliveredAndPending() {
    append(spool, LogBatches.of(10));
    keys.redis().hset(keys.key("ledger"), bytes("settled"), bytes("4"));
    assertThat(spoolStatus(spool)).isEqualTo(new SpoolStatus(null, null, 6, 4));

    keys.redis().hset(keys.key("ledger"), bytes("settled"), bytes("400"));
    assertThat(spoolStatus(spool)).isEqualTo(new SpoolStatus(null, null, 0, 400));
  }

  @Test
  void statusOf_redisHasLostTheStream_isUnknown() {
    var batch = LogBatches.of(10);
    var receipt = accepted(append(spool, batch));
    keys.redis().del(keys.stream());
    assertThat(statusOf(receipt)).isInstanceOf(DeliveryStatus.Unknown.class);

    keys.redis().xadd(keys.stream(), idBefore(receipt), Map.of(bytes("n"), bytes("1")));

    assertThat(statusOf(receipt)).isInstanceOf(DeliveryStatus.Unknown.class);
  }

  private static XAddArgs idBefore(Receipt receipt) {
    var id = StreamEntryId.of(bytes(receipt.entryId()));
    return new XAddArgs().id(new StreamEntryId(id.millis() - 1, 0).toString());
  }

  @Test
  void statusOf_unreachable_isUnknown() {
    proxy.refuseConnections();
    proxy.resetConnections();

    assertThat(statusOf(new Receipt(0, "1-0"))).isInstanceOf(DeliveryStatus.Unknown.class);
  }

  @Test
  void recordCounts_deadLettersOfAnEarlierReleaseAndOlderEntries_areByDay() {
    var day = LocalDate.of(2026, 3, 1);
    deadLetter("00", day.toEpochDay());
    deadLetter("01", day.toEpochDay());
    keys.redis().hset(keys.key("ledger"), bytes("purged:" + day.toEpochDay()), bytes("7"));
    keys.redis().hset(keys.key("ledger"), bytes("accepted"), bytes("1000"));
    var id = day.plusDays(1).toEpochDay() * 86_400_000L + "-0";
    keys.redis()
        .xadd(
            keys.stream(),
            new XAddArgs().id(id),
            Map.of(bytes("n"), bytes("5"), bytes("e"), bytes("")));

    assertThat(spool.recordCounts(LocalDate.EPOCH))
        .isEqualTo(
            Map.of(day, new RecordCounts(-7, 2, 0), day.plusDays(1), new RecordCounts(0, 5, 0)));
    assertThat(spool.recordCounts(day.plusDays(1)).keySet()).isEqualTo(Set.of(day.plusDays(1)));
  }

  @Test
  void countsCompleteSince_severalDays_isTheFirstWithAcceptances() {
    setCount("accepted:20600");
    setCount("accepted:20598");
    setCount("purged:20590");

    assertThat(spool.countsCompleteSince()).isEqualTo(LocalDate.ofEpochDay(20_598));
  }

  @Test
  void countsCompleteSince_ledgerWithoutDays_isTheDayAfterTheUpgrade() {
    setCount("accepted");
    setCount("accepted:20598");
    setCount("accepted:20599");

    assertThat(spool.countsCompleteSince()).isEqualTo(LocalDate.ofEpochDay(20_599));
  }

  @Test
  void countsCompleteSince_nothingEverAccepted_isToday() {
    var noon = Instant.parse("2026-05-20T12:00:00Z");
    try (var empty =
        new RedisSpool(keys.settings(SpoolConsumer.DeliveryLimits.DEFAULT), () -> noon)) {
      assertThat(empty.countsCompleteSince()).isEqualTo(LocalDate.of(2026, 5, 20));
    }
  }

  private void setCount(String field) {
    keys.redis().hset(keys.ledger(), bytes(field), bytes("9"));
  }

  @Test
  void recordCounts_manyEntries_areCountedOverSeveralPages() {
    for (var batch : LogBatches.list(150, 1)) {
      append(spool, batch);
    }

    assertThat(spool.recordCounts()).isEqualTo(new RecordCounts(150, 150, 0));
  }

  private void deadLetter(String identity, long day) {
    keys.redis()
        .xadd(
            keys.key("dead"),
            Map.of(
                bytes("i"),
                bytes(identity),
                bytes("d"),
                bytes(Long.toString(day)),
                bytes("r"),
                bytes("no such column"),
                bytes("a"),
                bytes("0"),
                bytes("e"),
                new byte[100]));
  }

  private static DeliveryStatus statusOf(RedisSpool spool, Receipt receipt) {
    return spool.statusOf(receipt).toCompletableFuture().join();
  }

  private DeliveryStatus statusOf(Receipt receipt) {
    return statusOf(spool, receipt);
  }

  private static SpoolStatus spoolStatus(RedisSpool spool) {
    return spool.status().toCompletableFuture().join();
  }

  private static Receipt accepted(AppendResult appendResult) {
    assertThat(appendResult).isInstanceOf(AppendResult.Accepted.class);
    return ((AppendResult.Accepted) appendResult).receipt();
  }

  private static AppendResult append(RedisSpool spool, LogBatch batch) {
    return spool.append(batch, AppendMode.SYNC).toCompletableFuture().join();
  }
}
