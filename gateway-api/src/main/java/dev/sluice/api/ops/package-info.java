/**
 * Management endpoints, health indicators and metrics, such as {@link LedgerEndpoint}, {@link
 * SpoolHealth} and {@link MicrometerMetrics}. Only {@code boot} uses this package; it reads the
 * ports and names no adapter.
 */
@NullMarked
package dev.sluice.api.ops;

import org.jspecify.annotations.NullMarked;
