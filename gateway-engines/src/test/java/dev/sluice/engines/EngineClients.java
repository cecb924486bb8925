package dev.sluice.engines;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Settings and minimal clients of both engines for tests. */
final class EngineClients {

  static final String PASSWORD = "correct horse";

  private static final Duration TIMEOUT = Duration.ofSeconds(30);

  private EngineClients() {}

  /**
   * Returns the cache directory, one for the whole checkout, because a fetch of its content takes
   * minutes.
   */
  static Path cache() {
    String chosen = System.getProperty("sluice.cache");
    if (chosen != null) {
      return Path.of(chosen);
    }
    Path root = Path.of("").toAbsolutePath();
    while (root != null && !Files.exists(root.resolve(".mvn"))) {
      root = root.getParent();
    }
    if (root == null) {
      throw new IllegalStateException("not below a folder with .mvn; set sluice.cache");
    }
    return root.resolve(".cache/sluice");
  }

  static EmbeddedClickHouse.ClickHouseEngineSettings clickHouse(Path directory) {
    return new EmbeddedClickHouse.ClickHouseEngineSettings(
        directory, cache(), 0, 0, "sluice", PASSWORD, false);
  }

  static EmbeddedRedis.RedisEngineSettings redis(Path directory) {
    return new EmbeddedRedis.RedisEngineSettings(directory, cache(), 0, "64mb");
  }

  /** Returns the text of the response, also of an error response. */
  static String query(EmbeddedClickHouse engine, String sql) throws Exception {
    return query(engine, "sluice", PASSWORD, sql);
  }

  static String query(EmbeddedClickHouse engine, String user, String password, String sql)
      throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(engine.url()))
            .header("X-ClickHouse-User", user)
            .header("X-ClickHouse-Key", password)
            .timeout(TIMEOUT)
            .POST(BodyPublishers.ofString(sql))
            .build();
    // one client for each query, since a stop of ClickHouse waits for idle connections
    try (HttpClient http = HttpClient.newHttpClient()) {
      return http.send(request, BodyHandlers.ofString()).body().strip();
    }
  }

  /**
   * Sends a hello of the native protocol and returns the first byte of the response: 0 for a hello,
   * 2 for an exception, -1 when the server closes the connection.
   */
  static int hello(EmbeddedClickHouse engine, String user, String password) throws IOException {
    ByteArrayOutputStream hello = new ByteArrayOutputStream();
    hello.write(0);
    string(hello, "test");
    hello.write(1); // major
    hello.write(1); // minor
    hello.write(new byte[] {(byte) 0xa2, (byte) 0xa8, 3}); // revision 54306
    string(hello, "default");
    string(hello, user);
    string(hello, password);
    try (Socket socket = new Socket(InetAddress.ofLiteral("127.0.0.1"), engine.tcpPort())) {
      socket.setSoTimeout((int) TIMEOUT.toMillis());
      socket.getOutputStream().write(hello.toByteArray());
      return socket.getInputStream().read();
    } catch (SocketException _) {
      return -1;
    }
  }

  private static void string(ByteArrayOutputStream out, String text) {
    out.write(text.length());
    out.writeBytes(text.getBytes(UTF_8));
  }

  /**
   * Sends the commands after AUTH with the password, or without AUTH for an empty password; returns
   * the response to the last command.
   */
  static String redis(int port, String password, String... commands) throws IOException {
    try (Socket socket = new Socket(InetAddress.ofLiteral("127.0.0.1"), port)) {
      socket.setSoTimeout((int) TIMEOUT.toMillis());
      BufferedReader lines =
          new BufferedReader(new InputStreamReader(socket.getInputStream(), UTF_8));
      if (!password.isEmpty()) {
        send(socket, lines, "AUTH " + password);
      }
      String body = "";
      for (String command : commands) {
        body = send(socket, lines, command);
      }
      return body;
    }
  }

  private static String send(Socket socket, BufferedReader lines, String command)
      throws IOException {
    socket.getOutputStream().write((command + "\r\n").getBytes(UTF_8));
    String line = lines.readLine();
    return line.startsWith("$") && !line.equals("$-1") ? lines.readLine() : line;
  }

  static void eventually(Callable<Boolean> condition) throws Exception {
    long deadline = System.nanoTime() + TIMEOUT.toNanos();
    while (!condition.call()) {
      if (System.nanoTime() > deadline) {
        throw new AssertionError("not within " + TIMEOUT);
      }
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
    }
  }

  static void awaitExit(ProcessHandle process) throws Exception {
    process.onExit().get(TIMEOUT.toSeconds(), TimeUnit.SECONDS);
  }
}
