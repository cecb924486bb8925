package dev.sluice.clickhouse;

import dev.sluice.core.port.LogReader;
import dev.sluice.core.port.LogStore;
import dev.sluice.testkit.LogStoreContract;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

final class ClickHouseLogStoreTest extends LogStoreContract {
  private final ClickHouseLogStore store = new ClickHouseLogStore(Database.settings());

  @BeforeEach
  void empty() throws InterruptedException {
    Database.empty();
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
