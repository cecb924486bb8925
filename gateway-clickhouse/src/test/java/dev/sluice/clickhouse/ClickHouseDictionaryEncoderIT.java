package dev.sluice.clickhouse;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.LogStore;
import dev.sluice.query.port.LogReader;
import dev.sluice.templates.DictionaryEncoder;
import dev.sluice.templates.dictionary.Dictionary;
import dev.sluice.templates.dictionary.SharedDictionaryCache;
import dev.sluice.testkit.DictionaryEncoderContract;
import dev.sluice.testkit.LogBatches;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.logs.v1.LogRecord;
import io.opentelemetry.proto.logs.v1.ResourceLogs;
import io.opentelemetry.proto.logs.v1.ScopeLogs;
import io.opentelemetry.proto.resource.v1.Resource;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ClickHouseDictionaryEncoderIT extends DictionaryEncoderContract {
  private final ClickHouseDatabase database = new ClickHouseDatabase(TestDatabase.settings());
  private final ClickHouseLogWriter store = new ClickHouseLogWriter(database);
  private final ClickHouseDictionary dictionary = new ClickHouseDictionary(database);

  @BeforeEach
  void empty() throws InterruptedException {
    TestDatabase.dropAllTables();
    database.migrate();
  }

  @AfterEach
  void close() {
    database.close();
  }

  /** The SQL of docs/operations.md, for users who read the tables directly. */
  @Test
  void read_byTheDocumentedSql_returnsTheSentTexts() throws Exception {
    var sql = OperationsDoc.statements("### Long texts and resources").getFirst();
    var trace = "at com.example.Pool.take(Pool.java:42);".repeat(100);
    var encoder =
        new DictionaryEncoder(
            null,
            new SharedDictionaryCache(new SharedDictionaryCache.CacheSettings(64, 64), dictionary)
                .newWorkerCache(),
            new DictionaryEncoder.EncoderSettings(1024, true));
    var batch = failures(trace, trace, "short", trace);

    assertThat(
            enrichAndStore(
                store,
                encoder,
                new LogStore.DeliverySlice("t", List.of(batch), 0, batch.records(), false)))
        .isEqualTo(new LogStore.StoreResult.Stored());
    // Two rows per text, as before parts are merged.
    TestDatabase.execute("SYSTEM STOP MERGES log_texts");
    TestDatabase.execute("INSERT INTO log_texts SELECT * FROM log_texts");

    assertThat(
            TestDatabase.query(
                "SELECT countIf(length(arrayJoin(mapValues(LogAttributes))) < 512) FROM otel_logs"))
        .isEqualTo("3");
    assertThat(TestDatabase.query(sql).lines().map(line -> line.split("\t", -1)[2]))
        .containsExactly(trace, trace, "short", trace);
    TestDatabase.execute("SYSTEM START MERGES log_texts");
  }

  /** Returns logs of the service that the documented query selects, newest first. */
  private static LogBatch failures(String... traces) {
    var logs = ScopeLogs.newBuilder();
    for (int i = 0; i < traces.length; i++) {
      logs.addLogRecords(
          LogRecord.newBuilder()
              .setTimeUnixNano(1_768_464_000_000_000_000L - i)
              .addAttributes(attribute("exception.stacktrace", traces[i])));
    }
    return LogBatches.of(
        ExportLogsServiceRequest.newBuilder()
            .addResourceLogs(
                ResourceLogs.newBuilder()
                    .setResource(
                        Resource.newBuilder().addAttributes(attribute("service.name", "checkout")))
                    .addScopeLogs(logs))
            .build()
            .toByteArray());
  }

  private static KeyValue attribute(String key, String value) {
    return KeyValue.newBuilder()
        .setKey(key)
        .setValue(AnyValue.newBuilder().setStringValue(value))
        .build();
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
  protected Dictionary dictionary() {
    return dictionary;
  }
}
