package dev.sluice.testkit;

import dev.sluice.engines.EmbeddedClickHouse;
import dev.sluice.engines.EmbeddedRedis;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A real Redis and a real ClickHouse, started at the first use and shared by all tests of a JVM.
 * Tests are isolated by their own keys and databases. Unit tests have no engines: a test that needs
 * one is named {@code *IT}.
 */
public final class SharedEngines {
  private SharedEngines() {}

  /**
   * @throws IllegalStateException in a unit test
   */
  public static EmbeddedRedis redis() {
    requireIntegrationTest();
    return Redis.ENGINE;
  }

  /**
   * @throws IllegalStateException in a unit test
   */
  public static EmbeddedClickHouse clickHouse() {
    requireIntegrationTest();
    return ClickHouse.ENGINE;
  }

  private static void requireIntegrationTest() {
    if ("false".equals(System.getProperty("sluice.test.engines"))) {
      throw new IllegalStateException("a test that needs an engine is named *IT");
    }
  }

  /**
   * Returns the directory of the ClickHouse library, which is kept between runs: one download for
   * each checkout.
   */
  public static Path cacheDirectory() {
    var configured = System.getProperty("sluice.cache");
    if (configured != null) {
      return Path.of(configured);
    }
    var folder = Path.of("").toAbsolutePath();
    while (!Files.isDirectory(folder.resolve(".mvn"))) {
      folder = folder.getParent();
      if (folder == null) {
        throw new IllegalStateException("not inside the repository; set -Dsluice.cache");
      }
    }
    return folder.resolve(".cache/sluice");
  }

  private static Path createDirectory(String name) {
    try {
      return Files.createDirectories(
          Path.of("target/engines/" + name + "-" + ProcessHandle.current().pid()));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static final class Redis {
    static final EmbeddedRedis ENGINE =
        EmbeddedRedis.start(
            new EmbeddedRedis.RedisEngineSettings(
                createDirectory("redis"), cacheDirectory(), 0, "512mb"));

    static {
      Runtime.getRuntime().addShutdownHook(new Thread(ENGINE::close));
    }
  }

  private static final class ClickHouse {
    static final EmbeddedClickHouse ENGINE =
        EmbeddedClickHouse.start(
            new EmbeddedClickHouse.ClickHouseEngineSettings(
                createDirectory("clickhouse"), cacheDirectory(), 0, 0, "sluice", "sluice", true));

    static {
      Runtime.getRuntime().addShutdownHook(new Thread(ENGINE::close));
    }
  }
}
