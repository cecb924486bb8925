/**
 * Baseline servers for {@code make bench-stages}: the pipeline before each of its design steps.
 * {@link StageServer} runs one; it accepts the JSON of {@code POST /api/v1/logs} and stores it in
 * {@code otel_logs}. They are for comparison only; {@link dev.sluice.bench.StagesReport} starts
 * them.
 */
@NullMarked
package dev.sluice.bench.stages;

import org.jspecify.annotations.NullMarked;
