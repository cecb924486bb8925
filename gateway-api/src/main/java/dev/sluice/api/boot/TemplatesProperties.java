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
 * @param maxPerService templates that the messages of one service may bring in, from 1 to 100000;
 *     the messages after them that fit none are of the catch-all
 * @param memory what all templates may take, from 64KB
 * @param syncInterval how often what other gateways have learnt is read
 * @param customMasksFile path of a file with patterns of values beside those that are known by
 *     their looks, one a line, {@code service /pattern/}, {@code *} for all services; read again
 *     when it changes
 */
@ConfigurationProperties("sluice.templates")
record TemplatesProperties(
    @DefaultValue("true") boolean enabled,
    @DefaultValue("2000") int maxPerService,
    @DefaultValue("64MB") DataSize memory,
    @DefaultValue("10s") Duration syncInterval,
    @Nullable Path customMasksFile) {

  TemplatesProperties {
    PropertyChecks.requireBetween(
        "sluice.templates.max-per-service",
        maxPerService,
        1,
        MinerSettings.MAX_TEMPLATES_PER_SERVICE);
    PropertyChecks.requireAtLeast("sluice.templates.memory", memory, MinerSettings.MIN_BYTES);
    PropertyChecks.requirePositive("sluice.templates.sync-interval", syncInterval);
  }

  MinerSettings minerSettings() {
    return new MinerSettings(maxPerService, memory.toBytes());
  }
}
