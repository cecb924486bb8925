package dev.sluice.redis;

import dev.sluice.core.domain.LogBatch;

/** A batch and its place in the stream. */
record Entry(EntryId id, LogBatch batch) {}
