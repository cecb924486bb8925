/**
 * Delivery: moves batches from a {@link dev.sluice.core.port.SpoolConsumer} to a {@link
 * dev.sluice.core.port.LogStore}. {@link DeliveryWorker} is the entry type. The application starts
 * the workers, and spool adapters use {@link DeliveryAccumulator}; this package does not depend on
 * {@code core.ingest}.
 */
@NullMarked
package dev.sluice.core.delivery;

import org.jspecify.annotations.NullMarked;
