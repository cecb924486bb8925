/**
 * The driven ports of ingest and delivery: interfaces that adapters implement, such as {@link
 * Spool}, {@link SpoolConsumer} and {@link LogStore}. All packages of the core and all adapters use
 * them. A port names no technology; its contract is a test suite in {@code gateway-testkit}.
 */
@NullMarked
package dev.sluice.core.port;

import org.jspecify.annotations.NullMarked;
