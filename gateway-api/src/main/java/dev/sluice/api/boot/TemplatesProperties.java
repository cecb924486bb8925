package dev.sluice.api.boot;

import dev.sluice.core.templates.MinerSettings;
import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * Templates of messages.
 *
 * @param enabled whether logs are told their template; those that are not have none
 * @param perService templates that the messages of one service may bring in, from 1 to 100000; the
 *     messages after them that fit none are of the catch-all
 * @param memory what all templates may take, from 64KB
 * @param keepUp how often what other gateways have learnt is read
 */
@ConfigurationProperties("sluice.templates")
record TemplatesProperties(
    @DefaultValue("true") boolean enabled,
    @DefaultValue("2000") int perService,
    @DefaultValue("64MB") DataSize memory,
    @DefaultValue("10s") Duration keepUp) {

  TemplatesProperties {
    Setting.requirePositive("sluice.templates.keep-up", keepUp);
  }

  MinerSettings miner() {
    return new MinerSettings(perService, memory.toBytes());
  }
}
