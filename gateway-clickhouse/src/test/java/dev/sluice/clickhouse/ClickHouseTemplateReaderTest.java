package dev.sluice.clickhouse;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.dictionary.TextId;
import dev.sluice.core.port.Dictionary;
import dev.sluice.core.port.TemplateReader;
import dev.sluice.core.port.TemplateReader.Minutes;
import dev.sluice.core.port.TemplateReader.Place;
import dev.sluice.core.port.TemplateReader.Question;
import dev.sluice.core.port.TemplateReader.Recent;
import dev.sluice.core.query.LogFilter;
import dev.sluice.testkit.TemplateReaderContract;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

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

  /** The schema and the question both say how much of a message is shown. */
  @Test
  void latest_longMessage_isAsMuchOfItAsIsShownOfTheOthers() throws Exception {
    var id = TextId.of("a");
    insert(id, 7, "ä".repeat(5_000));

    var latest = templates.latest(asked(id));
    var newest =
        templates.newest(
            LogFilter.of("acme").build(), List.of(new Place(id, null, Minutes.ALL)), 1);

    assertThat(latest).isEqualTo(newest);
    assertThat(latest.getFirst().body()).isEqualTo("ä".repeat(4_000));
  }

  /** As one was that an earlier release made: what it has is looked for elsewhere. */
  @Test
  void latest_logOfBeforeTheTableWasThere_isNotAtHand() throws Exception {
    var id = TextId.of("a");
    insert(id, 7, "");
    Database.execute("DROP VIEW log_template_newest_view SYNC");
    Database.execute("DROP TABLE log_template_newest SYNC");
    try (var another = new ClickHouseLogStore(Database.settings())) {
      another.migrate();
    }

    assertThat(templates.latest(asked(id))).isEmpty();
    insert(id, 3, "");
    assertThat(templates.latest(asked(id))).extracting(Recent::timeNanos).containsExactly(3L);
  }

  @Test
  void latest_deletedByTheDocumentedSql_isGoneAndTheOthersAreNot() throws Exception {
    var mailed = TextId.of("a");
    var other = TextId.of("b");
    insert(mailed, 7, "mail to jane@example.com was refused");
    insert(other, 7, "mail to john@example.com was refused");

    OperationsDoc.statements("## ClickHouse").forEach(Database::execute);

    assertThat(templates.latest(asked(mailed))).isEmpty();
    assertThat(templates.latest(asked(other))).hasSize(1);
    assertThat(Database.ask("SELECT Body FROM otel_logs"))
        .isEqualTo("mail to john@example.com was refused");
  }

  private static void insert(UUID id, long nanos, String body) {
    Database.execute(
        """
        INSERT INTO otel_logs (Timestamp, Tenant, ServiceName, SeverityNumber, TemplateId, Body)
        VALUES (fromUnixTimestamp64Nano(%d), 'acme', 'web', 9, '%s', '%s')"""
            .formatted(nanos, id, body));
  }

  private static Question asked(UUID id) {
    return new Question("acme", null, Set.of(), 0, Minutes.ALL, Set.of(id));
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
