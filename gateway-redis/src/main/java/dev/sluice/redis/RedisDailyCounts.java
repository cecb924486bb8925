package dev.sluice.redis;

import static dev.sluice.redis.Script.number;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.port.DailyCounts;
import java.time.InstantSource;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.ObjLongConsumer;

/**
 * The daily counts of all shards: accepted records from the ledger of a shard, records in flight
 * from the entries of its stream. Safe for use by many threads.
 */
final class RedisDailyCounts implements DailyCounts {
  private static final byte[] STREAM_START = {'-'};

  private final RedisSpool.RedisSpoolSettings settings;
  private final List<ShardKeys> shards;
  private final RedisConnection connection;
  private final InstantSource clock;

  RedisDailyCounts(
      RedisSpool.RedisSpoolSettings settings,
      List<ShardKeys> shards,
      RedisConnection connection,
      InstantSource clock) {
    this.settings = settings;
    this.shards = shards;
    this.connection = connection;
    this.clock = clock;
  }

  @Override
  public SortedMap<LocalDate, RecordCounts> recordCounts(LocalDate from) {
    var days = new TreeMap<LocalDate, RecordCounts>();
    for (var shard : shards) {
      Map<byte[], byte[]> ledger =
          connection.callUninterruptibly(
              settings.commandTimeout(),
              redis -> redis.async().hgetall(shard.ledger()).toCompletableFuture());
      ledger.forEach((field, count) -> addLedgerField(field, count, days));
      countByDay(
          shard.stream(),
          0,
          (day, n) -> days.merge(day, new RecordCounts(0, n, 0), RecordCounts::plus));
      countByDay(
          shard.dead(),
          1,
          (day, n) -> days.merge(day, new RecordCounts(0, n, 0), RecordCounts::plus));
    }
    return new TreeMap<>(days.tailMap(from));
  }

  /**
   * {@inheritDoc}
   *
   * <p>Older releases count in the field {@code accepted}, without a day. When that field exists,
   * the first day with its own count is the day of the upgrade and incomplete.
   */
  @Override
  public LocalDate countsCompleteSince() {
    boolean hasCountWithoutDay = false;
    var first = clock.instant().atOffset(ZoneOffset.UTC).toLocalDate();
    for (var shard : shards) {
      List<byte[]> fields =
          connection.callUninterruptibly(
              settings.commandTimeout(),
              redis -> redis.async().hkeys(shard.ledger()).toCompletableFuture());
      for (var field : fields) {
        var name = new String(field, UTF_8);
        if (name.equals("accepted")) {
          hasCountWithoutDay = true;
        } else if (name.startsWith("accepted:")) {
          var day = dayOf(name);
          first = day.isBefore(first) ? day : first;
        }
      }
    }
    return hasCountWithoutDay ? first.plusDays(1) : first;
  }

  private static LocalDate dayOf(String field) {
    return LocalDate.ofEpochDay(Long.parseLong(field.substring(field.indexOf(':') + 1)));
  }

  private static void addLedgerField(
      byte[] field, byte[] count, Map<LocalDate, RecordCounts> days) {
    var name = new String(field, UTF_8);
    int colon = name.indexOf(':');
    if (colon < 0) {
      return; // a count over all days
    }
    var day = dayOf(name);
    long n = Long.parseLong(new String(count, UTF_8));
    switch (name.substring(0, colon)) {
      case "accepted" -> days.merge(day, new RecordCounts(n, 0, 0), RecordCounts::plus);
      // purged in an earlier release, whose purged records are nowhere else
      case "purged" -> days.merge(day, new RecordCounts(-n, 0, 0), RecordCounts::plus);
      default -> {} // a field of a later release
    }
  }

  /**
   * Counts the records of a stream by receive day.
   *
   * @param defaultRecords the number of records of an entry without the field {@code n}
   */
  private void countByDay(byte[] stream, int defaultRecords, ObjLongConsumer<LocalDate> consumer) {
    byte[] from = STREAM_START;
    while (true) {
      byte[] begin = from;
      List<Object> page =
          connection.callUninterruptibly(
              settings.commandTimeout(),
              redis ->
                  Script.COUNT_BY_DAY.run(
                      redis, new byte[][] {stream}, begin, number(defaultRecords)));
      for (int i = 1; i < page.size(); i += 2) {
        consumer.accept(LocalDate.ofEpochDay((Long) page.get(i)), (Long) page.get(i + 1));
      }
      byte[] last = (byte[]) page.getFirst();
      if (last.length == 0) {
        return;
      }
      from = ("(" + new String(last, UTF_8)).getBytes(UTF_8);
    }
  }
}
