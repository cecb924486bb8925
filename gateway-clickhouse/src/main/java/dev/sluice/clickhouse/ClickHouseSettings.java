package dev.sluice.clickhouse;

import static java.util.Objects.requireNonNull;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The connection to ClickHouse and the options of its tables.
 *
 * @param url the URL of the HTTP interface, for example {@code http://127.0.0.1:8123}
 * @param user a user that may create and alter tables and views in the database
 * @param password the password of the user; never in a log and not in {@link #toString}
 * @param database the database of the tables, which must exist
 * @param insertTimeout maximum duration of one insert, in the gateway and in ClickHouse
 * @param queryTimeout maximum duration of one query for logs, in the gateway and in ClickHouse
 * @param maxInsertBytes maximum size of the columns of one insert in bytes; more data goes into
 *     several inserts
 * @param indexes the indexes of a new table
 * @param retention the time for which logs are kept, from their receipt; null for no limit
 * @param deadLetterRetention the time for which dead letters are kept, from their last change; null
 *     for no limit
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
    @Nullable Duration retention,
    @Nullable Duration deadLetterRetention) {

  /** The set of indexes, which determines the cost of an insert, of lookups and of text search. */
  public enum Indexes {
    /** Indexes on the terms of the body, trace ids and log ids. */
    BODY,
    /** All indexes of the table of the OpenTelemetry Collector, at about three times the cost. */
    COLLECTOR
  }

  private static final int MIB = 1 << 20;

  /**
   * Validates the settings.
   *
   * @throws IllegalArgumentException when a setting is invalid; the message has its name
   */
  public ClickHouseSettings {
    requireNonNull(url, "url");
    requireNonNull(user, "user");
    requireNonNull(password, "password");
    requireNonNull(database, "database");
    requireNonNull(indexes, "indexes");
    if (insertTimeout.toSeconds() < 1) {
      throw new IllegalArgumentException(
          "insert-timeout is " + insertTimeout + ", must be at least 1s");
    }
    if (queryTimeout.toSeconds() < 1) {
      throw new IllegalArgumentException(
          "query-timeout is " + queryTimeout + ", must be at least 1s");
    }
    if (maxInsertBytes < MIB) {
      throw new IllegalArgumentException(
          "max-insert is " + maxInsertBytes + ", must be at least 1MB");
    }
    requireSecond("retention", retention);
    requireSecond("dead-letter-retention", deadLetterRetention);
  }

  private static void requireSecond(String name, @Nullable Duration value) {
    if (value != null && value.toSeconds() < 1) {
      throw new IllegalArgumentException(name + " is " + value + ", must be at least 1s or unset");
    }
  }

  @Override
  public String toString() {
    return ("ClickHouseSettings[url=%s, user=%s, database=%s, indexes=%s, retention=%s,"
            + " deadLetterRetention=%s]")
        .formatted(url, user, database, indexes, retention, deadLetterRetention);
  }
}
