package dev.sluice.clickhouse;

import dev.sluice.core.port.Dictionary;
import dev.sluice.core.port.LogReader;
import dev.sluice.core.port.LogStore;
import dev.sluice.testkit.SharedTextsContract;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

class ClickHouseSharedTextsTest extends SharedTextsContract {
  private final ClickHouseLogStore store = new ClickHouseLogStore(Database.settings());
  private final ClickHouseDictionary dictionary = new ClickHouseDictionary(store);

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

  @Override
  protected Dictionary dictionary() {
    return dictionary;
  }
}
