package dev.sluice.wal;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.IdempotencyStore;
import org.jspecify.annotations.Nullable;

/**
 * What a frame holds.
 *
 * @param batch of one that was read back no record is refused: what was refused is not written
 * @param possibleDuplicate whether it may have been appended elsewhere, or stored, before
 * @param key that was taken with it; null when there was none
 */
record WalEntry(
    LogBatch batch, boolean possibleDuplicate, IdempotencyStore.@Nullable IdempotencyKey key) {}
