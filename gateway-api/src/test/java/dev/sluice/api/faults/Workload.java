package dev.sluice.api.faults;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.awaitility.Awaitility.await;

import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.logs.v1.LogRecord;
import io.opentelemetry.proto.logs.v1.ResourceLogs;
import io.opentelemetry.proto.logs.v1.ScopeLogs;
import io.opentelemetry.proto.resource.v1.Resource;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Several clients that send numbered logs at a limited rate, half as OTLP and half as native JSON.
 * No client sends a log twice: a log that was not acknowledged is not retried.
 */
final class Workload implements AutoCloseable {
  /** The end of the body of a log that the store must reject. */
  static final String POISON = "POISON";

  private static final Duration RESPONSE_TIMEOUT = Duration.ofSeconds(40);

  /**
   * The load.
   *
   * @param clients the number of concurrent clients
   * @param logs the number of logs in one request
   * @param interval the interval between two requests of one client, unless the response takes
   *     longer
   * @param fillerBytes the number of incompressible bytes in each log
   */
  record LoadProfile(int clients, int logs, Duration interval, int fillerBytes) {
    static final LoadProfile DEFAULT = new LoadProfile(4, 25, Duration.ofMillis(50), 60);
  }

  private final LogSequence sequence;
  private final List<URI> gateways;
  private final LoadProfile loadProfile;
  private final HttpClient http =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .connectTimeout(Duration.ofSeconds(2))
          .build();
  private final List<Thread> clients = new ArrayList<>();
  private final AtomicInteger acknowledged = new AtomicInteger();
  private final AtomicInteger refused = new AtomicInteger();
  private final AtomicInteger unanswered = new AtomicInteger();
  private final ConcurrentSkipListSet<String> unexpectedResponses = new ConcurrentSkipListSet<>();
  private volatile boolean stopped;
  private volatile FaultMark mark = new FaultMark(0);
  private volatile int poison = -1;

  /**
   * A moment, whose future is completed by the first acknowledgement of a request that began after
   * it.
   */
  private record FaultMark(long nanos, CompletableFuture<Long> acknowledged) {
    FaultMark(long nanos) {
      this(nanos, new CompletableFuture<>());
    }
  }

  private Workload(LogSequence sequence, List<URI> gateways, LoadProfile loadProfile) {
    this.sequence = sequence;
    this.gateways = gateways;
    this.loadProfile = loadProfile;
  }

  static Workload start(LogSequence logSequence, List<URI> gateways, LoadProfile loadProfile) {
    var workload = new Workload(logSequence, gateways, loadProfile);
    for (int i = 0; i < loadProfile.clients(); i++) {
      int client = i;
      workload.clients.add(
          Thread.ofVirtual().name("client-" + i).start(() -> workload.run(client)));
    }
    return workload;
  }

  /**
   * Makes one of the next logs a poison record, which the store must reject, and returns its
   * number.
   */
  int poison() {
    return poison = sequence.nextUnused() + loadProfile.clients() * loadProfile.logs();
  }

  private void run(int client) {
    long nextSend = System.nanoTime();
    for (int i = client; !stopped; i++) {
      send(gateways.get(i % gateways.size()), i % 2 == 0);
      nextSend =
          Math.max(
              nextSend + loadProfile.interval().toNanos(),
              System.nanoTime() - loadProfile.interval().toNanos());
      while (!stopped && System.nanoTime() < nextSend) {
        LockSupport.parkNanos(nextSend - System.nanoTime());
      }
    }
  }

