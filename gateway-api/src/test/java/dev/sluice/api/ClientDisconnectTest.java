package dev.sluice.api;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.core.domain.LogId;
import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.LogReader;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import reactor.netty.DisposableServer;

/** Checks queries whose client disconnects or does not read the response. */
@Timeout(60)
class ClientDisconnectTest {

  private final BlockingLogReader store = new BlockingLogReader();
  private final DisposableServer http = IngestFixture.startQueryServer(store);

  @AfterEach
  void stop() {
    http.disposeNow();
  }

  private Socket get(String path, String accept) throws IOException {
    var socket = new Socket("127.0.0.1", http.port());
    socket.setSoTimeout(20_000);
    socket
        .getOutputStream()
        .write(
            "GET %s HTTP/1.1\r\nHost: x\r\nAccept: %s\r\n\r\n"
                .formatted(path, accept)
                .getBytes(US_ASCII));
    return socket;
  }

  @Test
  void get_clientDisconnects_interruptsTheQuery() throws Exception {
    store.reset(true);

    try (var _ = get("/api/v1/logs", "*/*")) {
      assertThat(store.started.await(20, TimeUnit.SECONDS)).isTrue();
    }

    assertThat(store.interrupted.await(20, TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void histogram_clientDisconnects_interruptsTheQuery() throws Exception {
    store.reset(true);

    try (var _ = get("/api/v1/logs/histogram", "*/*")) {
      assertThat(store.started.await(20, TimeUnit.SECONDS)).isTrue();
    }

    assertThat(store.interrupted.await(20, TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void export_clientStopsReading_pausesAndEndsOnDisconnect() throws Exception {
    store.reset(false);

    try (var client = get("/api/v1/logs", "application/x-ndjson")) {
      assertThat(client.getInputStream().readNBytes(100_000)).hasSize(100_000);
      await()
          .during(Duration.ofSeconds(1))
          .atMost(Duration.ofSeconds(30))
          .until(store.pages::get, before -> before == store.pages.get() && before < 20);
      int pagesBefore = store.pages.get();

      // the export continues when the client reads again
      long left = 64L << 20;
      while (left > 0) {
        left -= client.getInputStream().readNBytes(1 << 20).length;
      }
      assertThat(store.pages.get()).isGreaterThan(pagesBefore);
    }

    assertAllPermitsReleased();
  }

  @Test
  void export_tooManyConcurrent_othersAre503WithRetryAfter() throws Exception {
    store.reset(false);
    var clients = new Socket[8];
    for (int i = 0; i < clients.length; i++) {
      clients[i] = get("/api/v1/logs", "application/x-ndjson");
      assertThat(clients[i].getInputStream().readNBytes(1000)).hasSize(1000);
    }

    try {
      assertThat(status()).isEqualTo(503);
    } finally {
      for (var client : clients) {
        client.close();
      }
    }

    assertAllPermitsReleased();
  }

  @Test
  void get_unreadPages_othersAre503UntilDisconnect() throws Exception {
    store.reset(false);
    var clients = new ArrayList<Socket>();
    try {
      await()
          .atMost(Duration.ofSeconds(50))
          .until(
              () -> {
                clients.add(get("/api/v1/logs?limit=10000", "application/json")); // ten megabytes
                return clients.size() > 100 || statusOfPage() == 503;
              });
      assertThat(clients).hasSizeLessThan(100);
    } finally {
      for (var client : clients) {
        client.close();
      }
    }

    await().atMost(Duration.ofSeconds(20)).until(() -> statusOfPage() == 200);
  }

  private int statusOfPage() {
    var request =
        HttpRequest.newBuilder(
                URI.create("http://127.0.0.1:" + http.port() + "/api/v1/logs?limit=10000"))
            .build();
    return Gateway.send(request, BodyHandlers.discarding()).statusCode();
  }

  /** Asserts that all permits are free, by acquiring them concurrently. */
  private void assertAllPermitsReleased() throws IOException {
    var clients = new ArrayList<Socket>();
    try {
      for (int i = 0; i < 8; i++) {
        await()
            .atMost(Duration.ofSeconds(20))
            .until(
                () -> {
                  var client = get("/api/v1/logs", "application/x-ndjson");
                  clients.add(client);
                  return new String(client.getInputStream().readNBytes(12), US_ASCII)
                      .equals("HTTP/1.1 200");
                });
      }
      assertThat(status()).isEqualTo(503);
    } finally {
      for (var client : clients) {
        client.close();
      }
    }
  }

  private int status() {
    var request =
        HttpRequest.newBuilder(
                URI.create("http://127.0.0.1:" + http.port() + "/api/v1/logs?limit=1"))
            .header("Accept", "application/x-ndjson")
            .build();
    return Gateway.send(request, BodyHandlers.discarding()).statusCode();
  }

  /** A reader that blocks forever, or returns an endless sequence of pages. */
  private static final class BlockingLogReader implements LogReader {
    private static final StoredLog LOG =
        new StoredLog(
            new LogId(1, 1),
            1,
            1,
            1,
            9,
            "INFO",
            "s",
            "x".repeat(1000),
            "",
            "",
            0,
            "",
            Map.of(),
            0,
            Map.of(),
            "",
            "",
            "",
            Map.of(),
            "",
            null,
            null);

    private final AtomicInteger pages = new AtomicInteger();
    private volatile CountDownLatch started = new CountDownLatch(1);
    private volatile CountDownLatch interrupted = new CountDownLatch(1);
    private volatile boolean blocking;

    void reset(boolean nowBlocking) {
      started = new CountDownLatch(1);
      interrupted = new CountDownLatch(1);
      blocking = nowBlocking;
      pages.set(0);
    }

    @Override
    public LogPage read(Query query) throws InterruptedException {
      if (blocking) {
        waitForInterrupt();
      }
      pages.incrementAndGet();
      var logs = Collections.nCopies(query.limit(), LOG);
      return new LogPage(logs, new Position(1, new LogId(1, 1)));
    }

    @Override
    public TimeExtent timeExtent(LogFilter filter) throws InterruptedException {
      waitForInterrupt();
      return new TimeExtent(0, 0, 0);
    }

    @Override
    public List<HistogramBucket> histogram(LogFilter filter, long origin, long width) {
      return List.of();
    }

    private void waitForInterrupt() throws InterruptedException {
      started.countDown();
      try {
        new CountDownLatch(1).await();
      } catch (InterruptedException e) {
        interrupted.countDown();
        throw e;
      }
    }
  }
}
