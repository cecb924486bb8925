/** Benchmarks of whole processes: what they take in, and what it costs the machine. */
@NullMarked
package dev.sluice.bench;

import org.jspecify.annotations.NullMarked;
