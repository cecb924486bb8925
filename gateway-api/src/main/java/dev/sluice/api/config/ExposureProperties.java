package dev.sluice.api.config;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The exposure of the ports to other machines.
 *
 * @param insecure whether the gateway starts although other machines reach a port without keys or
 *     TLS; it logs a warning each hour, and health shows it
 */
@ConfigurationProperties("sluice.security")
record ExposureProperties(@DefaultValue("false") boolean insecure) {}
