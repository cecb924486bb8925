/** What operators see: health, meters, the ledger. */
@NullMarked
package dev.sluice.api.ops;

import org.jspecify.annotations.NullMarked;
