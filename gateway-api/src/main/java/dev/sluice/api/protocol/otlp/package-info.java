/**
 * The OpenTelemetry protocol: OTLP over HTTP, in protobuf or JSON, and over gRPC. Its registration
 * is {@link OtlpProtocol}.
 */
@NullMarked
package dev.sluice.api.protocol.otlp;

import org.jspecify.annotations.NullMarked;
