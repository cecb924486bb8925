package dev.sluice.clickhouse;

import dev.sluice.core.port.LogStore;
import dev.sluice.query.port.LogReader;
import dev.sluice.testkit.LogStoreContract;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

class ClickHouseLogStoreTest extends LogStoreContract {
  private final ClickHouseSettings settings = settings();
  private final ClickHouseLogStore store = new ClickHouseLogStore(settings);

  ClickHouseSettings settings() {
    return TestDatabase.settings();
  }

  @BeforeEach
  void empty() throws InterruptedException {
    try (var http = new ClickHouseClient(settings)) {
      TestDatabase.dropAllTables(http);
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
