/**
 * The gRPC transport that the protocols share: the {@link RequestContextInterceptor}, the reading
 * of messages within the memory budget, blocking calls and statuses. {@link GrpcIngest} hands
 * messages to the ingest path. The package does not depend on {@code http}.
 */
@NullMarked
package dev.sluice.api.grpc;

import org.jspecify.annotations.NullMarked;
