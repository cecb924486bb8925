package dev.sluice.api;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.LogReader;
import dev.sluice.query.read.ConcurrencyLimitedReader;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import reactor.netty.DisposableServer;

/** Checks that the queries of one client do not stop the queries of another. */
@Timeout(60)
class FairQueriesTest {
  private final CountDownLatch started = new CountDownLatch(6);
  private final DisposableServer http =
      IngestFixture.startQueryServer(new ConcurrencyLimitedReader(new HeavyReader(), 8));

  @AfterEach
  void stop() {
    http.disposeNow();
  }

  @Test
  void get_eightHeavyQueriesOfOneClient_anotherClientIsServed() throws Exception {
    var heavy = new ArrayList<Socket>();
    try {
      for (int i = 0; i < 8; i++) {
        heavy.add(get("127.0.0.1", "/api/v1/logs?service=heavy"));
      }
      started.await();

      try (var other = get("127.0.0.2", "/api/v1/logs?service=cheap")) {
        assertThat(statusLine(other)).isEqualTo("HTTP/1.1 200");
      }
      try (var same = get("127.0.0.1", "/api/v1/logs?service=cheap")) {
        assertThat(statusLine(same)).isEqualTo("HTTP/1.1 503");
      }
    } finally {
      for (var client : heavy) {
        client.close();
      }
    }
  }

  private Socket get(String address, String path) throws IOException {
    var socket = new Socket();
    socket.bind(new InetSocketAddress(address, 0));
    socket.connect(new InetSocketAddress("127.0.0.1", http.port()));
    socket.setSoTimeout(20_000);
    socket
        .getOutputStream()
        .write("GET %s HTTP/1.1\r\nHost: x\r\n\r\n".formatted(path).getBytes(US_ASCII));
    return socket;
  }

  private static String statusLine(Socket socket) throws IOException {
    return new String(socket.getInputStream().readNBytes(12), US_ASCII);
  }

  /** A reader whose queries for the service {@code heavy} do not end. */
  private final class HeavyReader implements LogReader {
    @Override
    public LogPage read(Query query) throws InterruptedException {
      if ("heavy".equals(query.filter().service())) {
        started.countDown();
        new CountDownLatch(1).await();
      }
      return new LogPage(List.of(), null);
    }

    @Override
    public TimeExtent timeExtent(LogFilter filter) {
      return new TimeExtent(0, 0, 0);
    }

    @Override
    public List<HistogramBucket> histogram(LogFilter filter, long origin, long width) {
      return List.of();
    }
  }
}
