package dev.sluice.api.boot;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;

/**
 * Which logs are taken.
 *
 * @param allowlistFile path of a file with the messages that are taken, one a line, read again when
 *     it changes; when unset every log is taken
 */
@ConfigurationProperties("sluice.filter")
record FilterProperties(@Nullable Path allowlistFile) {}
