package dev.sluice.api.config;

import java.io.Serial;
import org.jspecify.annotations.Nullable;

/** An engine has no configured URL and cannot be started here. The message names a remedy. */
final class EngineUnavailableException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1L;

  EngineUnavailableException(@Nullable String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
