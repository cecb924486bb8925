package dev.sluice.clickhouse;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.sluice.core.port.LogStore.Outcome;
import dev.sluice.testkit.LogBatches;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Answers that a real ClickHouse gives rarely, from a server that gives them at once. */
@Timeout(60)
final class ClickHouseAnswersTest {
  /** Answers one insert. */
  private interface Answer {
    void to(HttpExchange exchange) throws IOException;
  }

  private final ConcurrentLinkedQueue<Answer> script = new ConcurrentLinkedQueue<>();
  private final ConcurrentLinkedQueue<String> inserts = new ConcurrentLinkedQueue<>();
  private HttpServer server;
  private ClickHouseLogStore store;

  @BeforeEach
  void start() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", this::handle);
    server.start();
    store =
        new ClickHouseLogStore(
            ClickHouseSettings.of(
                "http://127.0.0.1:" + server.getAddress().getPort(), "sluice", "sluice"));
  }

  @AfterEach
  void stop() {
    store.close();
    server.stop(0);
  }

  private void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      var request = exchange.getRequestURI().toString();
      var body = exchange.getRequestBody().readAllBytes();
      boolean insert =
          request.contains("insert_deduplication_token") || request.contains("otel_logs");
      if (!insert) {
        answer(exchange, 200, Map.of(), "2\n"); // whatever the migration asks
        return;
      }
      inserts.add(request);
      assertThat(body).isNotEmpty();
      var answer = script.poll();
      if (answer != null) {
        answer.to(exchange);
      }
    }
  }

  private static void answer(
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

  private Outcome store() throws InterruptedException {
    return store.store("token", LogBatches.some(1, 7));
  }

  @Test
  void store_allRowsConfirmed_isStoredByOneInsert() throws Exception {
    script.add(e -> answer(e, 200, Map.of("X-ClickHouse-Summary", summary(7)), ""));

    assertThat(store()).isEqualTo(new Outcome.Stored());
    assertThat(inserts)
        .singleElement()
        .asString()
        .contains("insert_deduplication_token=token", "wait_end_of_query=1", "async_insert=0");
  }

  @Test
  void store_successWithoutConfirmation_triesLater() throws Exception {
    script.add(e -> answer(e, 200, Map.of(), ""));

    assertThat(store()).isInstanceOf(Outcome.TryLater.class);
  }

  @Test
  void store_fewerRowsConfirmed_triesLater() throws Exception {
    script.add(e -> answer(e, 200, Map.of("X-ClickHouse-Summary", summary(6)), ""));

    assertThat(store()).isInstanceOf(Outcome.TryLater.class);
  }

  @Test
  void store_exceptionUnderStatus200_triesLater() throws Exception {
    script.add(
        e ->
            answer(
                e,
                200,
                Map.of("X-ClickHouse-Summary", summary(7), "X-ClickHouse-Exception-Code", "241"),
                "Code: 241. DB::Exception: too much. (MEMORY_LIMIT_EXCEEDED) (version 26.7)\n"));

    assertThat(store()).isInstanceOf(Outcome.TryLater.class);
  }

  @Test
  void store_exceptionInTheBodyOnly_triesLater() throws Exception {
    script.add(
        e ->
            answer(
                e,
                200,
                Map.of(),
                "__exception__\r\nCode: 241. DB::Exception: too much. (MEMORY_LIMIT_EXCEEDED)\n"));

    assertThat(store()).isInstanceOf(Outcome.TryLater.class);
  }

  @Test
  void store_connectionCutBeforeTheAnswer_triesLaterAndInsertsNoSecondTime() throws Exception {
    script.add(_ -> {});

    assertThat(store()).isInstanceOf(Outcome.TryLater.class);
    assertThat(inserts).hasSize(1);
  }

  @ParameterizedTest
  @CsvSource({
    "3, UNEXPECTED_END_OF_FILE",
    "159, TIMEOUT_EXCEEDED",
    "164, READONLY",
    "202, TOO_MANY_SIMULTANEOUS_QUERIES",
    "241, MEMORY_LIMIT_EXCEEDED",
    "252, TOO_MANY_PARTS",
    "319, UNKNOWN_STATUS_OF_INSERT",
    "999, KEEPER_EXCEPTION",
    "16, NO_SUCH_COLUMN_IN_TABLE",
    "60, UNKNOWN_TABLE",
    "1002, UNKNOWN_EXCEPTION",
  })
  void store_codeThatSaysNothingAgainstTheRecords_triesLater(int code, String name)
      throws Exception {
    script.add(e -> failure(e, code, name));

    assertThat(store())
        .isInstanceOfSatisfying(
            Outcome.TryLater.class,
            later -> assertThat(later.reason()).contains(String.valueOf(code), name));
  }

  @ParameterizedTest
  @CsvSource({
    "6, CANNOT_PARSE_TEXT",
    "27, CANNOT_PARSE_INPUT_ASSERTION_FAILED",
    "38, CANNOT_PARSE_DATE",
    "41, CANNOT_PARSE_DATETIME",
    "53, TYPE_MISMATCH",
    "72, CANNOT_PARSE_NUMBER",
    "117, INCORRECT_DATA",
  })
  void store_codeOfBadData_isRefusedWithoutQuotingIt(int code, String name) throws Exception {
    script.add(e -> failure(e, code, name));

    assertThat(store())
        .isInstanceOfSatisfying(
            Outcome.Refused.class,
            refused ->
                assertThat(refused.reason())
                    .contains(String.valueOf(code), name)
                    .doesNotContain("a secret"));
  }

  private static void failure(HttpExchange exchange, int code, String name) throws IOException {
    answer(
        exchange,
        500,
        Map.of("X-ClickHouse-Exception-Code", String.valueOf(code)),
        "Code: %d. DB::Exception: about a secret. (%s) (version 26.7.2.1)\n".formatted(code, name));
  }
}
