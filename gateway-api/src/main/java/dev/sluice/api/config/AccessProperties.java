package dev.sluice.api.config;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;

/**
 * The credentials that the gateway requires.
 *
 * @param keysFile file of API keys, or directory of such files, such as a mounted secret; changes
 *     take effect within about a second; unset means that every request is permitted without a
 *     credential
 */
@ConfigurationProperties("sluice.security")
record AccessProperties(@Nullable Path keysFile) {}
