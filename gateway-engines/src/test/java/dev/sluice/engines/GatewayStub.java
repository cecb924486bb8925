package dev.sluice.engines;

import java.nio.file.Path;

/**
 * A process that starts both engines and prints their processes and ports, for tests that kill it.
 */
final class GatewayStub {

  private GatewayStub() {}

  public static void main(String[] arguments) throws Exception {
    Path directory = Path.of(arguments[0]);
    EmbeddedRedis redis = EmbeddedRedis.start(EngineClients.redis(directory.resolve("redis")));
    EmbeddedClickHouse clickHouse =
        EmbeddedClickHouse.start(EngineClients.clickHouse(directory.resolve("clickhouse")));
    System.out.println("RUNNING " + redis.pid() + " " + clickHouse.pid() + " " + redis.port());
    System.in.read();
    Runtime.getRuntime().halt(0);
  }
}
