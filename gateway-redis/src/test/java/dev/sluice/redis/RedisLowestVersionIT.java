package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import org.junit.jupiter.api.Test;
import redis.embedded.RedisServer;

/** The spool contract on the oldest supported version of Redis. */
final class RedisLowestVersionIT extends RedisSpoolIT {

  /** A server as the spool needs it, started at the first use. */
  private static final class Server {
    static final int PORT = start();

    private static int start() {
      try {
        int port = freePort();
        var server =
            RedisServer.newRedisServer()
                .port(port)
                .bind("127.0.0.1")
                .setting("dir " + Files.createTempDirectory("redis"))
                .setting("appendonly yes")
                .setting("appendfsync always")
                .setting("maxmemory-policy noeviction")
                .build();
        server.start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(server)));
        return port;
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    private static int freePort() throws IOException {
      try (var socket = new ServerSocket(0, 1, InetAddress.ofLiteral("127.0.0.1"))) {
        return socket.getLocalPort();
      }
    }

    private static void stop(RedisServer server) {
      try {
        server.stop();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  @Override
  String redisUrl() {
    return "redis://127.0.0.1:" + Server.PORT;
  }

  @Test
  void server_isTheOldestSupported() {
    assertThat(keys.redis().info("server")).contains("redis_version:6.2.");
  }
}
