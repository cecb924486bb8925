package dev.sluice.clickhouse;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.sluice.core.domain.RecordIds;
import dev.sluice.core.port.LogStore.DeliverySlice;
import dev.sluice.core.port.LogStore.StoreResult;
import dev.sluice.core.port.SpoolConsumer.Delivery;
import dev.sluice.core.port.WriteResult;
import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.filter.TextQuery;
import dev.sluice.query.port.LogReader.Query;
import dev.sluice.templates.dictionary.ContentId;
import dev.sluice.templates.dictionary.Dictionary.DictionaryEntry;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import dev.sluice.testkit.LogBatches;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests responses that a real ClickHouse rarely sends, from a scripted server. */
@Timeout(60)
final class ClickHouseResponsesTest {
  /** A response to one insert, or to one query for logs. */
  private interface ScriptedResponse {
    void send(HttpExchange exchange) throws IOException;
  }

  private final ConcurrentLinkedQueue<ScriptedResponse> script = new ConcurrentLinkedQueue<>();
  private final ConcurrentLinkedQueue<String> inserts = new ConcurrentLinkedQueue<>();
  private final ConcurrentLinkedQueue<String> queries = new ConcurrentLinkedQueue<>();
  private HttpServer server;
  private volatile boolean brokenTables;
  private ClickHouseDatabase database;
  private ClickHouseLogWriter store;

