package dev.sluice.wal;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32;

/** Batches to frames of JSON lines and back. Safe for use by many threads. */
final class FrameCodec {
  private static final int MAGIC_BYTES = 4;

  private final Compression compression;

  FrameCodec(Compression compression) {
    this.compression = compression;
  }

  /**
   * @throws IllegalArgumentException when the batch is not one that the way in makes, or larger
   *     than {@link FrameCompressor#MAX_PAYLOAD_BYTES} as JSON
   */
  Frame encode(WalEntry entry) {
    var batch = entry.batch();
    var key = entry.key();
    if (key != null && !key.tenant().equals(batch.tenant())) {
      throw new IllegalArgumentException("a key of another tenant");
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

  /** The reverse; of either compression, told by the first bytes. */
  static WalEntry decode(byte[] frame) throws UnreadableFrameException {
    return new OtlpJsonLineReader(decompress(frame)).read();
  }

  /**
   * As above, of the very frame that an index line tells of.
   *
   * @param crc32 see {@link Frame}
   * @throws UnreadableFrameException also when it is another, intact or not
   */
  static WalEntry decode(byte[] frame, long crc32, int records) throws UnreadableFrameException {
    var payload = decompress(frame);
    var entry = new OtlpJsonLineReader(payload).read();
    if (entry.batch().records() != records || crc32(payload, payload.length) != crc32) {
      throw UnreadableFrameException.corrupt("it is not the frame of its index line");
    }
    return entry;
  }

  /**
   * As {@link #decode}, but the batch has no logs: the first line alone is looked at. The frame's
   * checksum is that of all.
   */
  static WalEntry decodeHeader(byte[] frame) throws UnreadableFrameException {
    return new OtlpJsonLineReader(decompress(frame)).readHeader();
  }

  /**
   * Describes a complete frame that has lost its index line.
   *
   * @throws UnreadableFrameException when it is not one intact frame
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
   * How long the frame is that begins at the buffer's position, in bytes; -1 when it does not end
   * within the buffer. Whether it is intact is not looked at, and the buffer is left as it is.
   *
   * @throws UnreadableFrameException when no frame begins there
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
    throw UnreadableFrameException.corrupt("no frame begins as this does");
  }
}
