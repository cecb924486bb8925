/**
 * Reports on whole processes: throughput, latency, CPU and memory. Each report is a main class,
 * such as {@link EndToEndReport}, and one make target; it starts gateways, engines and load
 * generators as processes. No other module uses this package.
 */
@NullMarked
package dev.sluice.bench;

import org.jspecify.annotations.NullMarked;
