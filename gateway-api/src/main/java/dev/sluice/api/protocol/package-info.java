/**
 * The protocols: each is one package with its decoder, its HTTP side, its gRPC side and its
 * responses, and one public type, a {@link ProtocolRegistration}. Protocols do not depend on each
 * other; they share the packages {@code decode}, {@code http} and {@code grpc}.
 */
@NullMarked
package dev.sluice.api.protocol;

import org.jspecify.annotations.NullMarked;
