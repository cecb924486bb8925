/**
 * The access to routes: the rules of routes and methods, the credentials of requests, and the
 * decision. It knows neither HTTP handlers nor gRPC calls; both transports ask {@link
 * dev.sluice.api.security.AccessControl} in one place each.
 */
@NullMarked
package dev.sluice.api.security;

import org.jspecify.annotations.NullMarked;
