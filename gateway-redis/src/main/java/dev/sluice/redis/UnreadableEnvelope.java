package dev.sluice.redis;

/** Bytes that cannot become a batch, now or by this release. */
abstract sealed class UnreadableEnvelope extends Exception {
  private static final long serialVersionUID = 1L;

  private UnreadableEnvelope(String message) {
    super(message);
  }

  /** The bytes are not what was once written. */
  static final class Corrupt extends UnreadableEnvelope {
    private static final long serialVersionUID = 1L;

    Corrupt(String message) {
      super(message);
    }
  }

  /** Written by a later release, which can read it. */
  static final class Newer extends UnreadableEnvelope {
    private static final long serialVersionUID = 1L;

    Newer(int version) {
      super("version %d, this release reads up to %d".formatted(version, Envelope.VERSION));
    }
  }
}
