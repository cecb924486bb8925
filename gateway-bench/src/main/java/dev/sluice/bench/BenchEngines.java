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
 * A Redis and a ClickHouse such as {@code make run} starts, but not as children of one gateway:
 * several may share them, one after the other.
 */
final class BenchEngines implements AutoCloseable {
  private static final String NAME = "sluice";

  private final EmbeddedRedis redis;
  private final EmbeddedClickHouse clickHouse;
  private final ClickHouseAdmin clickHouseAdmin;

  /**
   * @param redisMemory in the words of Redis
   */
  BenchEngines(Path folder, String redisMemory) {
    redis =
        EmbeddedRedis.start(new EmbeddedRedis.Settings(folder.resolve("redis"), 0, redisMemory));
    clickHouse =
        EmbeddedClickHouse.start(
            new EmbeddedClickHouse.Settings(
                folder.resolve("clickhouse"), Path.of(".cache/sluice"), 0, 0, NAME, NAME));
    clickHouseAdmin = new ClickHouseAdmin(clickHouse.url(), NAME, NAME);
  }

  /** By which a gateway finds them. */
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

  SpoolBacklog spoolBacklog() throws IOException {
    return SpoolBacklog.query(redis.port(), redis.password());
  }

  /** Of both, as they say it themselves. */
  String versions() throws IOException, InterruptedException {
    var output =
        LoadGenerator.run(Map.of(), List.of("/proc/" + redis.pid() + "/exe", "--version")).output();
    return "%s; ClickHouse %s".formatted(output.strip(), clickHouseAdmin.query("SELECT version()"));
  }

  /** ClickHouse alone. */
  ProcessStats clickHouseStats() {
    return new ProcessStats(clickHouse.pid(), Set.of());
  }

  /** The three whose cost is told, each without the others. */
  Map<String, ProcessStats> processStats(LogServer server) {
    var pids = new LinkedHashMap<String, Long>();
    pids.put("gateway", server.pid());
    pids.put("Redis", redis.pid());
    pids.put("ClickHouse", clickHouse.pid());
    var watched = new LinkedHashMap<String, ProcessStats>();
    pids.forEach(
        (name, pid) ->
            watched.put(
                name,
                new ProcessStats(
                    pid,
                    pids.values().stream()
                        .filter(other -> !other.equals(pid))
                        .collect(Collectors.toSet()))));
    return watched;
  }

  @Override
  public void close() {
    clickHouseAdmin.close();
    clickHouse.close();
    redis.close();
  }
}
