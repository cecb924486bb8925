package dev.sluice.clickhouse;

import dev.sluice.core.port.LogReader;
import dev.sluice.core.port.LogStore;
import dev.sluice.testkit.LogReaderContract;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

class ClickHouseLogReaderTest extends LogReaderContract {
  private final ClickHouseSettings settings = settings();
  private final ClickHouseLogStore store = new ClickHouseLogStore(settings);

  ClickHouseSettings settings() {
    return Database.settings();
  }

  @BeforeEach
  void empty() throws InterruptedException {
    try (var http = new ClickHouseHttp(settings)) {
      Database.empty(http);
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
