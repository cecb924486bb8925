package dev.sluice.api.decode;

import java.io.Serial;

/**
 * A request's bytes are not what they are said to be, or hold too much; each protocol says it in
 * its own words.
 */
public final class Undecodable extends RuntimeException {
  @Serial private static final long serialVersionUID = 1L;

  private final boolean tooLarge;

  private Undecodable(String detail, boolean tooLarge) {
    super(detail, null, false, false); // an answer, not a fault of ours: no stack
    this.tooLarge = tooLarge;
  }

  static Undecodable malformed(String detail) {
    return new Undecodable(detail, false);
  }

  static Undecodable tooLarge(String detail) {
    return new Undecodable(detail, true);
  }

  /** Whether a smaller request of the same kind would do. */
  public boolean tooLarge() {
    return tooLarge;
  }

  public String detail() {
    return String.valueOf(getMessage());
  }
}
