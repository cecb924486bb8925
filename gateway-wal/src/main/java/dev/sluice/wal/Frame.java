package dev.sluice.wal;

/**
 * An encoded frame: one complete zstd frame or gzip member.
 *
 * @param bytes the compressed bytes, owned by the frame
 * @param payloadBytes size before compression, in bytes
 * @param records number of lines, one for each log record
 * @param firstNanos the earliest time of a record, in nanoseconds since 1970: its event time, else
 *     its observed time, else its receive time
 * @param lastNanos the latest time of a record, in nanoseconds since 1970
 * @param crc32 the CRC-32 (IEEE) of the payload before compression, as an unsigned number
 */
record Frame(
    byte[] bytes, int payloadBytes, int records, long firstNanos, long lastNanos, long crc32) {}
