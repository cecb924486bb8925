package dev.sluice.clickhouse;

import static java.util.Objects.requireNonNull;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How to reach ClickHouse and what its tables are like.
 *
 * @param url of the HTTP interface, for example {@code http://127.0.0.1:8123}
 * @param user who may create and alter tables and views in the database
 * @param password of that user; in no log and not in {@link #toString}
 * @param database where the tables are; it must exist
 * @param insertTimeout how long one insert may take, here and in ClickHouse
 * @param queryTimeout how long one query for logs may take, here and in ClickHouse
 * @param maxInsertBytes size of the columns of one insert; more become several inserts
 * @param indexes which indexes a new table gets
 * @param retention how long logs stay, counted from their receipt; null for ever
 */
public record ClickHouseSettings(
    String url,
    String user,
    String password,
    String database,
    Duration insertTimeout,
    Duration queryTimeout,
    int maxInsertBytes,
    Indexes indexes,
    @Nullable Duration retention) {

  /** What point lookups and text search cost at each insert. */
  public enum Indexes {
    /** Words of the body, trace ids, identities. */
    BODY,
    /** All that the OpenTelemetry Collector's own table has; some three times the cost. */
    COLLECTOR
  }

  private static final int MIB = 1 << 20;

  /**
   * Checks the parts.
   *
   * @throws IllegalArgumentException naming the part that is wrong
   */
  public ClickHouseSettings {
    requireNonNull(url, "url");
    requireNonNull(user, "user");
    requireNonNull(password, "password");
    requireNonNull(database, "database");
    requireNonNull(indexes, "indexes");
    if (insertTimeout.toSeconds() < 1) {
      throw new IllegalArgumentException("insert-timeout is " + insertTimeout + ", at least 1s");
    }
    if (queryTimeout.toSeconds() < 1) {
      throw new IllegalArgumentException("query-timeout is " + queryTimeout + ", at least 1s");
    }
    if (maxInsertBytes < MIB) {
      throw new IllegalArgumentException("max-insert-bytes is " + maxInsertBytes + ", at least 1M");
    }
    if (retention != null && retention.toSeconds() < 1) {
      throw new IllegalArgumentException("retention is " + retention + ", at least 1s, or unset");
    }
  }

  /** Everything else as it is when nothing is configured. */
  public static ClickHouseSettings of(String url, String user, String password) {
    return new ClickHouseSettings(
        url,
        user,
        password,
        "default",
        Duration.ofSeconds(60),
        Duration.ofSeconds(30),
        256 * MIB,
        Indexes.BODY,
        null);
  }

  /** The same with other indexes. */
  public ClickHouseSettings withIndexes(Indexes indexes) {
    return new ClickHouseSettings(
        url,
        user,
        password,
        database,
        insertTimeout,
        queryTimeout,
        maxInsertBytes,
        indexes,
        retention);
  }

  /** The same with another retention. */
  public ClickHouseSettings withRetention(@Nullable Duration retention) {
    return new ClickHouseSettings(
        url,
        user,
        password,
        database,
        insertTimeout,
        queryTimeout,
        maxInsertBytes,
        indexes,
        retention);
  }

  @Override
  public String toString() {
    return "ClickHouseSettings[url=%s, user=%s, database=%s, indexes=%s, retention=%s]"
        .formatted(url, user, database, indexes, retention);
  }
}
