package dev.sluice.wal;

import java.io.Serial;

/** A frame is not what was written; says why, without any log's content. */
final class UnreadableFrameException extends Exception {
  @Serial private static final long serialVersionUID = 1L;

  private final boolean unsupportedVersion;

  private UnreadableFrameException(String reason, boolean unsupportedVersion) {
    super(reason);
    this.unsupportedVersion = unsupportedVersion;
  }

  static UnreadableFrameException corrupt(String reason) {
    return new UnreadableFrameException(reason, false);
  }

  /** Intact, but of a version that this release does not know. */
  static UnreadableFrameException unsupportedVersion(int version) {
    return new UnreadableFrameException("version " + version, true);
  }

  boolean isUnsupportedVersion() {
    return unsupportedVersion;
  }
}
