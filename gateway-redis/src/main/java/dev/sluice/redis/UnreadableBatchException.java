package dev.sluice.redis;

/** The bytes of a batch are corrupt, or this release cannot decode them. */
abstract sealed class UnreadableBatchException extends Exception {
  private static final long serialVersionUID = 1L;

  private UnreadableBatchException(String message) {
    super(message);
  }

  /** The bytes differ from the bytes that were written. */
  static final class CorruptBatchException extends UnreadableBatchException {
    private static final long serialVersionUID = 1L;

    CorruptBatchException(String message) {
      super(message);
    }
  }

  /** The batch was encoded by a later release, which can decode it. */
  static final class UnsupportedVersionException extends UnreadableBatchException {
    private static final long serialVersionUID = 1L;

    UnsupportedVersionException(int version) {
      super(
          "version %d is not supported, this release reads versions up to %d"
              .formatted(version, LogBatchCodec.VERSION));
    }
  }
}
