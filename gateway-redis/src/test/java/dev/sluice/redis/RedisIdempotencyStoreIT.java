package dev.sluice.redis;

import static dev.sluice.redis.RedisTestKeys.bytes;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.IdempotencyStore.ClaimResult;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.core.port.SpoolConsumer;
import dev.sluice.testkit.IdempotencyStoreContract;
import dev.sluice.testkit.LogBatches;
import dev.sluice.testkit.SharedEngines;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class RedisIdempotencyStoreIT extends IdempotencyStoreContract {
  static final int MAX_KEYS = 3;

  final RedisTestKeys keys = new RedisTestKeys();
  final RedisSpool spool = new RedisSpool(settings(), InstantSource.system());

  private RedisSpool.RedisSpoolSettings settings() {
    return new RedisSpool.RedisSpoolSettings(
        keys.url,
        1,
        keys.prefix,
        "sluice",
        "one",
        SpoolConsumer.DeliveryLimits.DEFAULT,
        Duration.ofMinutes(2),
        RedisTestKeys.COMMAND_TIMEOUT,
        new RedisSpool.AppendSettings(0, Duration.ofSeconds(10), MAX_KEYS, Duration.ofHours(1)));
  }

  @Override
  protected IdempotencyStore idempotencyStore() {
    return spool;
  }

  @Override
  protected Spool spool() {
    return spool;
  }

  @AfterEach
  void close() {
    spool.close();
    keys.close();
  }

  @Test
  void claim_oldClaimExpired_isGrantedAndTheOldOneLost() throws Exception {
    var old = claimGranted(KEY);
    assertThat(storedTime() - redisMillis()).isBetween(50_000L, 60_000L);
    setStoredTime(redisMillis());

    var claim = claimGranted(KEY);

    assertThat(append(LogBatches.of(1), old)).isEqualTo(new AppendResult.ClaimLost());
    assertThat(append(LogBatches.of(1), claim)).isInstanceOf(AppendResult.Accepted.class);
  }

  @Test
  void claim_completedLongAgo_isGranted() throws Exception {
    append(LogBatches.of(1), claimGranted(KEY));
    setStoredTime(redisMillis() - 3_600_000);

    claimGranted(KEY);
  }

  @Test
  void claim_oldKeys_areForgotten() throws Exception {
    claimGranted(key(1));
    claimGranted(key(2));
    for (byte[] member : keys.redis().zrange(keys.key("keys:age"), 0, -1)) {
      keys.redis().zadd(keys.key("keys:age"), (double) (redisMillis() - 3_700_000), member);
    }

    claimGranted(key(3));

    assertThat(keys.redis().hlen(keys.key("keys"))).isEqualTo(1);
    assertThat(keys.redis().zcard(keys.key("keys:age"))).isEqualTo(1);
  }

  @Test
  void claim_moreThanTheMaximum_forgetsTheOldest() throws Exception {
    for (int i = 0; i <= MAX_KEYS; i++) {
      claimGranted(key(i));
      for (byte[] member : keys.redis().zrange(keys.key("keys:age"), 0, -1)) {
        keys.redis().zincrby(keys.key("keys:age"), -1, member);
      }
    }

    assertThat(keys.redis().hlen(keys.key("keys"))).isEqualTo(MAX_KEYS);
    assertThat(keys.redis().zcard(keys.key("keys:age"))).isEqualTo(MAX_KEYS);
    assertThat(claim(key(MAX_KEYS))).isInstanceOf(ClaimResult.InProgress.class);
    claimGranted(key(0));
  }

  @Test
  void claim_keyOfAClient_isNotStored() throws Exception {
    append(LogBatches.of(1), claimGranted(KEY));

    assertThat(new String(onlyKey(), StandardCharsets.ISO_8859_1))
        .hasSize(16)
        .doesNotContain(KEY.key());
  }

  @Test
  void claim_memoryFull_isUnavailableAndCompletedKeysAreKnown() throws Exception {
    append(LogBatches.of(1), claimGranted(KEY));
    var limit = keys.redis().configGet("maxmemory").get("maxmemory");
    try {
      keys.redis().configSet("maxmemory", "1");

      assertThat(claim(key(1)))
          .isInstanceOfSatisfying(
              ClaimResult.Unavailable.class,
              unavailable -> assertThat(unavailable.reason()).contains("OOM"));
      assertThat(claim(KEY)).isEqualTo(new ClaimResult.Completed());
      assertThat(keys.redis().hlen(keys.key("keys"))).isEqualTo(1);
    } finally {
      keys.redis().configSet("maxmemory", limit);
    }
  }

  @Test
  void append_memoryFull_leavesTheClaimUnchanged() throws Exception {
    var claim = claimGranted(KEY);
    var limit = keys.redis().configGet("maxmemory").get("maxmemory");
    try {
      keys.redis().configSet("maxmemory", "1");

      assertThat(append(LogBatches.of(1), claim)).isInstanceOf(AppendResult.Unavailable.class);
    } finally {
      keys.redis().configSet("maxmemory", limit);
    }
    assertThat(append(LogBatches.of(1), claim)).isInstanceOf(AppendResult.Accepted.class);
    assertThat(spool.recordCounts().accepted()).isEqualTo(1);
  }

  @Test
  void claim_redisStopped_isUnavailable() throws Exception {
    SharedEngines.redis().stop();
    try {
      assertThat(claim(KEY)).isInstanceOf(ClaimResult.Unavailable.class);
    } finally {
      SharedEngines.redis().restart();
    }
  }

  private static IdempotencyStore.IdempotencyKey key(int number) {
    return new IdempotencyStore.IdempotencyKey("default", "key-" + number, new UUID(0, number));
  }

  private byte[] onlyKey() {
    return keys.redis().hkeys(keys.key("keys")).getFirst();
  }

  private byte[] value() {
    return keys.redis().hget(keys.key("keys"), onlyKey());
  }

  private long storedTime() {
    byte[] value = value();
    return Long.parseLong(
        new String(Arrays.copyOfRange(value, 33, value.length), StandardCharsets.UTF_8));
  }

  private void setStoredTime(long millis) {
    byte[] head = Arrays.copyOf(value(), 33);
    byte[] tail = bytes(Long.toString(millis));
    byte[] value = Arrays.copyOf(head, head.length + tail.length);
    System.arraycopy(tail, 0, value, head.length, tail.length);
    keys.redis().hset(keys.key("keys"), onlyKey(), value);
  }

  private long redisMillis() {
    var time = keys.redis().time();
    return number(time.get(0)) * 1_000 + number(time.get(1)) / 1_000;
  }

  private static long number(byte[] text) {
    return Long.parseLong(new String(text, StandardCharsets.UTF_8));
  }
}
