package dev.sluice.wal;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32;

/** Encodes batches as frames of JSON lines, and decodes them. Safe for use by many threads. */
final class FrameCodec {
  private static final int MAGIC_BYTES = 4;

  private final Compression compression;

  FrameCodec(Compression compression) {
    this.compression = compression;
  }

  /**
   * Encodes an entry.
   *
   * @throws IllegalArgumentException when the batch is not valid OTLP with the record count that it
   *     declares, or larger than {@link FrameCompressor#MAX_PAYLOAD_BYTES} as JSON
   */
  Frame encode(WalEntry entry) {
    var batch = entry.batch();
    var key = entry.key();
    if (key != null && !key.tenant().equals(batch.tenant())) {
      throw new IllegalArgumentException("the idempotency key belongs to another tenant");
    }
    try (var codec = PooledCodec.acquire(compression)) {
      var lines = codec.lines;
      codec.writer.write(entry, lines, FrameCompressor.MAX_PAYLOAD_BYTES);
      return new Frame(
          codec.compressor.compress(lines.array(), lines.size()),
          lines.size(),
          batch.records(),
          codec.writer.firstNanos(),
          codec.writer.lastNanos(),
          crc32(lines.array(), lines.size()));
    }
  }

  private static long crc32(byte[] payload, int length) {
    var crc = new CRC32();
    crc.update(payload, 0, length);
    return crc.getValue();
  }

  /** Decodes a frame; its first bytes determine the compression. */
  static WalEntry decode(byte[] frame) throws UnreadableFrameException {
    return new OtlpJsonLineReader(decompress(frame)).read();
  }

  /**
   * Decodes the frame of an index line.
   *
   * @param frame the compressed bytes of the frame
   * @param crc32 the checksum in the index line, see {@link Frame}
   * @param records the number of records in the index line
   * @throws UnreadableFrameException also when an intact frame differs from its index line
   */
  static WalEntry decode(byte[] frame, long crc32, int records) throws UnreadableFrameException {
    var payload = decompress(frame);
    var entry = new OtlpJsonLineReader(payload).read();
    if (entry.batch().records() != records || crc32(payload, payload.length) != crc32) {
      throw UnreadableFrameException.corrupt("frame differs from its index line");
    }
    return entry;
  }

  /**
   * Decodes only the header of the first line: the returned batch has no records. The checksum of
   * the complete payload is verified.
   */
  static WalEntry decodeHeader(byte[] frame) throws UnreadableFrameException {
    return new OtlpJsonLineReader(decompress(frame)).readHeader();
  }

  /**
   * Describes a frame that has no index line.
   *
   * @throws UnreadableFrameException when the bytes are not exactly one intact frame
   */
  static Frame describe(byte[] frame) throws UnreadableFrameException {
    var payload = decompress(frame);
    var reader = new OtlpJsonLineReader(payload);
    int records = reader.read().batch().records();
    return new Frame(
        frame,
        payload.length,
        records,
        reader.firstNanos(),
        reader.lastNanos(),
        crc32(payload, payload.length));
  }

  private static byte[] decompress(byte[] frame) throws UnreadableFrameException {
    try (var codec = PooledCodec.acquire(compressionOf(ByteBuffer.wrap(frame)))) {
      return codec.compressor.decompress(frame);
    }
  }

  /**
   * Returns the length in bytes of the frame at the buffer's position; -1 when the frame does not
   * end within the buffer. Does not verify the frame, and does not change the buffer.
   *
   * @throws UnreadableFrameException when no frame starts there
   */
  static int lengthOf(ByteBuffer buffer) throws UnreadableFrameException {
    if (buffer.remaining() < MAGIC_BYTES) {
      return -1;
    }
    try (var codec = PooledCodec.acquire(compressionOf(buffer))) {
      return codec.compressor.lengthOf(buffer);
    }
  }

  private static Compression compressionOf(ByteBuffer frame) throws UnreadableFrameException {
    if (frame.remaining() >= MAGIC_BYTES) {
      if (frame.duplicate().order(ByteOrder.LITTLE_ENDIAN).getInt(frame.position())
          == ZstdFrameCompressor.MAGIC) {
        return Compression.ZSTD;
      }
      if (GzipFrameCompressor.matchesHeader(frame)) {
        return Compression.GZIP;
      }
    }
    throw UnreadableFrameException.corrupt("unknown compression format");
  }
}
