/** The gRPC surface: OTLP, and the service of the system Sluice grew out of. */
@NullMarked
package dev.sluice.api.grpc;

import org.jspecify.annotations.NullMarked;
