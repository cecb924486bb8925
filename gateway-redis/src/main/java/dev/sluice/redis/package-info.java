/** The spool on Redis Streams. Knows the core and Lettuce. */
@NullMarked
package dev.sluice.redis;

import org.jspecify.annotations.NullMarked;
