package dev.sluice.api.config;

import java.nio.file.Path;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The engines that the gateway starts when no URL is configured. They listen on loopback only.
 *
 * @param dataDir directory of the data of the engines
 * @param cacheDir directory of the ClickHouse library and of Valkey, which are downloaded once
 * @param redis Redis as a child process
 * @param clickhouse ClickHouse as a child process
 */
@ConfigurationProperties("sluice.engines")
record EnginesProperties(
    @DefaultValue("./data") Path dataDir,
    @DefaultValue("./.cache/sluice") Path cacheDir,
    @DefaultValue Redis redis,
    @DefaultValue ClickHouse clickhouse) {

  /**
   * Settings of the managed Redis.
   *
   * @param port port of the managed Redis; 0 means any free port
   * @param maxMemory memory limit of the managed Redis in the format of redis.conf, such as {@code
   *     512mb}; at the limit Redis rejects logs
   */
  record Redis(@DefaultValue("16379") int port, @DefaultValue("1gb") String maxMemory) {
    Redis {
      PropertyChecks.requirePort("sluice.engines.redis.port", port);
    }
  }

  /**
   * Settings of the managed ClickHouse.
   *
   * @param httpPort HTTP port of the managed ClickHouse; 0 means any free port
   * @param tcpPort port of the native protocol of the managed ClickHouse; 0 means any free port
   */
  record ClickHouse(@DefaultValue("18123") int httpPort, @DefaultValue("19000") int tcpPort) {
    ClickHouse {
      PropertyChecks.requirePort("sluice.engines.clickhouse.http-port", httpPort);
      PropertyChecks.requirePort("sluice.engines.clickhouse.tcp-port", tcpPort);
    }
  }
}
