package dev.sluice.redis;

import dev.sluice.core.port.SpoolConsumer;
import dev.sluice.testkit.SharedEngines;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.InstantSource;
import java.util.UUID;

/**
 * The Redis keys of one test, and a client that inspects them. Uses the shared Redis by default.
 * Closing it deletes the keys.
 */
final class RedisTestKeys implements AutoCloseable {
  static final Duration COMMAND_TIMEOUT = Duration.ofSeconds(5);

  final String prefix = "test-" + UUID.randomUUID();
  final String url;
  final RedisClient client;
  final StatefulRedisConnection<byte[], byte[]> connection;

  RedisTestKeys() {
    this(SharedEngines.redis().url());
  }

  RedisTestKeys(String url) {
    this.url = url;
    client = RedisClient.create(url);
    connection = client.connect(ByteArrayCodec.INSTANCE);
  }

  RedisSpool.RedisSpoolSettings settings(SpoolConsumer.DeliveryLimits deliveryLimits) {
    return settings("one", deliveryLimits, Duration.ofMinutes(2));
  }

  RedisSpool.RedisSpoolSettings settings(
      String instance, SpoolConsumer.DeliveryLimits deliveryLimits, Duration consumerIdleTimeout) {
    return new RedisSpool.RedisSpoolSettings(
        url,
        1,
        prefix,
        "sluice",
        instance,
        deliveryLimits,
        consumerIdleTimeout,
        COMMAND_TIMEOUT,
        RedisSpool.AppendSettings.DEFAULT);
  }

  RedisSpool spool(RedisSpool.RedisSpoolSettings settings) {
    return new RedisSpool(settings, InstantSource.system());
  }

  RedisCommands<byte[], byte[]> redis() {
    return connection.sync();
  }

  byte[] stream() {
    return key("logs");
  }

  /** Returns a key of the first shard. */
  byte[] key(String name) {
    return bytes("{" + prefix + ":0}:" + name);
  }

  byte[] ledger() {
    return bytes("{" + prefix + ":0}:ledger");
  }

  byte[] dead() {
    return bytes("{" + prefix + ":0}:dead");
  }

  long streamLength() {
    return redis().xlen(stream());
  }

  long pending() {
    return redis().xpending(stream(), bytes("sluice")).getCount();
  }

  /** Sets the memory limit of Redis below its usage, until the returned object is closed. */
  MemoryLimit limitMemory() {
    var limit = redis().configGet("maxmemory").get("maxmemory");
    redis().configSet("maxmemory", "1000");
    return () -> redis().configSet("maxmemory", limit);
  }

  /** A memory limit of Redis; closing it restores the previous limit. */
  interface MemoryLimit extends AutoCloseable {
    @Override
    void close();
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  @Override
  public void close() {
    var all = redis().keys("{" + prefix + ":*");
    if (!all.isEmpty()) {
      redis().del(all.toArray(byte[][]::new));
    }
    client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
  }
}
