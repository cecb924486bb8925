/**
 * Turns what clients send into OTLP bytes, whatever protocol carries it, and stored logs into the
 * words of a surface that two protocols share; knows neither HTTP nor gRPC.
 */
@NullMarked
package dev.sluice.api.decode;

import org.jspecify.annotations.NullMarked;
