package dev.sluice.clickhouse;

import dev.sluice.core.port.LogReader;
import dev.sluice.core.port.LogStore;
import dev.sluice.testkit.Containers;
import dev.sluice.testkit.LogStoreContract;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;

/** The contract on a ClickHouse server as its makers ship it. */
@Tag("container")
final class ClickHouseLogStoreContainerTest extends LogStoreContract {
  private final ClickHouseSettings settings =
      ClickHouseSettings.of(Containers.clickHouseUrl(), "sluice", "sluice");
  private final ClickHouseLogStore store = new ClickHouseLogStore(settings);

  @BeforeEach
  void empty() throws InterruptedException {
    try (var http = new ClickHouseHttp(settings)) {
      http.execute("DROP TABLE IF EXISTS otel_logs SYNC");
      http.execute("DROP TABLE IF EXISTS sluice_migrations SYNC");
    }
    store.migrate();
  }

  @AfterEach
  void close() {
    store.close();
  }

  @Override
  protected LogStore store() {
    return store;
  }

  @Override
  protected LogReader reader() {
    return store;
  }
}
