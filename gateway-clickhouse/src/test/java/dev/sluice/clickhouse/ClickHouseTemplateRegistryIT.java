package dev.sluice.clickhouse;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.LogEnricher;
import dev.sluice.core.port.LogStore.DeliverySlice;
import dev.sluice.core.port.LogStore.StoreResult;
import dev.sluice.core.port.LogStore.StoreResult.Retryable;
import dev.sluice.core.port.LogStore.StoreResult.SchemaMismatch;
import dev.sluice.core.port.LogStore.StoreResult.Stored;
import dev.sluice.templates.DictionaryEncoder;
import dev.sluice.templates.MinerSettings;
import dev.sluice.templates.TemplateRegistry;
import dev.sluice.templates.dictionary.SharedDictionaryCache;
import dev.sluice.testkit.DictionaryEncoderContract;
import dev.sluice.testkit.LogBatches;
import dev.sluice.testkit.SharedEngines;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.common.v1.KeyValueList;
import io.opentelemetry.proto.logs.v1.LogRecord;
import io.opentelemetry.proto.logs.v1.ResourceLogs;
import io.opentelemetry.proto.logs.v1.ScopeLogs;
import io.opentelemetry.proto.resource.v1.Resource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests templates of logs in ClickHouse: ids in the rows, texts and links in the dictionary. */
@Timeout(120)
final class ClickHouseTemplateRegistryIT {
  private static final UUID NONE = new UUID(0, 0);

  /** A gateway with its own connections, templates and enricher. */
  private static final class GatewayInstance implements AutoCloseable {
    final ClickHouseDatabase database = new ClickHouseDatabase(TestDatabase.settings());
    final ClickHouseLogWriter store = new ClickHouseLogWriter(database);
    final TemplateRegistry registry;
    final LogEnricher enricher;

    GatewayInstance() {
      var dictionary = new ClickHouseDictionary(database);
      registry = new TemplateRegistry(MinerSettings.defaults(), dictionary);
      var cache =
          new SharedDictionaryCache(SharedDictionaryCache.CacheSettings.DEFAULT, dictionary)
              .newWorkerCache();
      enricher =
          new DictionaryEncoder(
              registry.newResolver(cache), cache, new DictionaryEncoder.EncoderSettings(0, false));
    }

    void deliver(String... bodies) throws InterruptedException {
      deliver(Arrays.asList(bodies));
    }

    void deliver(List<String> bodies) throws InterruptedException {
      assertThat(store(sliceOf(List.of(batch(bodies))))).isEqualTo(new Stored());
    }

    StoreResult store(DeliverySlice slice) throws InterruptedException {
      return DictionaryEncoderContract.enrichAndStore(store, enricher, slice);
    }

    @Override
    public void close() {
      database.close();
    }
  }

  private final List<GatewayInstance> instances = new ArrayList<>();

  @BeforeEach
  void empty() {
    TestDatabase.dropAllTables();
  }

  @AfterEach
  void close() {
    instances.forEach(GatewayInstance::close);
  }

  private GatewayInstance newInstance() {
    var gateway = new GatewayInstance();
    instances.add(gateway);
    return gateway;
  }

  @Test
  void store_logs_haveTheTemplateOfTheirMessage() throws Exception {
    newInstance().deliver("order 17 took 3 ms", "order 18 took 5 ms", "it is up", "");

    assertThat(rows())
        .containsExactlyInAnyOrder(
            "order 17 took 3 ms -> order <*> took <*>",
            "order 18 took 5 ms -> order <*> took <*>",
            "it is up -> it is up",
            " ->");
    assertThat(
            TestDatabase.query(
                "SELECT countIf(toString(TemplateId) != UUIDNumToString(MD5(Text))) FROM log_templates FINAL"))
        .as("an id is the MD5 of its text")
        .isEqualTo("0");
    assertThat(TestDatabase.query("SELECT sum(Logs) FROM log_template_counts")).isEqualTo("4");
  }

