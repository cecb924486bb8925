/** OTLP over gRPC. */
@NullMarked
package dev.sluice.api.grpc;

import org.jspecify.annotations.NullMarked;
