package dev.sluice.wal;

/** A frame that was read, and where it is. */
record PositionedEntry(FramePosition position, WalEntry entry) {}
