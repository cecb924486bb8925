/** The spool that needs no server: a write-ahead log on the local disk. */
@NullMarked
package dev.sluice.wal;

import org.jspecify.annotations.NullMarked;
