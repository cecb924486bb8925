package dev.sluice.wal;

/**
 * A frame as it is written: one complete zstd frame or gzip member.
 *
 * @param bytes compressed; handed over
 * @param payloadBytes before compression
 * @param records lines, one for each log record
 * @param firstNanos the earliest time of a log in it, nanoseconds since 1970: the event's, else
 *     that of its observation, else of its receipt
 * @param lastNanos the latest
 * @param crc32 of the payload before compression (IEEE), as an unsigned number
 */
record Frame(
    byte[] bytes, int payloadBytes, int records, long firstNanos, long lastNanos, long crc32) {}
