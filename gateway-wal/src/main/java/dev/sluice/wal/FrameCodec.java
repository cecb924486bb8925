package dev.sluice.wal;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.IdempotencyKeys;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/** Batches to frames of JSON lines and back. Safe for use by many threads. */
final class FrameCodec {
  private final Compression compression;

  FrameCodec(Compression compression) {
    this.compression = compression;
  }

  /**
   * @param again see {@link Entry}
   */
  Frame encode(LogBatch batch, boolean again, IdempotencyKeys.@Nullable Key key) {
    throw new UnsupportedOperationException(compression.suffix());
  }

  /** The reverse; of either compression, told by the first bytes. */
  static Entry decode(byte[] frame) throws UnreadableFrame {
    throw new UnsupportedOperationException();
  }

  /** As {@link #decode}, but the batch has no logs: the first line alone is looked at. */
  static Entry head(byte[] frame) throws UnreadableFrame {
    throw new UnsupportedOperationException();
  }

  /**
   * Describes a complete frame that has lost its index line.
   *
   * @throws UnreadableFrame when it is not one intact frame
   */
  static Frame describe(byte[] frame) throws UnreadableFrame {
    throw new UnsupportedOperationException();
  }

  /**
   * How long the frame is that begins at the buffer's position, in bytes; -1 when it does not end
   * within the buffer.
   *
   * @throws UnreadableFrame when no frame begins there
   */
  static int lengthOf(ByteBuffer buffer) throws UnreadableFrame {
    throw new UnsupportedOperationException();
  }
}
