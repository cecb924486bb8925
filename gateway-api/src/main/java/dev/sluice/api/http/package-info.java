/**
 * The HTTP receivers, the query API and the OpenAPI document. {@link ApiRoutes} maps paths to
 * handlers; {@link HttpIngestPipeline} is the common ingest path. Only {@code boot} uses this
 * package; it does not depend on {@code grpc}.
 */
@NullMarked
package dev.sluice.api.http;

import org.jspecify.annotations.NullMarked;
