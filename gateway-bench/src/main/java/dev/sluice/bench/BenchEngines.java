package dev.sluice.bench;

import dev.sluice.engines.EmbeddedClickHouse;
import dev.sluice.engines.EmbeddedRedis;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A Redis and a ClickHouse as {@code make run} starts them, but not as children of a gateway, so
 * that several gateways can use them one after the other.
 */
final class BenchEngines implements AutoCloseable {
  private static final String NAME = "sluice";

  private final EmbeddedRedis redis;
  private final EmbeddedClickHouse clickHouse;
  private final ClickHouseAdmin clickHouseAdmin;

  /**
   * Starts the engines.
   *
   * @param redisMemory the memory limit in the syntax of Redis, such as {@code 1024mb}
   */
  BenchEngines(Path folder, String redisMemory) {
    redis =
        EmbeddedRedis.start(
            new EmbeddedRedis.RedisEngineSettings(
                folder.resolve("redis"), Path.of(".cache/sluice"), 0, redisMemory));
    clickHouse =
        EmbeddedClickHouse.start(
            new EmbeddedClickHouse.ClickHouseEngineSettings(
                folder.resolve("clickhouse"), Path.of(".cache/sluice"), 0, 0, NAME, NAME, true));
    clickHouseAdmin = new ClickHouseAdmin(clickHouse.url(), EmbeddedClickHouse.ADMINISTRATOR, NAME);
  }

  /** Returns the settings by which a gateway finds the engines. */
  String[] settings() {
    return new String[] {
      "--sluice.redis.url=" + redis.url(),
      "--sluice.clickhouse.url=" + clickHouse.url(),
      "--sluice.clickhouse.user=" + NAME,
      "--sluice.clickhouse.password=" + NAME
    };
  }

  ClickHouseAdmin database() {
    return clickHouseAdmin;
  }

  /** Returns the versions that both engines report. */
  String versions() throws IOException, InterruptedException {
    var output =
        LoadGenerator.run(Map.of(), List.of("/proc/" + redis.pid() + "/exe", "--version")).output();
    return "%s; ClickHouse %s".formatted(output.strip(), clickHouseAdmin.query("SELECT version()"));
  }

  /** Returns the statistics of the ClickHouse process. */
  ProcessStats clickHouseStats() {
    return new ProcessStats(clickHouse.pid(), Set.of());
  }

  /** Returns the statistics of the server, Redis and ClickHouse, each without the other two. */
  Map<String, ProcessStats> processStats(LogServer server) {
    var pids = new LinkedHashMap<String, Long>();
    pids.put("gateway", server.pid());
    pids.put("Redis", redis.pid());
    pids.put("ClickHouse", clickHouse.pid());
    var stats = new LinkedHashMap<String, ProcessStats>();
    pids.forEach(
        (name, pid) ->
            stats.put(
                name,
                new ProcessStats(
                    pid,
                    pids.values().stream()
                        .filter(other -> !other.equals(pid))
                        .collect(Collectors.toSet()))));
    return stats;
  }

  @Override
  public void close() {
    clickHouseAdmin.close();
    clickHouse.close();
    redis.close();
  }
}
