/**
 * What a gateway was like before each of its ideas: small servers of their own that take the JSON
 * of {@code POST /api/v1/logs} and store it in {@code otel_logs}. To compare with, not to use.
 */
@NullMarked
package dev.sluice.bench.stages;

import org.jspecify.annotations.NullMarked;
