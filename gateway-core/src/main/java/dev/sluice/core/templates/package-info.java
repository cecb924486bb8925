/**
 * Templates of messages: the mask that makes a key of a body, and the miner that tells which
 * template a new key belongs to.
 */
@NullMarked
package dev.sluice.core.templates;

import org.jspecify.annotations.NullMarked;
