/**
 * The Spring configuration of the gateway: settings, life cycle and wiring. {@link
 * GatewayApplication} starts the process; each capability has a class {@code …Configuration}, which
 * declares its beans, and a record {@code …Properties}. This is the only package of the application
 * that names adapters; no other package depends on it.
 */
@NullMarked
package dev.sluice.api.config;

import org.jspecify.annotations.NullMarked;
