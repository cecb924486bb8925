package dev.sluice.api.faults;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The way between the gateway and one engine, on which things go wrong when told to. Safe for use
 * by many threads; the port stays the same.
 */
final class Wire implements AutoCloseable {
  private static final int CHUNK = 64 << 10;
  private static final int SLOW_CHUNK = 4 << 10;

  private final ServerSocket server;
  private final int target;
  private final Set<Socket> open = ConcurrentHashMap.newKeySet();
  private final AtomicInteger toCut = new AtomicInteger();
  private final AtomicInteger cut = new AtomicInteger();
  private final AtomicLong sent = new AtomicLong();
  private final AtomicLong free = new AtomicLong(System.nanoTime());
  private volatile @Nullable Pattern answer;
  private volatile String parameters = "";
  private volatile long bytesPerSecond; // 0: as fast as it goes
  private volatile boolean apart;
  private volatile boolean apartAfterCut;

  /**
   * @param target loopback port of the engine
   */
  Wire(int target) throws IOException {
    this.target = target;
    this.server = new ServerSocket(0, 64, InetAddress.getLoopbackAddress());
    Thread.ofVirtual().name("wire-" + target).start(this::accept);
  }

  int port() {
    return server.getLocalPort();
  }

  /** Bytes that went to the engine. */
  long sent() {
    return sent.get();
  }

  /**
   * The next answers that look like this never arrive: their connection ends instead.
   *
   * @param apart whether nothing passes after the last of them, until {@link #join}
   */
  void cutAnswers(Pattern answer, int times, boolean apart) {
    this.answer = answer;
    apartAfterCut = apart;
    toCut.set(times);
  }

  /** Answers that did not arrive. */
  int cut() {
    return cut.get();
  }

  /** What passes through in a second, all connections together; 0 for all there is. */
  void slow(long bytesPerSecond) {
    free.set(System.nanoTime());
    this.bytesPerSecond = bytesPerSecond;
  }

  /** Parameters that every HTTP request to the engine gets, such as {@code readonly=1}. */
  void parameters(String parameters) {
    this.parameters = parameters;
  }

  /** Lets everything pass again. */
  void join() {
    apart = false;
  }

  private void accept() {
    while (!server.isClosed()) {
      try {
        var client = server.accept();
        var engine = new Socket();
        open.add(client);
        open.add(engine);
        if (apart) {
          end(client, engine);
          continue;
        }
        try {
          client.setTcpNoDelay(true);
          engine.setTcpNoDelay(true);
          engine.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), target), 2_000);
        } catch (IOException _) {
          end(client, engine);
          continue;
        }
        Thread.ofVirtual().start(() -> forth(client, engine));
        Thread.ofVirtual().start(() -> back(client, engine));
      } catch (IOException _) {
        // closed, or a client that left at once
      }
    }
  }

  private void forth(Socket client, Socket engine) {
    try {
      var in = client.getInputStream();
      var out = engine.getOutputStream();
      var chunk = new byte[CHUNK];
      while (true) {
        int n = in.read(chunk, 0, bytesPerSecond == 0 ? CHUNK : SLOW_CHUNK);
        if (n < 0) {
          return;
        }
        pace(n);
        sent.addAndGet(n);
        if (parameters.isEmpty()) {
          out.write(chunk, 0, n);
        } else {
          out.write(
              new String(chunk, 0, n, ISO_8859_1)
                  .replace("POST /?", "POST /?" + parameters + "&")
                  .getBytes(ISO_8859_1));
        }
      }
    } catch (IOException _) {
      // the connection is over
    } finally {
      end(client, engine);
    }
  }

  /** Each chunk waits until those before it have had their time. */
  private void pace(int bytes) {
    long rate = bytesPerSecond;
    if (rate == 0) {
      return;
    }
    long mine =
        free.updateAndGet(at -> Math.max(at, System.nanoTime()) + bytes * 1_000_000_000L / rate);
    while (bytesPerSecond != 0 && System.nanoTime() < mine) {
      LockSupport.parkNanos(Math.min(mine - System.nanoTime(), 50_000_000));
    }
  }

  private void back(Socket client, Socket engine) {
    try {
      var in = engine.getInputStream();
      var out = client.getOutputStream();
      var chunk = new byte[CHUNK];
      for (int n = in.read(chunk); n >= 0; n = in.read(chunk)) {
        var pattern = answer;
        if (toCut.get() > 0
            && pattern != null
            && pattern.matcher(new String(chunk, 0, n, ISO_8859_1)).find()
            && toCut.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
          if (apartAfterCut && toCut.get() == 0) {
            apart = true;
            open.forEach(Wire::end);
          }
          cut.incrementAndGet();
          return;
        }
        out.write(chunk, 0, n);
      }
    } catch (IOException _) {
      // the connection is over
    } finally {
      end(client, engine);
    }
  }

  private void end(Socket client, Socket engine) {
    open.remove(client);
    open.remove(engine);
    end(client);
    end(engine);
  }

  private static void end(Socket socket) {
    try {
      socket.close();
    } catch (IOException _) {
      // as good as closed
    }
  }

  @Override
  public void close() {
    try {
      server.close();
    } catch (IOException _) {
      // as good as closed
    }
    open.forEach(Wire::end);
  }
}
