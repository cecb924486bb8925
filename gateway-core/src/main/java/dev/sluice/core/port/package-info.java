/**
 * The driven ports: interfaces that adapters implement, such as {@link Spool}, {@link
 * SpoolConsumer}, {@link LogStore} and {@link LogReader}. All packages of the core and all adapters
 * use them. A port names no technology; its contract is a test suite in {@code gateway-testkit}.
 */
@NullMarked
package dev.sluice.core.port;

import org.jspecify.annotations.NullMarked;
