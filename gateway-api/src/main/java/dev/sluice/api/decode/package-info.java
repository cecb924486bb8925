/**
 * Turns what clients send into OTLP bytes, whatever protocol carries it; knows neither HTTP nor
 * gRPC.
 */
@NullMarked
package dev.sluice.api.decode;

import org.jspecify.annotations.NullMarked;
