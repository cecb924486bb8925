package dev.sluice.bench.stages;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/** A ClickHouse client that inserts rows over HTTP in a row format. */
final class InsertClient {
  private static final Duration REQUEST_TIMEOUT = Duration.ofMinutes(1);

  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final String url;
  private final String user;
  private final String password;
  private final HttpRequest.Builder insert;

  /**
   * Creates a client.
   *
   * @param clickHouseSettings the ClickHouse settings of each insert, such as {@code
   *     async_insert=1}, or none
   */
  InsertClient(
      String url, String user, String password, String table, String... clickHouseSettings) {
    this.url = url;
    this.user = user;
    this.password = password;
    var settings =
        clickHouseSettings.length == 0 ? "" : " SETTINGS " + String.join(", ", clickHouseSettings);
    insert = request("INSERT INTO " + table + settings + " FORMAT JSONEachRow");
  }

  private HttpRequest.Builder request(String sql) {
    return HttpRequest.newBuilder(URI.create(url + "/?query=" + URLEncoder.encode(sql, UTF_8)))
        .header("X-ClickHouse-User", user)
        .header("X-ClickHouse-Key", password)
        .timeout(REQUEST_TIMEOUT);
  }

  /** Executes a statement other than an insert, and waits for its end. */
  void command(String sql) {
    send(request(sql).POST(BodyPublishers.noBody()).build()).join();
  }

  /** Inserts rows; completes when ClickHouse has responded, exceptionally unless with success. */
  CompletableFuture<Void> insert(Rows rows) {
    return send(insert.copy().POST(BodyPublishers.ofByteArray(rows.lines())).build());
  }

  private CompletableFuture<Void> send(HttpRequest request) {
    return http.sendAsync(request, BodyHandlers.ofString()).thenAccept(InsertClient::check);
  }

  private static void check(HttpResponse<String> response) {
    if (response.statusCode() != 200) {
      // the response body may quote the row
      var code = response.headers().firstValue("X-ClickHouse-Exception-Code").orElse("none");
      throw new CompletionException(
          new IOException("ClickHouse: %d, code %s".formatted(response.statusCode(), code)));
    }
  }
}
