package dev.sluice.api.config;

import dev.sluice.templates.MinerSettings;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * Mining of message templates.
 *
 * @param enabled whether the gateway mines templates; if not, logs are stored without a template
 * @param maxPerService templates of one service, from 1 to 100000; above it a message that matches
 *     no template gets the catch-all template {@code <*>}
 * @param memory estimated memory of the templates of all services, at least 64KB; above it a
 *     message that matches no template gets the catch-all template {@code <*>}
 * @param syncInterval interval at which the gateway reads the templates of other gateways
 * @param customMasksFile path of a file of regular expressions for values that the built-in masks
 *     do not recognize, one per line as {@code service /pattern/}, with {@code *} for all services;
 *     the gateway reloads it when it changes; unset means no custom masks
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
