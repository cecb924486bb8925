package dev.sluice.wal;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.IdempotencyStore;
import org.jspecify.annotations.Nullable;

/**
 * The content of a frame.
 *
 * @param batch the batch
 * @param possibleDuplicate whether the batch may be in another spool or in the store already
 * @param key the idempotency key used with the batch; null for none
 */
record WalEntry(
    LogBatch batch, boolean possibleDuplicate, IdempotencyStore.@Nullable IdempotencyKey key) {}
