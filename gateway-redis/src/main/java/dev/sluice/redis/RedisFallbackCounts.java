package dev.sluice.redis;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.port.DailyCounts.RecordCounts;
import dev.sluice.core.port.FallbackCounts;
import java.time.LocalDate;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletionStage;

/**
 * The counts of the fallbacks in one hash with a field for each node. The value has a line for each
 * day: the day in days since 1970 (UTC), then the accepted, in-flight and quarantined records,
 * separated by spaces. Safe for use by many threads.
 */
final class RedisFallbackCounts implements FallbackCounts {
  private final RedisSpool.RedisSpoolSettings settings;
  private final RedisConnection connection;
  private final byte[] hash;

  RedisFallbackCounts(RedisSpool.RedisSpoolSettings settings, RedisConnection connection) {
    this.settings = settings;
    this.connection = connection;
    this.hash = "{%s:fallbacks}".formatted(settings.prefix()).getBytes(UTF_8);
  }

  @Override
  public CompletionStage<Void> publish(String node, SortedMap<LocalDate, RecordCounts> counts) {
    byte[] lines = encode(counts);
    return connection
        .send(
            settings.commandTimeout(),
            redis -> redis.async().hset(hash, node.getBytes(UTF_8), lines).toCompletableFuture())
        .thenApply(_ -> null);
  }

  @Override
  public SortedMap<LocalDate, RecordCounts> countsOfOtherNodes(String node, LocalDate from) {
    Map<byte[], byte[]> published =
        connection.callUninterruptibly(
            settings.commandTimeout(), redis -> redis.async().hgetall(hash).toCompletableFuture());
    var days = new TreeMap<LocalDate, RecordCounts>();
    published.forEach(
        (field, lines) -> {
          if (!new String(field, UTF_8).equals(node)) {
            addCounts(lines, days);
          }
        });
    return new TreeMap<>(days.tailMap(from));
  }

  private static byte[] encode(SortedMap<LocalDate, RecordCounts> counts) {
    var lines = new StringBuilder();
    counts.forEach(
        (day, n) ->
            lines.append(
                "%d %d %d %d%n"
                    .formatted(day.toEpochDay(), n.accepted(), n.inFlight(), n.quarantined())));
    return lines.toString().getBytes(UTF_8);
  }

  private static void addCounts(byte[] lines, Map<LocalDate, RecordCounts> days) {
    new String(lines, UTF_8)
        .lines()
        .map(line -> line.split(" "))
        .forEach(
            n ->
                days.merge(
                    LocalDate.ofEpochDay(Long.parseLong(n[0])),
                    new RecordCounts(
                        Long.parseLong(n[1]), Long.parseLong(n[2]), Long.parseLong(n[3])),
                    RecordCounts::plus));
  }
}
