/** Starts a real Redis and a real ClickHouse as child processes, with no container. */
@NullMarked
package dev.sluice.embedded;

import org.jspecify.annotations.NullMarked;
