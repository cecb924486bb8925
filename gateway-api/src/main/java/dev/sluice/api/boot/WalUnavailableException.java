package dev.sluice.api.boot;

import java.io.IOException;
import java.io.Serial;
import java.nio.file.FileSystemException;
import org.jspecify.annotations.Nullable;

/** The folder of the write-ahead log cannot be used, such as when another process has it. */
final class WalUnavailableException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1L;

  WalUnavailableException(IOException cause) {
    super("The write-ahead log cannot be used: " + reason(cause), cause);
  }

  /** What the file system says is often a path alone, and its type the rest. */
  private static @Nullable String reason(IOException cause) {
    return cause instanceof FileSystemException ? cause.toString() : cause.getMessage();
  }
}
