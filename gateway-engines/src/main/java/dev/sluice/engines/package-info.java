/**
 * Managed engines: a real Redis and a real ClickHouse as child processes, without a container.
 * {@link EmbeddedRedis} and {@link EmbeddedClickHouse} are the entry types. {@code
 * dev.sluice.api.config}, the test kit and the benchmarks use it; it depends on no other module and
 * on no engine client.
 */
@NullMarked
package dev.sluice.engines;

import org.jspecify.annotations.NullMarked;
