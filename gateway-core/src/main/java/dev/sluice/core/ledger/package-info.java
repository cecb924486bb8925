/** Where every accepted log is. */
@NullMarked
package dev.sluice.core.ledger;

import org.jspecify.annotations.NullMarked;
