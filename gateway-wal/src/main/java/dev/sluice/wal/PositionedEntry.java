package dev.sluice.wal;

/** A decoded frame with its position. */
record PositionedEntry(FramePosition position, WalEntry entry) {}
