package dev.sluice.bench;

import dev.sluice.embedded.EmbeddedClickHouse;
import dev.sluice.embedded.EmbeddedRedis;
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
final class Engines implements AutoCloseable {
  private static final String NAME = "sluice";

  private final EmbeddedRedis redis;
  private final EmbeddedClickHouse clickHouse;
  private final Database database;

  /**
   * @param redisMemory in the words of Redis
   */
  Engines(Path folder, String redisMemory) {
    redis =
        EmbeddedRedis.start(new EmbeddedRedis.Settings(folder.resolve("redis"), 0, redisMemory));
    clickHouse =
        EmbeddedClickHouse.start(
            new EmbeddedClickHouse.Settings(
                folder.resolve("clickhouse"), Path.of(".cache/sluice"), 0, 0, NAME, NAME));
    database = new Database(clickHouse.url(), NAME, NAME);
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

  Database database() {
    return database;
  }

  Spooled spooled() throws IOException {
    return Spooled.ask(redis.port(), redis.password());
  }

  /** Of both, as they say it themselves. */
  String versions() throws IOException, InterruptedException {
    var said =
        Generator.run(Map.of(), List.of("/proc/" + redis.pid() + "/exe", "--version")).said();
    return "%s; ClickHouse %s".formatted(said.strip(), database.ask("SELECT version()"));
  }

  /** ClickHouse alone. */
  Watched clickHouse() {
    return new Watched(clickHouse.pid(), Set.of());
  }

  /** The three whose cost is told, each without the others. */
  Map<String, Watched> watched(LogServer server) {
    var pids = new LinkedHashMap<String, Long>();
    pids.put("gateway", server.pid());
    pids.put("Redis", redis.pid());
    pids.put("ClickHouse", clickHouse.pid());
    var watched = new LinkedHashMap<String, Watched>();
    pids.forEach(
        (name, pid) ->
            watched.put(
                name,
                new Watched(
                    pid,
                    pids.values().stream()
                        .filter(other -> !other.equals(pid))
                        .collect(Collectors.toSet()))));
    return watched;
  }

  @Override
  public void close() {
    database.close();
    clickHouse.close();
    redis.close();
  }
}
