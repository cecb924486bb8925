package dev.sluice.bench;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandler;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Duration;

/** A ClickHouse client of the reports, for queries and statements without the gateway. */
final class ClickHouseAdmin implements AutoCloseable {
  private static final Duration REQUEST_TIMEOUT = Duration.ofMinutes(2);
  private static final Duration MERGE_TIMEOUT = Duration.ofMinutes(15);

  private final HttpClient http = HttpClient.newHttpClient();
  private final String url;
  private final String user;
  private final String password;

  ClickHouseAdmin(String url, String user, String password) {
    this.url = url;
    this.user = user;
    this.password = password;
  }

  /** Executes a query or a statement, and returns the result. */
  String query(String sql) throws IOException, InterruptedException {
    return send(sql, BodyPublishers.noBody(), BodyHandlers.ofString()).strip();
  }

  long queryLong(String sql) throws IOException, InterruptedException {
    return Long.parseLong(query(sql));
  }

  long countRows(String table) throws IOException, InterruptedException {
    return queryLong("SELECT count() FROM " + table);
  }

  /** Writes the result of a query to a file. */
  void queryToFile(String sql, Path into) throws IOException, InterruptedException {
    send(sql, BodyPublishers.noBody(), BodyHandlers.ofFile(into));
  }

  /** Inserts the contents of a file. */
  void insert(String sql, Path data) throws IOException, InterruptedException {
    send(sql, BodyPublishers.ofFile(data), BodyHandlers.ofString());
  }

  /**
   * Waits until no merge has run for three seconds, because there can be a pause between two
   * merges.
   */
  void awaitMerges() throws IOException, InterruptedException {
    long end = System.nanoTime() + MERGE_TIMEOUT.toNanos();
    for (int idleSeconds = 0; idleSeconds < 3; ) {
      if (System.nanoTime() > end) {
        throw new IOException("the merges of ClickHouse do not end");
      }
      Thread.sleep(1_000);
      idleSeconds = queryLong("SELECT count() FROM system.merges") == 0 ? idleSeconds + 1 : 0;
    }
  }

  private <T> T send(String sql, BodyPublisher data, BodyHandler<T> handler)
      throws IOException, InterruptedException {
    var response =
        http.send(
            HttpRequest.newBuilder(URI.create(url + "/?query=" + URLEncoder.encode(sql, UTF_8)))
                .header("X-ClickHouse-User", user)
                .header("X-ClickHouse-Key", password)
                .timeout(REQUEST_TIMEOUT)
                .POST(data)
                .build(),
            handler);
    if (response.statusCode() != 200) {
      throw new IOException(sql + ": " + response.body());
    }
    return response.body();
  }

  @Override
  public void close() {
    http.shutdownNow();
  }
}
