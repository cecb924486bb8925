package dev.sluice.redis;

import static dev.sluice.testkit.SpoolContract.assertSameBatches;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.DailyCounts.RecordCounts;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.core.port.SpoolConsumer;
import dev.sluice.testkit.LogBatches;
import dev.sluice.testkit.SharedEngines;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.FutureTask;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Redis is unreachable, full, unresponsive, a replica, or rejects the password. */
@Timeout(120)
class RedisOutageIT {
  static final SpoolConsumer.DeliveryLimits LIMITS =
      new SpoolConsumer.DeliveryLimits(100_000, 1L << 30, Duration.ofMillis(50));
  static final Duration TIMEOUT = Duration.ofSeconds(5);
  static final Duration SHORT_TIMEOUT = Duration.ofMillis(50);

  final RedisTestKeys keys = new RedisTestKeys();
  final RedisSpool spool = keys.spool(keys.settings(LIMITS));
  final RedisSpoolConsumer spoolConsumer = spool.newConsumer(0);

  @AfterEach
  void close() {
    spoolConsumer.close();
    spool.close();
    keys.close();
  }

  @Test
  void allOperations_redisRestarted_continueWithoutLoss() throws Exception {
    var before = LogBatches.of(3);
    assertThat(append(before)).isInstanceOf(AppendResult.Accepted.class);
    var unacked = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
    SharedEngines.redis().stop();

    try {
      assertThat(append(LogBatches.of(1))).isInstanceOf(AppendResult.Unavailable.class);
      assertThat(append(LogBatches.of(1))).isInstanceOf(AppendResult.Unavailable.class);
      assertThat(unavailableReason(spool)).isNotNull();
      assertThatThrownBy(() -> spoolConsumer.poll(SHORT_TIMEOUT, Duration.ZERO))
          .isInstanceOf(SpoolUnreachableException.class);
      assertThatThrownBy(spool::recordCounts).isInstanceOf(SpoolUnreachableException.class);
      assertThatThrownBy(spool::depth).isInstanceOf(SpoolUnreachableException.class);
    } finally {
      SharedEngines.redis().restart();
    }

    await().until(() -> unavailableReason(spool) == null);
    var after = LogBatches.of(2);
    await().until(() -> append(after) instanceof AppendResult.Accepted);
    await()
        .ignoreExceptions()
        .until(() -> spoolConsumer.poll(SHORT_TIMEOUT, Duration.ZERO).isPresent());
    var redelivery = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
    assertThat(redelivery.token()).isEqualTo(unacked.token());
    assertSameBatches(redelivery.batches(), List.of(before));
    spoolConsumer.ack(redelivery);
    assertSameBatches(
        spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow().batches(), List.of(after));
    assertThat(spool.recordCounts()).isEqualTo(new RecordCounts(5, 2, 0));
  }

