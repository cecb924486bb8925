package dev.sluice.clickhouse;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dev.sluice.query.port.TemplateStats.MinuteRange;
import dev.sluice.query.port.TemplateStats.TemplateQuery;
import dev.sluice.query.port.TemplateVectorStore;
import dev.sluice.query.port.TemplateVectorStore.Candidate;
import dev.sluice.query.port.TemplateVectorStore.VectorRow;
import dev.sluice.query.port.TemplateVectorStore.Vectors;
import dev.sluice.templates.dictionary.Dictionary;
import dev.sluice.testkit.TemplateVectorStoreContract;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ClickHouseTemplateVectorStoreIT extends TemplateVectorStoreContract {
  /** More rows than are compared exhaustively. */
  private static final int MANY = 25_000;

  private static final int QUERIES = 50;

  /** Dimension of the model in the jar. */
  private static final int BUNDLED_DIMENSION = 384;

  private static final TemplateQuery ALL =
      new TemplateQuery("acme", null, Set.of(), 0, MinuteRange.ALL, Set.of());

  private final ClickHouseDatabase database = new ClickHouseDatabase(TestDatabase.settings());
  private final ClickHouseDictionary dictionary = new ClickHouseDictionary(database);
  private final ClickHouseTemplateVectorStore vectors =
      new ClickHouseTemplateVectorStore(database, DIMENSION);

  @BeforeEach
  void empty() throws InterruptedException {
    TestDatabase.dropAllTables();
    database.migrate();
  }

  @AfterEach
  void close() {
    database.close();
  }

  @Override
  protected TemplateVectorStore vectors() {
    return vectors;
  }

  @Override
  protected Dictionary dictionary() {
    return dictionary;
  }

  @Override
  protected void store(List<TestLog> logs) {
    TestDatabase.execute(
        logs.stream()
            .map(
                log ->
                    "(fromUnixTimestamp64Nano(%d), %s, %s, %d, '%s', map('component', %s), %s)"
                        .formatted(
                            log.timeNanos(),
                            quoted(log.tenant()),
                            quoted(log.service()),
                            log.severity(),
                            log.template(),
                            quoted(log.component()),
                            quoted(log.body())))
            .collect(
                Collectors.joining(
                    ", ",
                    """
                    INSERT INTO otel_logs (Timestamp, Tenant, ServiceName, SeverityNumber, TemplateId,
                      LogAttributes, Body)
                    VALUES\s""",
                    "")));
  }

  @Test
  void compact_rowsOfManyWrites_areInOnePart() throws Exception {
    for (int i = 0; i < 3; i++) {
      vectors.write("r/1", List.of(row(new UUID(1, i))));
      vectors.write("r/2", List.of(row(new UUID(1, i))));
    }
    vectors.compact("r/1");
    assertThat(activeParts()).isEqualTo(1);

    vectors.compact("r/1");
    assertThat(vectors.find("r/1", "acme", List.of(new UUID(1, 0), new UUID(1, 2)))).hasSize(2);
  }

  private static VectorRow row(UUID id) {
    return row("acme", id, 1, 0, 0);
  }

  private static VectorRow row(String tenant, UUID id, float... vector) {
    return new VectorRow(tenant, "a", new Vectors(id, vector, new byte[0]));
  }

  private static long activeParts() {
    return Long.parseLong(
        TestDatabase.query(
            """
            SELECT count() FROM system.parts
            WHERE active AND table = 'log_template_vectors_3' AND partition = 'r/1'"""));
  }

  private static String quoted(String text) {
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'";
  }

  @Test
  void write_tableDropped_isRecreated() throws Exception {
    var row = row(new UUID(1, 2));
    vectors.write("recipe", List.of(row));
    TestDatabase.execute("DROP TABLE log_template_vectors_3 SYNC");

    try {
      vectors.write("recipe", List.of(row));
    } catch (ClickHouseException e) {
      vectors.write("recipe", List.of(row)); // the first write detects the missing table
    }

    assertThat(vectors.find("recipe", "acme", List.of(new UUID(1, 2)))).hasSize(1);
  }

  /**
   * Random vectors of the dimension of the model in the jar, which are the hardest for an index,
   * and too many for an exhaustive comparison.
   */
  @Test
  void nearest_manyRows_areFoundByTheIndex() throws Exception {
    var wide = new ClickHouseTemplateVectorStore(database, BUNDLED_DIMENSION);
    var random = new Random(1);
    var rows =
        IntStream.range(0, MANY)
            .mapToObj(
                i -> new Vectors(new UUID(1, i + 1), unit(BUNDLED_DIMENSION, random), new byte[0]))
            .map(each -> new VectorRow("acme", "a", each))
            .toList();
    wide.write("recipe", rows);
    assertThat(wide.backlog("recipe", "acme")).isZero(); // also counts the rows
    long searches = event("USearchSearchCount");
    long compared = event("USearchSearchComputedDistances");

    long found = 0;
    for (int i = 0; i < QUERIES; i++) {
      var query = unit(BUNDLED_DIMENSION, random);
      var nearest =
          wide.nearest("recipe", ALL, query, List.of(), 10).stream().map(Candidate::id).toList();
      found += closest(query, rows, 10).stream().filter(nearest::contains).count();
    }

    assertThat(found / (10.0 * QUERIES)).isGreaterThanOrEqualTo(0.95);
    assertThat(event("USearchSearchCount") - searches).isGreaterThanOrEqualTo(QUERIES);
    assertThat(event("USearchSearchComputedDistances") - compared)
        .isLessThan((long) QUERIES * MANY);
  }

  /** A tenant with few rows: the index might return only rows of the other tenant. */
  @Test
  void nearest_manyRowsOfAnotherTenant_areNotScanned() throws Exception {
    var random = new Random(2);
    vectors.write(
        "recipe",
        IntStream.range(0, MANY)
            .mapToObj(i -> new Vectors(new UUID(1, i + 1), unit(DIMENSION, random), new byte[0]))
            .map(each -> new VectorRow("acme", "a", each))
            .toList());
    vectors.write("recipe", List.of(row("other", new UUID(2, 1), 0, 0, 1)));
    var other = new TemplateQuery("other", null, Set.of(), 0, MinuteRange.ALL, Set.of());
    vectors.backlog("recipe", "other");
    vectors.backlog("recipe", "acme");
    long searches = event("USearchSearchCount");

    assertThat(vectors.nearest("recipe", other, new float[] {1, 0, 0}, List.of(), 10))
        .extracting(Candidate::id)
        .containsExactly(new UUID(2, 1));
    assertThat(event("USearchSearchCount")).isEqualTo(searches);
  }

  /** Returns the number of times that ClickHouse has counted an event since its start. */
  private static long event(String name) {
    var value =
        TestDatabase.query("SELECT value FROM system.events WHERE event = '%s'".formatted(name));
    return value.isEmpty() ? 0 : Long.parseLong(value);
  }

  private static Set<UUID> closest(float[] query, List<VectorRow> rows, int limit) {
    record Similarity(UUID id, double product) {}
    return rows.stream()
        .map(row -> new Similarity(row.vectors().id(), product(row, query)))
        .sorted(Comparator.comparingDouble(Similarity::product).reversed())
        .limit(limit)
        .map(Similarity::id)
        .collect(Collectors.toSet());
  }

  @Test
  void nearest_manyRowsAndWords_returnsMatchesOfAllWordsFirstAndEachOnce() throws Exception {
    var rows = new ArrayList<VectorRow>();
    for (int i = 0; i < 25_000; i++) {
      var words = i % 10_000 == 7 ? "needle in hay" : "hay";
      var vector = new float[] {1, i / 25_000f, 0};
      rows.add(new VectorRow("acme", words, new Vectors(new UUID(1, i + 1), vector, new byte[0])));
    }
    vectors.write("recipe", rows);
    vectors.write("recipe", rows.subList(0, 100)); // two rows of each before a merge
    vectors.backlog("recipe", "acme");

    var nearest =
        vectors.nearest("recipe", ALL, new float[] {1, 0, 0}, List.of("needle", "hay"), 50);

    assertThat(nearest).hasSize(50).extracting(Candidate::id).doesNotHaveDuplicates();
    assertThat(nearest.subList(0, 3))
        .extracting(Candidate::id, Candidate::matchesAllKeywords)
        .containsExactly(
            tuple(new UUID(1, 8), true),
            tuple(new UUID(1, 10_008), true),
            tuple(new UUID(1, 20_008), true));
    assertThat(nearest.subList(3, 50)).noneMatch(Candidate::matchesAllKeywords);
  }

  private static double product(VectorRow row, float[] query) {
    double product = 0;
    for (int i = 0; i < query.length; i++) {
      product += (double) row.vectors().sentenceVector()[i] * query[i];
    }
    return product;
  }

  private static float[] unit(int dimension, Random random) {
    var vector = new float[dimension];
    double squares = 0;
    for (int i = 0; i < vector.length; i++) {
      vector[i] = (float) random.nextGaussian();
      squares += vector[i] * vector[i];
    }
    for (int i = 0; i < vector.length; i++) {
      vector[i] /= (float) Math.sqrt(squares);
    }
    return vector;
  }
}
