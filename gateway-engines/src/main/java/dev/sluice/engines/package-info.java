/** Starts a real Redis and a real ClickHouse as child processes, with no container. */
@NullMarked
package dev.sluice.engines;

import org.jspecify.annotations.NullMarked;
