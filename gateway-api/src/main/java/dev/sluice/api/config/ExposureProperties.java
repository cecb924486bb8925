package dev.sluice.api.config;

import java.util.List;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The exposure of the ports to other machines and to web pages.
 *
 * @param insecure whether the gateway starts although other machines reach a port without keys or
 *     TLS; it logs a warning each hour, and health shows it
 * @param allowedHosts host names of this gateway in the header {@code Host} of HTTP requests, such
 *     as {@code logs.example.com}, or {@code *} for any; IP addresses, {@code localhost} and {@code
 *     sluice.bind} are always allowed; a request to another name gets 421, because a web page can
 *     point a name of its own to this gateway
 */
@ConfigurationProperties("sluice.security")
record ExposureProperties(
    @DefaultValue("false") boolean insecure, @DefaultValue List<String> allowedHosts) {}