  @Test
  void store_bodyThatIsNoString_hasTheTemplateOfItsTextForm() throws Exception {
    var map =
        AnyValue.newBuilder()
            .setKvlistValue(
                KeyValueList.newBuilder()
                    .addValues(
                        KeyValue.newBuilder()
                            .setKey("event")
                            .setValue(AnyValue.newBuilder().setStringValue("started")))
                    .addValues(
                        KeyValue.newBuilder()
                            .setKey("id")
                            .setValue(AnyValue.newBuilder().setIntValue(4711))))
            .build();
    var number = AnyValue.newBuilder().setIntValue(4711).build();
    var gateway = newInstance();

    gateway.store(sliceOf(List.of(LogBatches.of(request("shop", Stream.of(map, number))))));

    assertThat(rows())
        .containsExactlyInAnyOrder(
            "{\"event\":\"started\",\"id\":4711} -> {\"event\":\"started\",\"id\":<*>}",
            "4711 -> <*>");
  }

  @Test
  void store_dictionaryIsNotWritten_storesNothingUntilItIsWritten() throws Exception {
    var gateway = newInstance();
    gateway.deliver("it is up");
    var deliverySlice = sliceOf(List.of(batch(List.of("order 17 took 3 ms"))));
    TestDatabase.execute("RENAME TABLE log_templates TO log_templates_away");
    TestDatabase.execute("CREATE TABLE log_templates (Text UInt8) ENGINE = Memory");
    try {
      assertThat(gateway.store(deliverySlice)).isInstanceOf(SchemaMismatch.class);
      assertThat(gateway.store.storedRecords()).isEqualTo(1);
    } finally {
      TestDatabase.execute("DROP TABLE log_templates SYNC");
      TestDatabase.execute("RENAME TABLE log_templates_away TO log_templates");
    }

    var redelivered = new DeliverySlice(deliverySlice.token(), deliverySlice.batches(), 0, 1, true);
    assertThat(gateway.store(redelivered)).isEqualTo(new Stored());

    assertThat(rows())
        .containsExactlyInAnyOrder(
            "it is up -> it is up", "order 17 took 3 ms -> order <*> took <*>");
  }

  @Test
  void store_engineKilledBeforeInserts_everyIdCanBeResolved() throws Exception {
    var gateway = newInstance();
    gateway.deliver("it is up");
    for (int i = 0; i < 3; i++) {
      var batch = batch(List.of("phase " + words(i) + " begins", "login of user " + words(i)));
      SharedEngines.clickHouse().kill();
      assertThat(gateway.store(sliceOf(List.of(batch)))).isInstanceOf(Retryable.class);
      SharedEngines.clickHouse().restart();
      var redelivered = new DeliverySlice(batch.appendId().toString(), List.of(batch), 0, 2, true);
      while (!gateway.store(redelivered).equals(new Stored())) {
        Thread.onSpinWait(); // a delivery worker would pause here
      }
    }

    assertThat(gateway.store.storedRecords()).isEqualTo(7);
    assertThat(unresolvedTemplates()).isEqualTo("0");
  }

  /**
   * With any order of records, two alternating gateways and restarts, the rows of one statement
   * have one canonical template.
   */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void store_twoGatewaysAndRestarts_convergeToTheSamePartition(long seed) throws Exception {
    var bodies = bodies();
    newInstance().deliver(bodies);
    var expected = partition();
    TestDatabase.dropAllTables();
    var random = new Random(seed);
    var shuffled = new ArrayList<>(bodies);
    Collections.shuffle(shuffled, random);
    var two = new GatewayInstance[] {newInstance(), newInstance()};

    for (int from = 0; from < shuffled.size(); ) {
      int to = Math.min(shuffled.size(), from + 1 + random.nextInt(20));
      int index = random.nextInt(2);
      two[index].deliver(shuffled.subList(from, to));
      from = to;
      switch (random.nextInt(4)) {
        case 0 -> two[index] = newInstance();
        case 1 -> two[index].registry.sync();
        default -> {} // no restart and no sync
      }
    }
    for (int round = 0; round < 3; round++) {
      for (var gateway : two) {
        gateway.deliver("it is up");
        gateway.registry.sync();
      }
    }

    assertThat(partition()).isEqualTo(expected);
    assertThat(unresolvedTemplates()).isEqualTo("0");
  }

