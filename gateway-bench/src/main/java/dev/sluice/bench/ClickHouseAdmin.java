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

/** What is asked of ClickHouse about it all, past the gateway. */
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

  /** The answer to a query, or to a command. */
  String query(String sql) throws IOException, InterruptedException {
    return send(sql, BodyPublishers.noBody(), BodyHandlers.ofString()).strip();
  }

  long queryLong(String sql) throws IOException, InterruptedException {
    return Long.parseLong(query(sql));
  }

  long countRows(String table) throws IOException, InterruptedException {
    return queryLong("SELECT count() FROM " + table);
  }

  /** Writes the answer into a file. */
  void queryToFile(String sql, Path into) throws IOException, InterruptedException {
    send(sql, BodyPublishers.noBody(), BodyHandlers.ofFile(into));
  }

  /** Sends a file as the data of an insert. */
  void insert(String sql, Path data) throws IOException, InterruptedException {
    send(sql, BodyPublishers.ofFile(data), BodyHandlers.ofString());
  }

  /** Returns once nothing has been merged for three seconds: between two there may be a moment. */
  void awaitMerges() throws IOException, InterruptedException {
    long end = System.nanoTime() + MERGE_TIMEOUT.toNanos();
    for (int idleSeconds = 0; idleSeconds < 3; ) {
      if (System.nanoTime() > end) {
        throw new IOException("ClickHouse does not come to an end of its merges");
      }
      Thread.sleep(1_000);
      idleSeconds = queryLong("SELECT count() FROM system.merges") == 0 ? idleSeconds + 1 : 0;
    }
  }

  private <T> T send(String sql, BodyPublisher data, BodyHandler<T> handler)
      throws IOException, InterruptedException {
    var answer =
        http.send(
            HttpRequest.newBuilder(URI.create(url + "/?query=" + URLEncoder.encode(sql, UTF_8)))
                .header("X-ClickHouse-User", user)
                .header("X-ClickHouse-Key", password)
                .timeout(REQUEST_TIMEOUT)
                .POST(data)
                .build(),
            handler);
    if (answer.statusCode() != 200) {
      throw new IOException(sql + ": " + answer.body());
    }
    return answer.body();
  }

  @Override
  public void close() {
    http.shutdownNow();
  }
}
