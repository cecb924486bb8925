/**
 * The Spring configuration of the gateway: settings, life cycle and wiring. {@link
 * GatewayApplication} starts the process, {@link GatewayConfiguration} declares the beans. This is
 * the only package of the application that names adapters; no other package depends on it.
 */
@NullMarked
package dev.sluice.api.config;

import org.jspecify.annotations.NullMarked;
