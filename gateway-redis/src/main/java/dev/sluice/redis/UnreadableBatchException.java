package dev.sluice.redis;

/** Bytes that cannot become a batch, now or by this release. */
abstract sealed class UnreadableBatchException extends Exception {
  private static final long serialVersionUID = 1L;

  private UnreadableBatchException(String message) {
    super(message);
  }

  /** The bytes are not what was once written. */
  static final class CorruptBatchException extends UnreadableBatchException {
    private static final long serialVersionUID = 1L;

    CorruptBatchException(String message) {
      super(message);
    }
  }

  /** Written by a later release, which can read it. */
  static final class UnsupportedVersionException extends UnreadableBatchException {
    private static final long serialVersionUID = 1L;

    UnsupportedVersionException(int version) {
      super("version %d, this release reads up to %d".formatted(version, LogBatchCodec.VERSION));
    }
  }
}