  @Test
  void append_redisStopped_isUnavailableImmediately() throws Exception {
    assertThat(append(LogBatches.of(1))).isInstanceOf(AppendResult.Accepted.class);
    SharedEngines.redis().stop();
    try {
      append(LogBatches.of(1)); // may be sent before the loss is detected, and then waits
      long start = System.nanoTime();

      for (int i = 0; i < 100; i++) {
        assertThat(append(LogBatches.of(1))).isInstanceOf(AppendResult.Unavailable.class);
      }

      assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(2));
    } finally {
      SharedEngines.redis().restart();
    }
  }

  /** The command timeout is so long that only the loss of the connection can end the wait. */
  @Test
  void append_connectionLostInFlight_isAcceptedOnceWhenRedisIsBack() {
    var settings =
        new RedisSpool.RedisSpoolSettings(
            SharedEngines.redis().url(),
            1,
            keys.prefix,
            "sluice",
            "one",
            LIMITS,
            Duration.ofMinutes(2),
            Duration.ofMinutes(1),
            RedisSpool.AppendSettings.DEFAULT);
    try (var patient = new RedisSpool(settings, InstantSource.system())) {
      assertThat(patient.append(LogBatches.of(1), AppendMode.SYNC).toCompletableFuture().join())
          .isInstanceOf(AppendResult.Accepted.class);
      keys.redis()
          .dispatch(
              CommandType.CLIENT,
              new StatusOutput<>(ByteArrayCodec.INSTANCE),
              new CommandArgs<>(ByteArrayCodec.INSTANCE).add("PAUSE").add(60_000).add("WRITE"));
      var inFlight = patient.append(LogBatches.of(1), AppendMode.SYNC).toCompletableFuture();
      await().until(this::scriptWaitsInRedis);
      SharedEngines.redis().kill();

      assertThat(inFlight.join()).isInstanceOf(AppendResult.Accepted.class);

      await().until(() -> unavailableReason(spool) == null);
      assertThat(spool.recordCounts().accepted()).isEqualTo(2);
    }
  }

  /** Whether Redis holds the arguments of a script that it has not run yet. */
  private boolean scriptWaitsInRedis() {
    return keys.redis()
        .clientList()
        .lines()
        .anyMatch(client -> client.contains(" cmd=evalsha ") && !client.contains(" argv-mem=0 "));
  }

  @Test
  void poll_redisKilledWhileBlocked_throwsAndRecovers() throws Exception {
    assertThat(spoolConsumer.poll(SHORT_TIMEOUT, Duration.ZERO)).isEmpty();
    var waiting = new FutureTask<>(() -> spoolConsumer.poll(Duration.ofMinutes(1), Duration.ZERO));
    Thread.ofVirtual().start(waiting);
    await().until(() -> keys.redis().clientList().contains("cmd=xreadgroup"));

    SharedEngines.redis().kill();

    assertThatThrownBy(waiting::get).hasCauseInstanceOf(SpoolUnreachableException.class);
    var batch = LogBatches.of(1);
    await().until(() -> append(batch) instanceof AppendResult.Accepted);
    await()
        .ignoreExceptions()
        .until(() -> spoolConsumer.poll(SHORT_TIMEOUT, Duration.ZERO).isPresent());
  }

  @Test
  void allOperations_redisDownAtStart_workOnceItIsUp() throws Exception {
    SharedEngines.redis().stop();
    var early = keys.spool(keys.settings(LIMITS));
    try (var waiting = early.newConsumer(0)) {
      try {
        assertThat(early.append(LogBatches.of(1), AppendMode.SYNC).toCompletableFuture().join())
            .isInstanceOf(AppendResult.Unavailable.class);
        assertThat(unavailableReason(early)).isNotNull();
        assertThatThrownBy(() -> waiting.poll(SHORT_TIMEOUT, Duration.ZERO))
            .isInstanceOf(SpoolUnreachableException.class);
      } finally {
        SharedEngines.redis().restart();
      }

      await().until(() -> unavailableReason(early) == null);
      await()
          .until(
              () ->
                  early.append(LogBatches.of(1), AppendMode.SYNC).toCompletableFuture().join()
                      instanceof AppendResult.Accepted);
      await()
          .ignoreExceptions()
          .until(() -> waiting.poll(SHORT_TIMEOUT, Duration.ZERO).isPresent());
    } finally {
      early.close();
    }
  }

  @Test
  void append_memoryFull_isUnavailableAndDrainsAfterAGatewayRestart() throws Exception {
    append(LogBatches.of(1));
    spoolConsumer.ack(spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow());
    var limit = keys.redis().configGet("maxmemory").get("maxmemory");
    try {
      keys.redis().configSet("maxmemory", Long.toString(usedMemory() + (8 << 20)));
      long accepted = 1;
      AppendResult appendResult = append(incompressible());
      while (appendResult instanceof AppendResult.Accepted) {
        accepted++;
        appendResult = append(incompressible());
      }

      assertThat(appendResult)
          .isInstanceOfSatisfying(
              AppendResult.Unavailable.class,
              unavailable -> assertThat(unavailable.reason()).contains("OOM"));
      assertThat(accepted).isBetween(2L, 100L);
      assertThat(unavailableReason(spool)).contains("full");
      assertThat(spool.recordCounts()).isEqualTo(new RecordCounts(accepted, accepted - 1, 0));
      try (var restarted = spool.newConsumer(0)) {
        var delivery = restarted.poll(TIMEOUT, Duration.ZERO).orElseThrow();
        assertThat(delivery.records()).isEqualTo(accepted - 1);
        restarted.ack(delivery);
      }
      assertThat(append(LogBatches.of(1))).isInstanceOf(AppendResult.Accepted.class);
      assertThat(unavailableReason(spool)).isNull();
    } finally {
      keys.redis().configSet("maxmemory", limit);
    }
  }

  @Test
  void unavailableReason_memoryOverTheLimit_isFullWithoutAnAppend() {
    var limit = keys.redis().configGet("maxmemory").get("maxmemory");
    try {
      keys.redis().configSet("maxmemory", Long.toString(usedMemory() / 2));

      assertThat(unavailableReason(spool)).contains("full");
    } finally {
      keys.redis().configSet("maxmemory", limit);
    }
  }

  @Test
  void append_replica_isUnavailable() {
    try {
      keys.redis().replicaof("127.0.0.1", 1);

      assertThat(append(LogBatches.of(1)))
          .isInstanceOfSatisfying(
              AppendResult.Unavailable.class,
              unavailable -> assertThat(unavailable.reason()).contains("READONLY"));
      assertThat(unavailableReason(spool)).contains("replica");
    } finally {
      keys.redis().replicaofNoOne();
    }
  }

  @Test
  void append_wrongPassword_isUnavailableWithoutDisclosingIt() {
    var settings =
        RedisSpool.RedisSpoolSettings.of(
            "redis://:secret-and-wrong@127.0.0.1:" + SharedEngines.redis().port(), "one");
    try (var locked = new RedisSpool(settings, InstantSource.system())) {
      var appendResult =
          locked.append(LogBatches.of(1), AppendMode.SYNC).toCompletableFuture().join();

      assertThat(appendResult)
          .isInstanceOfSatisfying(
              AppendResult.Unavailable.class,
              unavailable ->
                  assertThat(unavailable.reason()).contains("WRONGPASS").doesNotContain("secret"));
      assertThat(unavailableReason(locked)).isNotNull();
      assertThat(settings.toString()).doesNotContain("secret");
    }
  }

  @Test
  void append_unresponsivePeer_isResentOnANewConnectionAndStoredOnce() throws Exception {
    var settings =
        new RedisSpool.RedisSpoolSettings(
            SharedEngines.redis().url(),
            1,
            keys.prefix,
            "hasty",
            "one",
            LIMITS,
            Duration.ofMinutes(2),
            Duration.ofMillis(300),
            RedisSpool.AppendSettings.DEFAULT);
    try (var hasty = new RedisSpool(settings, InstantSource.system())) {
      assertThat(hasty.append(LogBatches.of(1), AppendMode.SYNC).toCompletableFuture().join())
          .isInstanceOf(AppendResult.Accepted.class);
      var before = addressesOf("hasty");
      keys.redis().clientPause(1_000);

      var appendResult =
          hasty.append(LogBatches.of(1), AppendMode.SYNC).toCompletableFuture().join();

      assertThat(appendResult).isInstanceOf(AppendResult.Accepted.class);
      assertThat(keys.streamLength()).isEqualTo(2);
      assertThat(before).hasSize(1);
      assertThat(addressesOf("hasty")).doesNotContainAnyElementsOf(before);
    }
  }

  @Test
  void unavailableReason_unresponsivePort_returnsWithinTheTimeout() throws Exception {
    try (var silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      var settings =
          RedisSpool.RedisSpoolSettings.of("redis://127.0.0.1:" + silent.getLocalPort(), "one");
      try (var unreachable = new RedisSpool(settings, InstantSource.system())) {
        long start = System.nanoTime();

        assertThat(unavailableReason(unreachable)).isNotNull();

        assertThat(Duration.ofNanos(System.nanoTime() - start))
            .isLessThan(Duration.ofMillis(1_500));
      }
    }
  }

  @Test
  void construct_noRedis_connectsLazily() {
    var settings = RedisSpool.RedisSpoolSettings.of("redis://127.0.0.1:1", "one");
    long start = System.nanoTime();

    new RedisSpool(settings, InstantSource.system()).close();

    assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(2));
  }

  private List<String> addressesOf(String client) {
    return keys.redis()
        .clientList()
        .lines()
        .filter(line -> line.contains(" name=" + client + " "))
        .map(line -> line.split(" ", -1)[1])
        .toList();
  }

  private long usedMemory() {
    return keys.redis()
        .info("memory")
        .lines()
        .filter(line -> line.startsWith("used_memory:"))
        .mapToLong(line -> Long.parseLong(line.substring("used_memory:".length()).strip()))
        .findFirst()
        .orElseThrow();
  }

  private LogBatch incompressible() {
    byte[] otlp = new byte[256 << 10];
    new Random().nextBytes(otlp);
    var sample = LogBatches.of(1);
    return new LogBatch(
        UUID.randomUUID(),
        sample.tenant(),
        sample.receivedNanos(),
        sample.firstId(),
        1,
        otlp.length,
        otlp);
  }

  private AppendResult append(LogBatch batch) {
    return spool.append(batch, AppendMode.SYNC).toCompletableFuture().join();
  }

  private static @Nullable String unavailableReason(Spool spool) {
    return spool.status().toCompletableFuture().join().unavailableReason();
  }
}
