/**
 * OTLP logs as bytes: {@link OtlpWalker} validates and reads them, {@link OtlpWriter} writes them.
 * Decoders, ingest, delivery and all adapters use it, so that all of them have the same definition
 * of a record.
 */
@NullMarked
package dev.sluice.core.otlp;

import org.jspecify.annotations.NullMarked;