  /** Bodies of a few statements, whose variable words only show in several bodies. */
  private static List<String> bodies() {
    return IntStream.range(0, 20)
        .boxed()
        .flatMap(
            i ->
                Stream.of(
                    "it is up",
                    "login of user " + words(i),
                    "login of user " + words(i) + " refused by host " + words(i / 3),
                    "state=" + words(i % 6) + " after " + i + " ms",
                    "queue " + words(i % 2) + " has a backlog"))
        .toList();
  }

  private static String words(int i) {
    return "w" + (char) ('a' + i % 26);
  }

  private static LogBatch batch(List<String> bodies) {
    return LogBatches.of(
        request("shop", bodies.stream().map(b -> AnyValue.newBuilder().setStringValue(b).build())));
  }

  private static byte[] request(String service, Stream<AnyValue> bodies) {
    var scope = ScopeLogs.newBuilder();
    bodies.forEach(body -> scope.addLogRecords(LogRecord.newBuilder().setBody(body)));
    return ExportLogsServiceRequest.newBuilder()
        .addResourceLogs(
            ResourceLogs.newBuilder()
                .setResource(
                    Resource.newBuilder()
                        .addAttributes(
                            KeyValue.newBuilder()
                                .setKey("service.name")
                                .setValue(AnyValue.newBuilder().setStringValue(service))))
                .addScopeLogs(scope))
        .build()
        .toByteArray();
  }

  private static DeliverySlice sliceOf(List<LogBatch> batches) {
    int records = batches.stream().mapToInt(LogBatch::records).sum();
    return new DeliverySlice(batches.getFirst().appendId().toString(), batches, 0, records, false);
  }

  /** Returns each log body with the text of its template. */
  private static List<String> rows() {
    return TestDatabase.query(
            """
            SELECT concat(Body, ' -> ', t.Text) FROM otel_logs AS l
            INNER JOIN (SELECT TemplateId, any(Text) AS Text FROM log_templates GROUP BY TemplateId) AS t
              ON t.TemplateId = l.TemplateId""")
        .lines()
        .toList();
  }

  /**
   * Returns the number of rows whose template is not in the dictionary or has a link to a missing
   * template.
   */
  private static String unresolvedTemplates() {
    return TestDatabase.query(
        """
        SELECT count() FROM otel_logs
        WHERE TemplateId NOT IN (SELECT TemplateId FROM log_templates)
          OR TemplateId IN (
            SELECT TemplateId FROM log_templates
            WHERE notEmpty(MergedInto)
              AND MergedInto NOT IN (SELECT TemplateId FROM log_templates))""");
  }

  /** Returns a line for each canonical template, with its distinct messages sorted. */
  private static String partition() {
    var links =
        TestDatabase.query(
            "SELECT TemplateId, max(MergedInto) FROM log_templates GROUP BY TemplateId");
    var into = new HashMap<UUID, UUID>();
    links
        .lines()
        .map(line -> line.split("\t", -1))
        .forEach(ids -> into.put(UUID.fromString(ids[0]), UUID.fromString(ids[1])));
    var groups = new TreeMap<UUID, TreeSet<String>>();
    TestDatabase.query("SELECT DISTINCT TemplateId, Body FROM otel_logs")
        .lines()
        .map(line -> line.split("\t", -1))
        .forEach(
            row -> {
              var id = UUID.fromString(row[0]);
              while (!into.getOrDefault(id, NONE).equals(NONE)) {
                id = into.get(id);
              }
              groups.computeIfAbsent(id, _ -> new TreeSet<>()).add(row[1]);
            });
    return groups.values().stream()
        .map(group -> String.join(", ", group))
        .sorted()
        .reduce((before, line) -> before + "\n" + line)
        .orElseThrow();
  }
}
