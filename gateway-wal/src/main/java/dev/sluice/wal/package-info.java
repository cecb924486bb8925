/**
 * The spool on the local disk: a write-ahead log. {@link WalSpool} is the entry type; {@link
 * SegmentLog} writes the files, {@link WalSpoolConsumer} reads deliveries. Only {@code
 * dev.sluice.api.config} uses this package; it depends on the core, zstd and Jackson.
 */
@NullMarked
package dev.sluice.wal;

import org.jspecify.annotations.NullMarked;
