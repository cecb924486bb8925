package dev.sluice.core.ingest;

/** The compression of a request body on the wire. Thread-safe. */
public interface BodyEncoding {
  /** The encoding of a body that is not compressed, or is already decompressed. */
  BodyEncoding IDENTITY =
      new BodyEncoding() {
        @Override
        public byte[] decode(byte[] body, int limit, MemoryReservation memory) {
          return body;
        }

        @Override
        public int maxInlineBytes() {
          return MAX_INLINE_BYTES;
        }
      };

  /**
   * The longest uncompressed body that the calling thread decodes. It is usually an event loop, and
   * other connections wait meanwhile.
   */
  int MAX_INLINE_BYTES = 1 << 20;

  /** The same limit for a body that can expand without bound: kilobytes can expand to the limit. */
  int MAX_INLINE_UNBOUNDED_BYTES = 256;

  /**
   * Decompresses a body; the caller must not modify it afterwards.
   *
   * @param limit the maximum size of the result in bytes
   * @param memory the memory of the request, which holds the body and then the result
   * @throws DecodeException when the body is not in this encoding, or the result is too large
   * @throws MemoryBudgetExceededException when all requests together exceed the budget
   */
  byte[] decode(byte[] body, int limit, MemoryReservation memory);

  /** Returns the size of the longest body that the calling thread decodes. */
  int maxInlineBytes();
}
