package dev.sluice.api.boot;

import dev.sluice.clickhouse.ClickHouseSettings.Indexes;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * The log store on ClickHouse.
 *
 * @param url HTTP address of your ClickHouse, 26.2 or later; when unset the gateway starts one of
 *     its own
 * @param user who writes and reads
 * @param password of the user
 * @param database where {@code otel_logs} is
 * @param indexes {@code body} for the text index on the body and what point lookups need, {@code
 *     collector} for all that the OpenTelemetry Collector's table has
 * @param insertTimeout how long an insert may take before its outcome counts as unknown
 * @param queryTimeout how long a query for logs may take
 * @param maxConcurrentQueries queries for logs and searches under way at once, from all protocols
 *     together; others are told to come again. A search asks up to two things at the same time
 * @param maxInsert size of the columns of one insert; a larger batch becomes several. It takes
 *     ClickHouse's memory; the gateway never has more than some megabytes of them
 */
@ConfigurationProperties("sluice.clickhouse")
record ClickHouseProperties(
    @Nullable String url,
    @DefaultValue("sluice") String user,
    @DefaultValue("sluice") String password,
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

  /** Without the password. */
  @Override
  public String toString() {
    return "ClickHouseProperties[url=%s, user=%s, database=%s]".formatted(url, user, database);
  }
}
