/** The way in, from an entrance to safe in the spool. */
@NullMarked
package dev.sluice.core.ingest;

import org.jspecify.annotations.NullMarked;
