package dev.sluice.clickhouse;

import dev.sluice.core.port.Dictionary;
import dev.sluice.core.port.TemplateReader;
import dev.sluice.testkit.TemplateReaderContract;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

class ClickHouseTemplateReaderTest extends TemplateReaderContract {
  private final ClickHouseLogStore store = new ClickHouseLogStore(Database.settings());
  private final ClickHouseDictionary dictionary = new ClickHouseDictionary(store);
  private final ClickHouseTemplateReader templates = new ClickHouseTemplateReader(store);

  @BeforeEach
  void empty() {
    Database.empty();
  }

  @AfterEach
  void close() {
    store.close();
  }

  @Override
  protected TemplateReader templates() {
    return templates;
  }

  @Override
  protected Dictionary dictionary() {
    return dictionary;
  }
}
