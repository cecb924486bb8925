/**
 * The gRPC receivers and queries: {@link OtlpLogsService}, {@link NativeLogsService} and {@link
 * LegacyLogsService}. {@link GrpcIngestPipeline} is their common ingest path. Only {@code boot}
 * uses this package; it does not depend on {@code http}.
 */
@NullMarked
package dev.sluice.api.grpc;

import org.jspecify.annotations.NullMarked;
