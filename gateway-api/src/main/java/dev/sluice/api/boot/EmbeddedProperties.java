package dev.sluice.api.boot;

import java.nio.file.Path;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The engines that the gateway starts when it is not told of others. They listen on loopback only.
 *
 * @param directory where their data lie
 * @param cache where the ClickHouse library is kept once it was fetched
 * @param redis the embedded Redis
 * @param clickhouse the embedded ClickHouse
 */
@ConfigurationProperties("sluice.embedded")
record EmbeddedProperties(
    @DefaultValue("./data") Path directory,
    @DefaultValue("./.cache/sluice") Path cache,
    @DefaultValue Redis redis,
    @DefaultValue ClickHouse clickhouse) {

  /**
   * @param port 0 for any free one
   * @param maxMemory at which Redis takes no more logs, in Redis' notation
   */
  record Redis(@DefaultValue("16379") int port, @DefaultValue("1gb") String maxMemory) {
    Redis {
      Setting.requirePort("sluice.embedded.redis.port", port);
    }
  }

  /**
   * @param httpPort 0 for any free one
   * @param tcpPort native protocol; 0 for any free one
   */
  record ClickHouse(@DefaultValue("18123") int httpPort, @DefaultValue("19000") int tcpPort) {
    ClickHouse {
      Setting.requirePort("sluice.embedded.clickhouse.http-port", httpPort);
      Setting.requirePort("sluice.embedded.clickhouse.tcp-port", tcpPort);
    }
  }
}
