package dev.sluice.wal;

import java.nio.ByteBuffer;

/** As much of frames as is needed to find them again in a segment that has lost its index. */
interface FrameFormat {

  /** See {@link FrameCodec}. */
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
