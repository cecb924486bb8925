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
   *     than {@link Packing#MAX_PAYLOAD_BYTES} as JSON
   */
  Frame encode(Entry entry) {
    var batch = entry.batch();
    var key = entry.key();
    if (key != null && !key.tenant().equals(batch.tenant())) {
      throw new IllegalArgumentException("a key of another tenant");
    }
    try (var bench = Workbench.take(compression)) {
      var lines = bench.lines;
      bench.writer.write(entry, lines, Packing.MAX_PAYLOAD_BYTES);
      return new Frame(
          bench.packing.pack(lines.array(), lines.size()),
          lines.size(),
          batch.records(),
          bench.writer.firstNanos(),
          bench.writer.lastNanos(),
          crc32(lines.array(), lines.size()));
    }
  }

  private static long crc32(byte[] payload, int length) {
    var crc = new CRC32();
    crc.update(payload, 0, length);
    return crc.getValue();
  }

  /** The reverse; of either compression, told by the first bytes. */
  static Entry decode(byte[] frame) throws UnreadableFrame {
    return new LineReader(unpacked(frame)).read();
  }

  /**
   * As above, of the very frame that an index line tells of.
   *
   * @param crc32 see {@link Frame}
   * @throws UnreadableFrame also when it is another, intact or not
   */
  static Entry decode(byte[] frame, long crc32, int records) throws UnreadableFrame {
    var payload = unpacked(frame);
    var entry = new LineReader(payload).read();
    if (entry.batch().records() != records || crc32(payload, payload.length) != crc32) {
      throw UnreadableFrame.corrupt("it is not the frame of its index line");
    }
    return entry;
  }

  /**
   * As {@link #decode}, but the batch has no logs: the first line alone is looked at. The frame's
   * checksum is that of all.
   */
  static Entry head(byte[] frame) throws UnreadableFrame {
    return new LineReader(unpacked(frame)).head();
  }

  /**
   * Describes a complete frame that has lost its index line.
   *
   * @throws UnreadableFrame when it is not one intact frame
   */
  static Frame describe(byte[] frame) throws UnreadableFrame {
    var payload = unpacked(frame);
    var reader = new LineReader(payload);
    int records = reader.read().batch().records();
    return new Frame(
        frame,
        payload.length,
        records,
        reader.firstNanos(),
        reader.lastNanos(),
        crc32(payload, payload.length));
  }

  private static byte[] unpacked(byte[] frame) throws UnreadableFrame {
    try (var bench = Workbench.take(compressionOf(ByteBuffer.wrap(frame)))) {
      return bench.packing.unpack(frame);
    }
  }

  /**
   * How long the frame is that begins at the buffer's position, in bytes; -1 when it does not end
   * within the buffer. Whether it is intact is not looked at, and the buffer is left as it is.
   *
   * @throws UnreadableFrame when no frame begins there
   */
  static int lengthOf(ByteBuffer buffer) throws UnreadableFrame {
    if (buffer.remaining() < MAGIC_BYTES) {
      return -1;
    }
    try (var bench = Workbench.take(compressionOf(buffer))) {
      return bench.packing.lengthOf(buffer);
    }
  }

  private static Compression compressionOf(ByteBuffer frame) throws UnreadableFrame {
    if (frame.remaining() >= MAGIC_BYTES) {
      if (frame.duplicate().order(ByteOrder.LITTLE_ENDIAN).getInt(frame.position())
          == ZstdPacking.MAGIC) {
        return Compression.ZSTD;
      }
      if (GzipPacking.begins(frame)) {
        return Compression.GZIP;
      }
    }
    throw UnreadableFrame.corrupt("no frame begins as this does");
  }
}