  private void send(URI gateway, boolean otlp) {
    int first = sequence.allocate(loadProfile.logs());
    var request =
        otlp
            ? HttpRequest.newBuilder(gateway.resolve("/v1/logs"))
                .header("Content-Type", "application/x-protobuf")
                .POST(BodyPublishers.ofByteArray(otlp(first)))
            : HttpRequest.newBuilder(gateway.resolve("/api/v1/logs"))
                .header("Content-Type", "application/x-ndjson")
                .POST(BodyPublishers.ofByteArray(json(first)));
    var currentMark = mark;
    long start = System.nanoTime();
    try {
      var response = http.send(request.timeout(RESPONSE_TIMEOUT).build(), BodyHandlers.ofString());
      int status = response.statusCode();
      if (status == (otlp ? 200 : 202)) {
        sequence.acknowledge(first, loadProfile.logs());
        acknowledged.addAndGet(loadProfile.logs());
        if (start >= currentMark.nanos()) {
          currentMark.acknowledged().complete(System.nanoTime());
        }
        if (response.body().contains("\"rejected\":[{") || otlp && !response.body().isEmpty()) {
          unexpectedResponses.add("logs rejected");
        }
      } else if (status == 503 || status == 429) {
        refused.incrementAndGet();
      } else {
        unexpectedResponses.add("response with status " + status);
      }
    } catch (IOException _) {
      unanswered.incrementAndGet();
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  private byte[] otlp(int first) {
    var scope = ScopeLogs.newBuilder();
    for (int n = first; n < first + loadProfile.logs(); n++) {
      scope.addLogRecords(
          LogRecord.newBuilder()
              .setBody(text(body(n)))
              .addAttributes(attribute("n", Integer.toString(n))));
    }
    return ExportLogsServiceRequest.newBuilder()
        .addResourceLogs(
            ResourceLogs.newBuilder()
                .setResource(
                    Resource.newBuilder().addAttributes(attribute("service.name", sequence.run())))
                .addScopeLogs(scope))
        .build()
        .toByteArray();
  }

  private static KeyValue attribute(String key, String value) {
    return KeyValue.newBuilder().setKey(key).setValue(text(value)).build();
  }

  private static AnyValue text(String text) {
    return AnyValue.newBuilder().setStringValue(text).build();
  }

  private byte[] json(int first) {
    var lines = new StringBuilder();
    for (int n = first; n < first + loadProfile.logs(); n++) {
      lines.append(
          "{\"service\":\"%s\",\"body\":\"%s\",\"attributes\":{\"n\":\"%d\"}}\n"
              .formatted(sequence.run(), body(n), n));
    }
    return lines.toString().getBytes(UTF_8);
  }

  private String body(int n) {
    return sequence.run()
        + " "
        + n
        + " "
        + sequence.randomText(loadProfile.fillerBytes())
        + (n == poison ? POISON : "");
  }

  int acknowledged() {
    return acknowledged.get();
  }

  /**
   * Returns the number of requests that the gateway rejected with a status that permits a retry.
   */
  int refused() {
    return refused.get();
  }

  /** Returns the number of requests without a response: the connection was refused or closed. */
  int unanswered() {
    return unanswered.get();
  }

  /** Returns responses that no client may get. */
  List<String> unexpectedResponses() {
    return List.copyOf(unexpectedResponses);
  }

  /** Waits until {@code more} further logs are acknowledged. */
  void awaitAcknowledged(int more) {
    int target = acknowledged() + more;
    await("acknowledgements")
        .atMost(Duration.ofMinutes(4))
        .pollInterval(Duration.ofMillis(5))
        .until(() -> acknowledged() >= target);
  }

  /** Waits until {@code more} further requests are rejected or get no response. */
  void awaitRejected(int more) {
    int target = refused() + unanswered() + more;
    await("rejected requests")
        .atMost(Duration.ofMinutes(2))
        .pollInterval(Duration.ofMillis(5))
        .until(() -> refused() + unanswered() >= target);
  }

  /** Marks the moment from which requests count as new. */
  void mark() {
    mark = new FaultMark(System.nanoTime());
  }

  /**
   * Returns the time from the mark to the first acknowledgement of a request that began after it.
   */
  Duration awaitRecovery(Duration timeout) throws Exception {
    try {
      var currentMark = mark;
      return Duration.ofNanos(
          currentMark.acknowledged().get(timeout.toMillis(), TimeUnit.MILLISECONDS)
              - currentMark.nanos());
    } catch (TimeoutException e) {
      throw new IllegalStateException(
          "no log was acknowledged within " + timeout.toSeconds() + " s after the fault", e);
    }
  }

  Duration sinceMark() {
    return Duration.ofNanos(System.nanoTime() - mark.nanos());
  }

  /** Stops sending, and returns when no request is in progress. */
  void stop() throws InterruptedException {
    stopped = true;
    for (var client : clients) {
      LockSupport.unpark(client);
    }
    for (var client : clients) {
      client.join();
    }
  }

  @Override
  public void close() {
    stopped = true;
    clients.forEach(Thread::interrupt);
    http.shutdownNow();
  }
}
