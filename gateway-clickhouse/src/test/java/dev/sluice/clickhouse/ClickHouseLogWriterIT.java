package dev.sluice.clickhouse;

import dev.sluice.core.port.LogStore;
import dev.sluice.query.port.LogReader;
import dev.sluice.testkit.LogStoreContract;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

class ClickHouseLogWriterIT extends LogStoreContract {
  private final ClickHouseSettings settings = settings();
  private final ClickHouseDatabase database = new ClickHouseDatabase(settings);
  private final ClickHouseLogWriter store = new ClickHouseLogWriter(database);

  ClickHouseSettings settings() {
    return TestDatabase.settings();
  }

  @BeforeEach
  void empty() throws InterruptedException {
    try (var http = new ClickHouseClient(settings)) {
      TestDatabase.dropAllTables(http);
    }
    database.migrate();
  }

  @AfterEach
  void close() {
    database.close();
  }

  @Override
  protected LogStore store() {
    return store;
  }

  @Override
  protected LogReader reader() {
    return new ClickHouseLogReader(database);
  }
}
