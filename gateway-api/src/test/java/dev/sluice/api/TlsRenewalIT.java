package dev.sluice.api;

import static java.nio.file.StandardCopyOption.ATOMIC_MOVE;
import static java.nio.file.StandardCopyOption.REPLACE_EXISTING;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.api.config.GatewayApplication;
import dev.sluice.api.config.OtlpPort;
import dev.sluice.testkit.SharedEngines;
import io.grpc.Grpc;
import io.grpc.TlsChannelCredentials;
import io.opentelemetry.proto.collector.logs.v1.LogsServiceGrpc;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.Certificate;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.grpc.server.lifecycle.GrpcServerLifecycle;

/** Renews the certificate of all ports under load: no request fails, and no port is restarted. */
@Timeout(180)
class TlsRenewalIT {
  @TempDir private static Path folder;

  private final ConcurrentLinkedQueue<String> failures = new ConcurrentLinkedQueue<>();
  private final AtomicBoolean stopped = new AtomicBoolean();

  private static ConfigurableApplicationContext start(Path store) {
    var spring = new SpringApplication(GatewayApplication.class);
    spring.setRegisterShutdownHook(false);
    return spring.run(
        "--server.port=0",
        "--server.ssl.bundle=gateway",
        "--management.server.port=0",
        "--spring.grpc.server.port=0",
        "--spring.grpc.server.ssl.bundle=gateway",
        "--spring.ssl.bundle.watch.file.quiet-period=50ms",
        "--spring.ssl.bundle.jks.gateway.reload-on-update=true",
        "--spring.ssl.bundle.jks.gateway.keystore.location=" + store.toUri(),
        "--spring.ssl.bundle.jks.gateway.keystore.password=" + TlsCertificates.PASSWORD,
        "--spring.jmx.enabled=false",
        "--sluice.roles=ingest",
        "--sluice.instance=tls-renewal",
        "--sluice.ingest.otlp-http-port=0",
        "--sluice.wal.dir=" + store.resolveSibling("wal"),
        "--sluice.redis.url=" + SharedEngines.redis().url(),
        "--sluice.clickhouse.url=" + SharedEngines.clickHouse().url(),
        "--sluice.clickhouse.password=" + SharedEngines.clickHouse().password());
  }

  private static SSLContext client(TrustManager[] trust) throws Exception {
    var context = SSLContext.getInstance("TLS");
    context.init(null, trust, null);
    return context;
  }

  /** Returns the certificate that a new connection gets. */
  private static Certificate presented(TrustManager[] trust, int port) {
    // a context without sessions to resume
    try (var socket =
        (SSLSocket) client(trust).getSocketFactory().createSocket("localhost", port)) {
      socket.startHandshake();
      return socket.getSession().getPeerCertificates()[0];
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private static void get(SSLContext context, int port) throws Exception {
    try (var http = HttpClient.newBuilder().sslContext(context).build()) {
      var request =
          HttpRequest.newBuilder(URI.create("https://localhost:" + port + "/actuator/health"))
              .timeout(Duration.ofSeconds(30))
              .build();
      var status = http.send(request, BodyHandlers.discarding()).statusCode();
      if (status >= 500) {
        throw new IOException("status " + status);
      }
    }
  }

  private static void export(TrustManager[] trust, int port) throws Exception {
    var credentials = TlsChannelCredentials.newBuilder().trustManager(trust).build();
    var channel = Grpc.newChannelBuilderForAddress("localhost", port, credentials).build();
    try {
      var _ =
          LogsServiceGrpc.newBlockingStub(channel)
              .withDeadlineAfter(30, TimeUnit.SECONDS)
              .export(Otlp.request("tls-renewal", "b"));
    } finally {
      channel.shutdownNow().awaitTermination(30, TimeUnit.SECONDS);
    }
  }

  private Thread repeat(AtomicInteger requests, Callable<?> request) {
    return Thread.ofVirtual()
        .start(
            () -> {
              while (!stopped.get()) {
                try {
                  request.call();
                  requests.incrementAndGet();
                } catch (Exception e) {
                  failures.add(e.toString());
                }
              }
            });
  }

  @Test
  void renew_underLoad_everyPortHasTheNewCertificateAndNoRequestFails() throws Exception {
    var store = TlsCertificates.create(folder.resolve("gateway.p12"));
    var renewed = TlsCertificates.create(folder.resolve("renewed.p12"));
    var trust = TlsCertificates.trusting(store, renewed);
    var old = TlsCertificates.of(store);
    var expected = TlsCertificates.of(renewed);
    var application = start(store);
    int http = port(application, "local.server.port");
    int otlp = OtlpPort.of(application);
    int management = port(application, "local.management.port");
    int grpc = application.getBean(GrpcServerLifecycle.class).getPort();
    var ports = List.of(http, otlp, management, grpc);
    assertThat(ports).allSatisfy(port -> assertThat(presented(trust, port)).isEqualTo(old));
    var requests = List.of(new AtomicInteger(), new AtomicInteger());
    var context = client(trust);
    var load =
        List.of(
            repeat(
                requests.get(0),
                () -> {
                  get(context, http);
                  get(context, otlp);
                  get(context, management);
                  return null;
                }),
            repeat(
                requests.get(1),
                () -> {
                  export(trust, grpc);
                  return null;
                }));
    await()
        .atMost(Duration.ofSeconds(60))
        .until(() -> requests.stream().allMatch(count -> count.get() > 2));

    Files.move(renewed, store, ATOMIC_MOVE, REPLACE_EXISTING);

    for (int port : ports) {
      await()
          .atMost(Duration.ofSeconds(60))
          .untilAsserted(() -> assertThat(presented(trust, port)).isEqualTo(expected));
    }
    var before = requests.stream().map(AtomicInteger::get).toList();
    await()
        .atMost(Duration.ofSeconds(60))
        .until(
            () ->
                requests.get(0).get() > before.get(0) + 2
                    && requests.get(1).get() > before.get(1) + 2);
    stopped.set(true);
    for (var thread : load) {
      thread.join();
    }
    assertThat(failures).isEmpty();
  }

  private static int port(ConfigurableApplicationContext application, String property) {
    return Integer.parseInt(application.getEnvironment().getRequiredProperty(property));
  }
}
