/**
 * The spool on Redis Streams. {@link RedisSpool} is the entry type and creates the consumers,
 * {@link RedisSpoolConsumer}. Only {@code dev.sluice.api.config} uses this package; it depends on
 * the core, Lettuce and LZ4.
 */
@NullMarked
package dev.sluice.redis;

import org.jspecify.annotations.NullMarked;
