/**
 * Decoders from client formats to OTLP bytes, such as {@link NativeJsonDecoder} and {@link
 * OtlpJsonDecoder}, and encoders of stored logs. A failed decoder throws {@link DecodeException}.
 * The packages {@code http} and {@code grpc} use it, and {@code ops} for dead letters; it depends
 * on no protocol, no Spring and no Reactor.
 */
@NullMarked
package dev.sluice.api.decode;

import org.jspecify.annotations.NullMarked;
