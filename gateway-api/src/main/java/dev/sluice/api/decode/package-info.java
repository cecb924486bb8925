/**
 * The parts of decoders that several protocols share, such as {@link OtlpRequestBuilder} and {@link
 * LenientJsonReader}, and OTLP in JSON, which {@code ops} also needs for dead letters. It depends
 * on no protocol, no Spring and no Reactor.
 */
@NullMarked
package dev.sluice.api.decode;

import org.jspecify.annotations.NullMarked;
