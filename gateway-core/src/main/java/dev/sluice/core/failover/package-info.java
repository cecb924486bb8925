/**
 * Failover between two spools: a primary, and a fallback whose records the same process delivers.
 * {@link FailoverSpool} is the entry type and implements the spool ports. The packages {@code
 * config} and {@code ops} of the application use it; it depends on neither {@code core.ingest} nor
 * {@code core.delivery}.
 */
@NullMarked
package dev.sluice.core.failover;

import org.jspecify.annotations.NullMarked;
