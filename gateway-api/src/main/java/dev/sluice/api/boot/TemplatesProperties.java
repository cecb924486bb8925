package dev.sluice.api.boot;

import dev.sluice.core.templates.MinerSettings;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
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
 * @param masks path of a file with patterns of values beside those that are known by their looks,
 *     one a line, {@code service /pattern/}, {@code *} for all services; read again when it changes
 */
@ConfigurationProperties("sluice.templates")
record TemplatesProperties(
    @DefaultValue("true") boolean enabled,
    @DefaultValue("2000") int perService,
    @DefaultValue("64MB") DataSize memory,
    @DefaultValue("10s") Duration keepUp,
    @Nullable Path masks) {

  TemplatesProperties {
    Setting.requireBetween(
        "sluice.templates.per-service", perService, 1, MinerSettings.MAX_TEMPLATES_PER_SERVICE);
    Setting.requireAtLeast("sluice.templates.memory", memory, MinerSettings.MIN_BYTES);
    Setting.requirePositive("sluice.templates.keep-up", keepUp);
  }

  MinerSettings miner() {
    return new MinerSettings(perService, memory.toBytes());
  }
}
