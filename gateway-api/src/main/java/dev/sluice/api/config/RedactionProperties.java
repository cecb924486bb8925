package dev.sluice.api.config;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;

/**
 * The redaction of sensitive values.
 *
 * @param rulesFile path of a YAML file with the rules; the gateway reloads it when it changes;
 *     unset means that nothing is redacted
 */
@ConfigurationProperties("sluice.redaction")
record RedactionProperties(@Nullable Path rulesFile) {}
