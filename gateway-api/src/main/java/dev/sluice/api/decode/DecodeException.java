package dev.sluice.api.decode;

import java.io.Serial;

/**
 * A request's bytes are not what they are said to be, or hold too much; each protocol says it in
 * its own words.
 */
public final class DecodeException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1L;

  /** What kind of answer it deserves. */
  public enum ErrorKind {
    /** It is not what it is said to be. */
    MALFORMED,
    /** A smaller request of the same kind would do. */
    TOO_LARGE,
    /** It can be read, and is not what its sender once wrote. */
    DAMAGED
  }

  private final ErrorKind kind;

  private DecodeException(String detail, ErrorKind kind) {
    super(detail, null, false, false); // an answer, not a fault of ours: no stack
    this.kind = kind;
  }

  static DecodeException malformed(String detail) {
    return new DecodeException(detail, ErrorKind.MALFORMED);
  }

  static DecodeException tooLarge(String detail) {
    return new DecodeException(detail, ErrorKind.TOO_LARGE);
  }

  static DecodeException damaged(String detail) {
    return new DecodeException(detail, ErrorKind.DAMAGED);
  }

  public ErrorKind kind() {
    return kind;
  }

  /** Whether a smaller request of the same kind would do. */
  public boolean tooLarge() {
    return kind == ErrorKind.TOO_LARGE;
  }

  public String detail() {
    return String.valueOf(getMessage());
  }
}
