package dev.sluice.wal;

/** A frame that was read, and where it is. */
record Place(Position position, Entry entry) {}
