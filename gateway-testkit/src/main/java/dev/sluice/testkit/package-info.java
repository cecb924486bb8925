/** Contracts of the ports, their in-memory twins, samples, and real engines for tests. */
@NullMarked
package dev.sluice.testkit;

import org.jspecify.annotations.NullMarked;
