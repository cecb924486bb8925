package dev.sluice.wal;

import java.io.Serial;

/** A frame is not what was written; says why, without any log's content. */
final class UnreadableFrame extends Exception {
  @Serial private static final long serialVersionUID = 1L;

  private final boolean newer;

  private UnreadableFrame(String reason, boolean newer) {
    super(reason);
    this.newer = newer;
  }

  static UnreadableFrame corrupt(String reason) {
    return new UnreadableFrame(reason, false);
  }

  /** Intact, but of a version that this release does not know. */
  static UnreadableFrame newer(int version) {
    return new UnreadableFrame("version " + version, true);
  }

  boolean isNewer() {
    return newer;
  }
}
