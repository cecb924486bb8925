/**
 * OTLP logs as bytes: the one walker that validates and reads them, and the writer that makes them.
 */
@NullMarked
package dev.sluice.core.otlp;

import org.jspecify.annotations.NullMarked;
