package dev.sluice.api.config;

import dev.sluice.clickhouse.ClickHouseSettings.Indexes;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * The log store on ClickHouse.
 *
 * @param url URL of the HTTP interface of ClickHouse 26.2 or later, such as {@code
 *     http://host:8123}; unset means that the gateway starts ClickHouse itself
 * @param user ClickHouse user of all reads and writes; it must have the privileges to create and
 *     alter tables
 * @param password password of that user; unset means none, or for the managed ClickHouse a
 *     generated one, which {@code bin/sluice engines password gateway} prints
 * @param database existing database of the table {@code otel_logs}
 * @param indexes indexes of a new table: {@code body} for the text index of the body and the
 *     indexes of point lookups, {@code collector} for all indexes of the OpenTelemetry Collector's
 *     table
 * @param insertTimeout time that an insert may take, at least 1s; then its outcome is unknown and
 *     it is verified before the retry
 * @param queryTimeout time that a query for logs may take, at least 1s; then the gateway cancels it
 *     and the client gets an error
 * @param maxConcurrentQueries queries and searches that run at a time, from all protocols; above it
 *     a request waits a second and then gets an error with Retry-After; a search runs up to two
 *     queries at a time
 * @param maxInsert size of the columns of one insert, 1MB to 2GB; a larger batch becomes several
 *     inserts; it takes memory in ClickHouse, not in the gateway
 */
@ConfigurationProperties("sluice.clickhouse")
record ClickHouseProperties(
    @Nullable String url,
    @DefaultValue("sluice") String user,
    @Nullable String password,
    @DefaultValue("default") String database,
    @DefaultValue("body") Indexes indexes,
    @DefaultValue("60s") Duration insertTimeout,
    @DefaultValue("30s") Duration queryTimeout,
    @DefaultValue("8") int maxConcurrentQueries,
    @DefaultValue("256MB") DataSize maxInsert) {

  ClickHouseProperties {
    PropertyChecks.requirePositive("sluice.clickhouse.insert-timeout", insertTimeout);
    PropertyChecks.requirePositive("sluice.clickhouse.query-timeout", queryTimeout);
    PropertyChecks.requirePositive(
        "sluice.clickhouse.max-concurrent-queries", maxConcurrentQueries);
    PropertyChecks.requirePositive("sluice.clickhouse.max-insert", maxInsert);
  }

  /** Returns a text without the password. */
  @Override
  public String toString() {
    return "ClickHouseProperties[url=%s, user=%s, database=%s]".formatted(url, user, database);
  }
}
