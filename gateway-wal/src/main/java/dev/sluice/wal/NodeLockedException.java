package dev.sluice.wal;

import java.io.IOException;
import java.io.Serial;

/** Another process has locked the node directory. */
public final class NodeLockedException extends IOException {
  @Serial private static final long serialVersionUID = 1L;

  NodeLockedException(String message) {
    super(message);
  }
}
