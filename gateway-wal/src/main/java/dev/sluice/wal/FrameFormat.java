package dev.sluice.wal;

import java.nio.ByteBuffer;

/** The operations on frames that recovery needs to find them in a segment without an index. */
interface FrameFormat {

  /** The format of {@link FrameCodec}. */
  FrameFormat CODEC =
      new FrameFormat() {
        @Override
        public int lengthOf(ByteBuffer buffer) throws UnreadableFrameException {
          return FrameCodec.lengthOf(buffer);
        }

        @Override
        public Frame describe(byte[] frame) throws UnreadableFrameException {
          return FrameCodec.describe(frame);
        }
      };

  /** See {@link FrameCodec#lengthOf}. */
  int lengthOf(ByteBuffer buffer) throws UnreadableFrameException;

  /** See {@link FrameCodec#describe}. */
  Frame describe(byte[] frame) throws UnreadableFrameException;
}
