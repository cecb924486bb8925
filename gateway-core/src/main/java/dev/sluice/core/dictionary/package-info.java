/**
 * Which texts are in the dictionary already, told at the cost of a hash: {@code TextCache} is
 * shared, each delivery worker asks by a {@code TextLookup} of its own.
 */
@NullMarked
package dev.sluice.core.dictionary;

import org.jspecify.annotations.NullMarked;
