package dev.sluice.core.ingest;

import java.io.Serial;

/**
 * Thrown by a {@link PayloadDecoder} for a request body that does not match its declared format or
 * exceeds a limit. Each protocol maps the {@linkplain #kind kind} to its own status code.
 */
public final class DecodeException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1L;

  /** The cause, from which the protocols derive the status of the response. */
  public enum ErrorKind {
    /** The body does not match its declared format. */
    MALFORMED,
    /** The body exceeds a limit; a smaller request can succeed. */
    TOO_LARGE,
    /** The body was altered or truncated after its sender wrote it, as a checksum shows. */
    DAMAGED
  }

  private final ErrorKind kind;

  private DecodeException(String detail, ErrorKind kind) {
    super(detail, null, false, false); // a client error: no stack trace
    this.kind = kind;
  }

  public static DecodeException malformed(String detail) {
    return new DecodeException(detail, ErrorKind.MALFORMED);
  }

  public static DecodeException tooLarge(String detail) {
    return new DecodeException(detail, ErrorKind.TOO_LARGE);
  }

  public static DecodeException damaged(String detail) {
    return new DecodeException(detail, ErrorKind.DAMAGED);
  }

  public ErrorKind kind() {
    return kind;
  }

  /** Whether a smaller request can succeed. */
  public boolean tooLarge() {
    return kind == ErrorKind.TOO_LARGE;
  }

  public String detail() {
    return String.valueOf(getMessage());
  }
}
