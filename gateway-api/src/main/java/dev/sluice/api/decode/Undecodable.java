package dev.sluice.api.decode;

import java.io.Serial;

/**
 * A request's bytes are not what they are said to be, or hold too much; each protocol says it in
 * its own words.
 */
public final class Undecodable extends RuntimeException {
  @Serial private static final long serialVersionUID = 1L;

  /** What kind of answer it deserves. */
  public enum Kind {
    /** It is not what it is said to be. */
    MALFORMED,
    /** A smaller request of the same kind would do. */
    TOO_LARGE,
    /** It can be read, and is not what its sender once wrote. */
    DAMAGED
  }

  private final Kind kind;

  private Undecodable(String detail, Kind kind) {
    super(detail, null, false, false); // an answer, not a fault of ours: no stack
    this.kind = kind;
  }

  static Undecodable malformed(String detail) {
    return new Undecodable(detail, Kind.MALFORMED);
  }

  static Undecodable tooLarge(String detail) {
    return new Undecodable(detail, Kind.TOO_LARGE);
  }

  static Undecodable damaged(String detail) {
    return new Undecodable(detail, Kind.DAMAGED);
  }

  public Kind kind() {
    return kind;
  }

  /** Whether a smaller request of the same kind would do. */
  public boolean tooLarge() {
    return kind == Kind.TOO_LARGE;
  }

  public String detail() {
    return String.valueOf(getMessage());
  }
}