  @BeforeEach
  void start() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", this::handle);
    server.start();
    database =
        new ClickHouseDatabase(
            TestDatabase.settings("http://127.0.0.1:" + server.getAddress().getPort()));
    store = new ClickHouseLogWriter(database);
  }

  @AfterEach
  void stop() {
    database.close();
    server.stop(0);
  }

  private void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      var request = exchange.getRequestURI().toString();
      var body = exchange.getRequestBody().readAllBytes();
      boolean insert =
          request.contains("insert_deduplication_token") || request.contains("otel_logs");
      var sql = new String(body, UTF_8);
      if (!insert && sql.startsWith("SELECT") && sql.contains("FROM otel_logs")) {
        queries.add(sql);
        Objects.requireNonNull(script.poll()).send(exchange);
        return;
      }
      if (!insert && brokenTables) {
        respondWithError(exchange, 53, "TYPE_MISMATCH");
        return;
      }
      if (!insert) {
        respond(exchange, 200, Map.of(), "2\n"); // for any query of the migration
        return;
      }
      inserts.add(request);
      assertThat(body).isNotEmpty();
      var scriptedResponse = script.poll();
      if (scriptedResponse != null) {
        scriptedResponse.send(exchange);
      }
    }
  }

  private static void respond(
      HttpExchange exchange, int status, Map<String, String> headers, String body)
      throws IOException {
    headers.forEach((name, value) -> exchange.getResponseHeaders().add(name, value));
    var bytes = body.getBytes(UTF_8);
    exchange.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
    exchange.getResponseBody().write(bytes);
  }

  private static String summary(int rows) {
    return "{\"read_rows\":\"%1$d\",\"written_rows\":\"%1$d\"}".formatted(rows);
  }

  private StoreResult store() throws InterruptedException {
    return store.store("token", LogBatches.list(1, 7));
  }

  @Test
  void store_allRowsConfirmed_isStoredByOneInsert() throws Exception {
    script.add(e -> respond(e, 200, Map.of("X-ClickHouse-Summary", summary(7)), ""));

    assertThat(store()).isEqualTo(new StoreResult.Stored());
    assertThat(inserts)
        .singleElement()
        .asString()
        .contains("insert_deduplication_token=token", "wait_end_of_query=1", "async_insert=0");
  }

  @Test
  void store_successWithoutConfirmation_isRetryable() throws Exception {
    script.add(e -> respond(e, 200, Map.of(), ""));

    assertThat(store()).isInstanceOf(StoreResult.Retryable.class);
  }

  @Test
  void store_fewerRowsConfirmed_isRetryable() throws Exception {
    script.add(e -> respond(e, 200, Map.of("X-ClickHouse-Summary", summary(6)), ""));

    assertThat(store()).isInstanceOf(StoreResult.Retryable.class);
  }

  @Test
  void store_exceptionUnderStatus200_isRetryable() throws Exception {
    script.add(
        e ->
            respond(
                e,
                200,
                Map.of("X-ClickHouse-Summary", summary(7), "X-ClickHouse-Exception-Code", "241"),
                "Code: 241. DB::Exception: too much. (MEMORY_LIMIT_EXCEEDED) (version 26.7)\n"));

    assertThat(store()).isInstanceOf(StoreResult.Retryable.class);
  }

  @Test
  void store_exceptionInTheBodyOnly_isRetryable() throws Exception {
    script.add(
        e ->
            respond(
                e,
                200,
                Map.of(),
                "__exception__\r\nCode: 241. DB::Exception: too much. (MEMORY_LIMIT_EXCEEDED)\n"));

    assertThat(store()).isInstanceOf(StoreResult.Retryable.class);
  }

  @Test
  void store_connectionCutBeforeTheResponse_isRetryableAndInsertsOnce() throws Exception {
    script.add(_ -> {});

    assertThat(store()).isInstanceOf(StoreResult.Retryable.class);
    assertThat(inserts).hasSize(1);
  }

  @ParameterizedTest
  @CsvSource({
    "3, UNEXPECTED_END_OF_FILE",
    "107, FILE_DOESNT_EXIST",
    "159, TIMEOUT_EXCEEDED",
    "164, READONLY",
    "202, TOO_MANY_SIMULTANEOUS_QUERIES",
    "203, NO_FREE_CONNECTION",
    "209, SOCKET_TIMEOUT",
    "210, NETWORK_ERROR",
    "241, MEMORY_LIMIT_EXCEEDED",
    "242, TABLE_IS_READ_ONLY",
    "243, NOT_ENOUGH_SPACE",
    "252, TOO_MANY_PARTS",
    "285, TOO_FEW_LIVE_REPLICAS",
    "319, UNKNOWN_STATUS_OF_INSERT",
    "394, QUERY_WAS_CANCELLED",
    "425, SYSTEM_ERROR",
    "497, ACCESS_DENIED",
    "516, AUTHENTICATION_FAILED",
    "999, KEEPER_EXCEPTION",
    "49, LOGICAL_ERROR",
    "1001, STD_EXCEPTION",
    "1002, UNKNOWN_EXCEPTION",
  })
  void store_transientCode_isRetryable(int code, String name) throws Exception {
    script.add(e -> respondWithError(e, code, name));

    assertThat(store())
        .isInstanceOfSatisfying(
            StoreResult.Retryable.class,
            retryable -> assertThat(retryable.reason()).contains(String.valueOf(code), name));
  }

  /** The message of an unknown error may quote values. */
  @Test
  void store_unknownCode_isRetryableWithoutQuoting() throws Exception {
    script.add(e -> respondWithError(e, 1234, "SOMETHING_NEW"));

    assertThat(store()).isEqualTo(new StoreResult.Retryable("ClickHouse error 1234 SOMETHING_NEW"));
  }

  @ParameterizedTest
  @CsvSource({
    "7, INCORRECT_NUMBER_OF_COLUMNS",
    "8, THERE_IS_NO_COLUMN",
    "10, NOT_FOUND_COLUMN_IN_BLOCK",
    "16, NO_SUCH_COLUMN_IN_TABLE",
    "47, UNKNOWN_IDENTIFIER",
    "50, UNKNOWN_TYPE",
    "60, UNKNOWN_TABLE",
    "81, UNKNOWN_DATABASE",
    "218, TABLE_IS_DROPPED",
  })
  void store_schemaCode_isSchemaMismatch(int code, String name) throws Exception {
    script.add(e -> respondWithError(e, code, name));

    assertThat(store())
        .isInstanceOfSatisfying(
            StoreResult.SchemaMismatch.class,
            schemaMismatch ->
                assertThat(schemaMismatch.reason()).contains(String.valueOf(code), name));
  }

  /** A rejected request without records does not concern records. */
  @Test
  void store_dataCodeDuringMigration_isRetryable() throws Exception {
    brokenTables = true;

    assertThat(store()).isInstanceOf(StoreResult.Retryable.class);
    assertThat(inserts).isEmpty();
  }

  @Test
  void store_retryWhileTheFirstInsertIsUnknown_isRetryableAndInsertsNothing() throws Exception {
    // The server responds to KILL QUERY with a state other than "finished".
    var deliverySlice = DeliverySlice.of(new Delivery("token", LogBatches.list(1, 7), true));

    assertThat(store.store(deliverySlice, RecordIds.NONE))
        .isInstanceOfSatisfying(
            StoreResult.Retryable.class,
            retryable -> assertThat(retryable.reason()).contains("earlier insert"));
    assertThat(inserts).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "6, CANNOT_PARSE_TEXT",
    "25, CANNOT_PARSE_ESCAPE_SEQUENCE",
    "26, CANNOT_PARSE_QUOTED_STRING",
    "27, CANNOT_PARSE_INPUT_ASSERTION_FAILED",
    "38, CANNOT_PARSE_DATE",
    "41, CANNOT_PARSE_DATETIME",
    "53, TYPE_MISMATCH",
    "69, ARGUMENT_OUT_OF_BOUND",
    "70, CANNOT_CONVERT_TYPE",
    "72, CANNOT_PARSE_NUMBER",
    "117, INCORRECT_DATA",
    "128, TOO_LARGE_ARRAY_SIZE",
    "131, TOO_LARGE_STRING_SIZE",
    "321, VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE",
    "349, CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN",
    "395, FUNCTION_THROW_IF_VALUE_IS_NON_ZERO",
    "467, CANNOT_PARSE_BOOL",
    "469, VIOLATED_CONSTRAINT",
  })
  void store_dataCode_isRejectedWithoutQuotingIt(int code, String name) throws Exception {
    script.add(e -> respondWithError(e, code, name));

    assertThat(store())
        .isInstanceOfSatisfying(
            StoreResult.Rejected.class,
            rejected ->
                assertThat(rejected.reason())
                    .contains(String.valueOf(code), name)
                    .doesNotContain("a secret"));
  }

  /** The gateway makes every row of the dictionary: a rejected one shows that the table differs. */
  @Test
  void write_dataCodeForTheDictionary_isSchemaMismatch() throws Exception {
    script.add(e -> respondWithError(e, 53, "TYPE_MISMATCH"));
    var entry = new DictionaryEntry("t", EntryKind.TEXT, ContentId.of("text"), "text", 1, 1, null);

    assertThat(new ClickHouseDictionary(database).write(List.of(entry)))
        .isInstanceOfSatisfying(
            WriteResult.SchemaMismatch.class,
            mismatch ->
                assertThat(mismatch.reason())
                    .contains("53 TYPE_MISMATCH")
                    .doesNotContain("a secret"));
  }

  /**
   * The HTTP client would repeat the request automatically; the repeated request must not be a
   * valid insert.
   */
  @ParameterizedTest
  @ValueSource(ints = {429, 503})
  void store_retryAfterResponse_isRetryableWhateverTheNextResponseIs(int status) throws Exception {
    script.add(e -> respond(e, status, Map.of("Retry-After", "0"), "retry later"));
    script.add(e -> respond(e, 200, Map.of("X-ClickHouse-Summary", summary(7)), ""));

    assertThat(store()).isInstanceOf(StoreResult.Retryable.class);
  }

  /** Without an order, the lookup may need to read much of the table before it finds the rows. */
  @Test
  void read_textIndexLookupTimesOut_readsNewestFirst() throws Exception {
    script.add(e -> respondWithError(e, 159, "TIMEOUT_EXCEEDED"));
    script.add(e -> respond(e, 200, Map.of(), "")); // no logs after 2106
    script.add(e -> respond(e, 200, Map.of(), ""));
    var filter = LogFilter.of("acme").text(TextQuery.parse("\"a-1\"")).build();

    assertThat(new ClickHouseLogReader(database).read(new Query(filter, 7, null)).logs()).isEmpty();

    assertThat(queries).hasSize(3);
    assertThat(queries.poll()).doesNotContain("ORDER BY");
    assertThat(queries).last().asString().contains("ORDER BY");
  }

  private static void respondWithError(HttpExchange exchange, int code, String name)
      throws IOException {
    respond(
        exchange,
        500,
        Map.of("X-ClickHouse-Exception-Code", String.valueOf(code)),
        "Code: %d. DB::Exception: about a secret. (%s) (version 26.7.2.1)\n".formatted(code, name));
  }
}
