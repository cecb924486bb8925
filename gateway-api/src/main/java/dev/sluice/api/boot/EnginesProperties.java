package dev.sluice.api.boot;

import java.nio.file.Path;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The engines that the gateway starts when it is not told of others. They listen on loopback only.
 *
 * @param dataDir where their data lie
 * @param cacheDir where the ClickHouse library is kept once it was fetched
 * @param redis the embedded Redis
 * @param clickhouse the embedded ClickHouse
 */
@ConfigurationProperties("sluice.engines")
record EnginesProperties(
    @DefaultValue("./data") Path dataDir,
    @DefaultValue("./.cache/sluice") Path cacheDir,
    @DefaultValue Redis redis,
    @DefaultValue ClickHouse clickhouse) {

  /**
   * @param port 0 for any free one
   * @param maxMemory at which Redis takes no more logs, in Redis' notation
   */
  record Redis(@DefaultValue("16379") int port, @DefaultValue("1gb") String maxMemory) {
    Redis {
      PropertyChecks.requirePort("sluice.engines.redis.port", port);
    }
  }

  /**
   * @param httpPort 0 for any free one
   * @param tcpPort native protocol; 0 for any free one
   */
  record ClickHouse(@DefaultValue("18123") int httpPort, @DefaultValue("19000") int tcpPort) {
    ClickHouse {
      PropertyChecks.requirePort("sluice.engines.clickhouse.http-port", httpPort);
      PropertyChecks.requirePort("sluice.engines.clickhouse.tcp-port", tcpPort);
    }
  }
}
