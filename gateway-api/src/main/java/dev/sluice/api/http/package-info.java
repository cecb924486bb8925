/**
 * The HTTP transport that the protocols share, the query API and the OpenAPI document. {@link
 * ApiRoutes} maps paths to handlers; {@link RequestContextFilter} creates the context of each
 * request; an {@link IngestRoute} is one format of logs. The package does not depend on {@code
 * grpc}.
 */
@NullMarked
package dev.sluice.api.http;

import org.jspecify.annotations.NullMarked;
