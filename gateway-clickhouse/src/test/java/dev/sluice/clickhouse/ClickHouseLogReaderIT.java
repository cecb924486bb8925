package dev.sluice.clickhouse;

import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.LogStore;
import dev.sluice.query.port.LogReader;
import dev.sluice.testkit.LogReaderContract;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

class ClickHouseLogReaderIT extends LogReaderContract {
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

  @Override
  protected void assignTemplate(LogId log, UUID template) {
    try (var http = new ClickHouseClient(settings)) {
      http.execute(
          """
          ALTER TABLE otel_logs UPDATE TemplateId = '%s' WHERE Id = unhex('%s')
          SETTINGS mutations_sync = 2"""
              .formatted(template, log.toHex()));
    }
  }
}
