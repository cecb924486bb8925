package dev.sluice.api.config;

import java.io.IOException;
import java.io.Serial;
import java.nio.file.FileSystemException;
import org.jspecify.annotations.Nullable;

/** The directory of the write-ahead log cannot be used; another process may have locked it. */
final class WalUnavailableException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1L;

  WalUnavailableException(IOException cause) {
    super("write-ahead log cannot be opened: " + reason(cause), cause);
  }

  /** The message of a {@link FileSystemException} is often only a path; its type has the reason. */
  private static @Nullable String reason(IOException cause) {
    return cause instanceof FileSystemException ? cause.toString() : cause.getMessage();
  }
}
