/**
 * The fixtures of the queries, for the tests of all modules: in-memory twins of the ports of
 * queries and {@link FakeEmbedder}.
 */
@NullMarked
package dev.sluice.testkit;

import org.jspecify.annotations.NullMarked;
