package dev.sluice.testkit;

import java.time.Duration;
import org.junit.jupiter.api.Assumptions;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.DockerImageName;

/**
 * Redis and ClickHouse in containers, from the official images, for machines with a Docker engine.
 * Without a Docker engine, a test that requests a container is skipped with the reason. Only for
 * tests with the tag {@code container}.
 *
 * <p>The system properties {@code sluice.test.redis-image} and {@code sluice.test.clickhouse-image}
 * select other images, such as those of a private registry.
 */
public final class Containers {
  private static final int REDIS_PORT = 6379;
  private static final int CLICKHOUSE_PORT = 8123;
  private static final Duration START_TIMEOUT = Duration.ofMinutes(2);

  private Containers() {}

  /**
   * Returns the URL of a Redis that is started at the first call and shared by all tests of a JVM.
   */
  public static String redisUrl() {
    requireDocker();
    return "redis://%s:%d"
        .formatted(Redis.CONTAINER.getHost(), Redis.CONTAINER.getMappedPort(REDIS_PORT));
  }

  /**
   * Returns the URL of a ClickHouse that is started at the first call and shared by all tests of a
   * JVM; user and password are {@code sluice}.
   */
  public static String clickHouseUrl() {
    requireDocker();
    return "http://%s:%d"
        .formatted(
            ClickHouse.CONTAINER.getHost(), ClickHouse.CONTAINER.getMappedPort(CLICKHOUSE_PORT));
  }

  private static void requireDocker() {
    Assumptions.assumeTrue(
        DockerClientFactory.instance().isDockerAvailable(), "container: no Docker engine responds");
  }

  private static DockerImageName image(String name, String defaultImage) {
    return DockerImageName.parse(System.getProperty("sluice.test." + name, defaultImage));
  }

  @SuppressWarnings("resource") // Testcontainers stops it at the end of the JVM
  private static final class Redis {
    static final GenericContainer<?> CONTAINER =
        new GenericContainer<>(image("redis-image", "redis:6.2"))
            .withCommand(
                "redis-server",
                "--appendonly",
                "yes",
                "--bind",
                "0.0.0.0",
                "--protected-mode",
                "no")
            .withExposedPorts(REDIS_PORT)
            .withStartupTimeout(START_TIMEOUT);

    static {
      CONTAINER.start();
    }
  }

  @SuppressWarnings("resource")
  private static final class ClickHouse {
    static final GenericContainer<?> CONTAINER =
        new GenericContainer<>(image("clickhouse-image", "clickhouse/clickhouse-server:26.7"))
            .withEnv("CLICKHOUSE_USER", "sluice")
            .withEnv("CLICKHOUSE_PASSWORD", "sluice")
            .withExposedPorts(CLICKHOUSE_PORT)
            .waitingFor(Wait.forHttp("/ping").forPort(CLICKHOUSE_PORT))
            .withStartupTimeout(START_TIMEOUT);

    static {
      CONTAINER.start();
    }
  }
}
