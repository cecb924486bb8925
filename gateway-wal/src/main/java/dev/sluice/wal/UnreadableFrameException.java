package dev.sluice.wal;

import java.io.Serial;

/**
 * A frame is corrupt, or this release cannot decode it. The message gives the reason, without
 * payload.
 */
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

  /** Returns the exception for an intact frame of a version that this release does not support. */
  static UnreadableFrameException unsupportedVersion(int version) {
    return new UnreadableFrameException("version " + version + " is not supported", true);
  }

  boolean isUnsupportedVersion() {
    return unsupportedVersion;
  }
}
