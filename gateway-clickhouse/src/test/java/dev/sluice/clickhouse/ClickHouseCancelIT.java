package dev.sluice.clickhouse;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.filter.TextQuery;
import dev.sluice.query.port.LogReader.QueryTooExpensiveException;
import java.io.InputStream;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests the cancellation of queries in ClickHouse. */
@Timeout(120)
final class ClickHouseCancelIT {
  private static final String ENDLESS = "SELECT sum(sipHash64(number)) FROM numbers(1e15)";
  private static final Duration ONE_HOUR = Duration.ofHours(1);

  private static boolean isRunning() {
    return !TestDatabase.query(
            "SELECT count() FROM system.processes WHERE query LIKE '%sipHash64(number)%'"
                + " AND query NOT LIKE '%system.processes%'")
        .equals("0");
  }

  @Test
  void query_threadInterrupted_endsInClickHouseToo() throws Exception {
    var failure = new AtomicReference<Throwable>();
    try (var http = new ClickHouseClient(TestDatabase.settings())) {
      var thread =
          Thread.ofVirtual()
              .start(
                  () -> {
                    try {
                      http.query(ENDLESS, Map.of(), Map.of(), ONE_HOUR, InputStream::readAllBytes);
                    } catch (ClickHouseException e) {
                      failure.set(e);
                    }
                  });
      await().atMost(Duration.ofSeconds(30)).until(ClickHouseCancelIT::isRunning);

      thread.interrupt();
      thread.join();
    }
    await().atMost(Duration.ofSeconds(30)).until(() -> !isRunning());
    assertThat(failure.get()).isNotNull();
  }

  @Test
  void query_longerThanItsTimeout_isTooExpensive() throws Exception {
    TestDatabase.dropAllTables();
    var defaults = TestDatabase.settings();
    var settings =
        new ClickHouseSettings(
            defaults.url(),
            defaults.user(),
            defaults.password(),
            defaults.database(),
            defaults.insertTimeout(),
            Duration.ofSeconds(1),
            defaults.maxInsertBytes(),
            defaults.indexes(),
            defaults.retention(),
            null);
    try (var database = new ClickHouseDatabase(settings)) {
      database.migrate();
      TestDatabase.execute(
          "INSERT INTO otel_logs (Timestamp, Body)"
              + " SELECT now64(9), repeat('a b ', 20000) FROM numbers(20000)");
      var filter = LogFilter.of("default").text(TextQuery.parse("NOT \"b b a\" NOT \"c d\""));

      assertThatThrownBy(() -> new ClickHouseLogReader(database).timeExtent(filter.build()))
          .isInstanceOf(QueryTooExpensiveException.class)
          .hasMessageContaining("more time");
    }
  }
}
