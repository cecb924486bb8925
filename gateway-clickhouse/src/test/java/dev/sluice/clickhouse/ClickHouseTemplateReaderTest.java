package dev.sluice.clickhouse;

import dev.sluice.core.port.Dictionary;
import dev.sluice.core.port.TemplateReader;
import dev.sluice.testkit.TemplateReaderContract;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

class ClickHouseTemplateReaderTest extends TemplateReaderContract {
  private final ClickHouseLogStore store = new ClickHouseLogStore(Database.settings());
  private final ClickHouseDictionary dictionary = new ClickHouseDictionary(store);
  private final ClickHouseTemplateReader templates = new ClickHouseTemplateReader(store);

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
  protected TemplateReader templates() {
    return templates;
  }

  @Override
  protected Dictionary dictionary() {
    return dictionary;
  }

  @Override
  protected void store(List<Log> logs) {
    Database.execute(
        logs.stream()
            .map(
                log ->
                    "(fromUnixTimestamp64Nano(%d), '%s', '%s', %d, '%s')"
                        .formatted(
                            log.nanos(),
                            log.tenant(),
                            log.service().replace("\\", "\\\\").replace("'", "\\'"),
                            log.severity(),
                            log.template()))
            .collect(
                Collectors.joining(
                    ", ",
                    """
                    INSERT INTO otel_logs (Timestamp, Tenant, ServiceName, SeverityNumber, TemplateId)
                    VALUES\s""",
                    "")));
  }
}
