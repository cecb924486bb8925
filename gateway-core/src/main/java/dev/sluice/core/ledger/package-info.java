/**
 * The ledger: a check that every accepted record is accounted for. {@link Ledger} compares the
 * counts of the {@link dev.sluice.core.port.Spool} with those of the {@link
 * dev.sluice.core.port.LogStore}. The management endpoint and the gauges of the application use it.
 */
@NullMarked
package dev.sluice.core.ledger;

import org.jspecify.annotations.NullMarked;
