package dev.sluice.api.config;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;

/**
 * The filter of accepted logs.
 *
 * @param allowlistFile path of a file with the log bodies that the gateway accepts, one per line;
 *     the gateway reloads it when it changes; unset means that it accepts all logs
 */
@ConfigurationProperties("sluice.filter")
record FilterProperties(@Nullable Path allowlistFile) {}
