/** The fixtures of the templates, for the tests of all modules: {@link InMemoryDictionary}. */
@NullMarked
package dev.sluice.testkit;

import org.jspecify.annotations.NullMarked;
