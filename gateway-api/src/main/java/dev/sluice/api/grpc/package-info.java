/** The gRPC surface: native logs, OTLP, and the service of the system Sluice grew out of. */
@NullMarked
package dev.sluice.api.grpc;

import org.jspecify.annotations.NullMarked;
