package dev.sluice.clickhouse;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.dictionary.SharedDictionaryCache;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.LogEnricher;
import dev.sluice.core.port.LogStore.DeliverySlice;
import dev.sluice.core.port.LogStore.StoreResult.Retryable;
import dev.sluice.core.port.LogStore.StoreResult.SchemaMismatch;
import dev.sluice.core.port.LogStore.StoreResult.Stored;
import dev.sluice.core.templates.MinerSettings;
import dev.sluice.core.templates.TemplateRegistry;
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

/** Templates of logs as ClickHouse has them: ids in the rows, texts and links in the dictionary. */
@Timeout(120)
final class ClickHouseTemplateRegistryTest {
  private static final UUID NONE = new UUID(0, 0);

  /** One gateway: connections, templates and worker of its own. */
  private static final class GatewayInstance implements AutoCloseable {
    final ClickHouseLogStore store = new ClickHouseLogStore(TestDatabase.settings());
    final TemplateRegistry registry;
    final LogEnricher enricher;

    GatewayInstance() {
      var dictionary = new ClickHouseDictionary(store);
      registry = new TemplateRegistry(MinerSettings.defaults(), dictionary);
      enricher =
          registry.newResolver(
              new SharedDictionaryCache(SharedDictionaryCache.CacheSettings.DEFAULT, dictionary)
                  .newWorkerCache());
    }

    void deliver(String... bodies) throws InterruptedException {
      deliver(Arrays.asList(bodies));
    }

    void deliver(List<String> bodies) throws InterruptedException {
      assertThat(store.store(portion(List.of(batch(bodies))), enricher)).isEqualTo(new Stored());
    }

    @Override
    public void close() {
      store.close();
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
  void store_bodyThatIsNoText_hasTheTemplateOfItsTextForm() throws Exception {
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

    gateway.store.store(
        portion(List.of(LogBatches.of(request("shop", Stream.of(map, number))))), gateway.enricher);

    assertThat(rows())
        .containsExactlyInAnyOrder(
            "{\"event\":\"started\",\"id\":4711} -> {\"event\":\"started\",\"id\":<*>}",
            "4711 -> <*>");
  }

  @Test
  void store_dictionaryIsNotWritten_storesNothingUntilItIs() throws Exception {
    var gateway = newInstance();
    gateway.deliver("it is up");
    var deliverySlice = portion(List.of(batch(List.of("order 17 took 3 ms"))));
    TestDatabase.execute("RENAME TABLE log_templates TO log_templates_away");
    TestDatabase.execute("CREATE TABLE log_templates (Text UInt8) ENGINE = Memory");
    try {
      assertThat(gateway.store.store(deliverySlice, gateway.enricher))
          .isInstanceOf(SchemaMismatch.class);
      assertThat(gateway.store.storedRecords()).isEqualTo(1);
    } finally {
      TestDatabase.execute("DROP TABLE log_templates SYNC");
      TestDatabase.execute("RENAME TABLE log_templates_away TO log_templates");
    }

    var again = new DeliverySlice(deliverySlice.token(), deliverySlice.batches(), 0, 1, true);
    assertThat(gateway.store.store(again, gateway.enricher)).isEqualTo(new Stored());

    assertThat(rows())
        .containsExactlyInAnyOrder(
            "it is up -> it is up", "order 17 took 3 ms -> order <*> took <*>");
  }

  @Test
  void store_engineKilledInBetween_everyRowCanBeLookedUp() throws Exception {
    var gateway = newInstance();
    gateway.deliver("it is up");
    for (int i = 0; i < 3; i++) {
      var batch = batch(List.of("phase " + words(i) + " begins", "login of user " + words(i)));
      SharedEngines.clickHouse().kill();
      assertThat(gateway.store.store(portion(List.of(batch)), gateway.enricher))
          .isInstanceOf(Retryable.class);
      SharedEngines.clickHouse().restart();
      var again = new DeliverySlice(batch.appendId().toString(), List.of(batch), 0, 2, true);
      while (!gateway.store.store(again, gateway.enricher).equals(new Stored())) {
        Thread.onSpinWait(); // the delivery worker pauses here
      }
    }

    assertThat(gateway.store.storedRecords()).isEqualTo(7);
    assertThat(unresolvedTemplates()).isEqualTo("0");
  }

  /**
   * In any order, by two gateways in turn, with restarts: the rows of one statement end at one
   * template.
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
      int who = random.nextInt(2);
      two[who].deliver(shuffled.subList(from, to));
      from = to;
      switch (random.nextInt(4)) {
        case 0 -> two[who] = newInstance();
        case 1 -> two[who].registry.sync();
        default -> {} // goes on
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

  /** Of some statements, of which the words that are values show only together. */
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

  private static DeliverySlice portion(List<LogBatch> batches) {
    int records = batches.stream().mapToInt(LogBatch::records).sum();
    return new DeliverySlice(batches.getFirst().appendId().toString(), batches, 0, records, false);
  }

  /** Each log with the text of the template that its row names. */
  private static List<String> rows() {
    return TestDatabase.query(
            """
            SELECT concat(Body, ' -> ', t.Text) FROM otel_logs AS l
            INNER JOIN (SELECT TemplateId, any(Text) AS Text FROM log_templates GROUP BY TemplateId) AS t
              ON t.TemplateId = l.TemplateId""")
        .lines()
        .toList();
  }

  /** Rows whose template is not in the dictionary, or whose links lead nowhere. */
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

  /** A line for each group of messages, the messages sorted and each once. */
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
