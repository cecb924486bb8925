/**
 * The fixtures of the core, for the tests of all modules: {@link InMemorySpool}, {@link LogBatches}
 * and {@link ManualClock}.
 */
@NullMarked
package dev.sluice.testkit;

import org.jspecify.annotations.NullMarked;
