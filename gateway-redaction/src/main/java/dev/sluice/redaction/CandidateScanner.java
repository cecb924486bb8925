package dev.sluice.redaction;

/**
 * Decides in one pass over a text which detectors can find something in it, so that most texts
 * never meet a regular expression. It may name a detector that finds nothing, never the reverse.
 */
final class CandidateScanner {
  // one bit for each detector
  static final int CARD = 1;
  static final int EMAIL = 1 << 1;
  static final int BEARER = 1 << 2;
  static final int CLOUD_KEY = 1 << 3;
  static final int PRIVATE_KEY = 1 << 4;
  static final int JWT = 1 << 5;
  static final int IBAN = 1 << 6;
  static final int IP = 1 << 7;

  /** The fewest digits of a card number. */
  private static final int MIN_CARD_DIGITS = 13;

  /** The bytes that begin or end what a detector looks for; all others are passed over. */
  private static final boolean[] IS_TRIGGER = new boolean[256];

  static {
    for (char c : "0123456789@JA_-B".toCharArray()) {
      IS_TRIGGER[c] = true;
    }
    IS_TRIGGER['b'] = true;
  }

  private CandidateScanner() {}

  /** Returns the bits of the detectors that can find something. */
  static int candidates(byte[] b, int from, int to) {
    int found = 0;
    int digits = 0;
    int lastDigit = from - 2;
    for (int i = from; i < to; i++) {
      byte c = b[i];
      if (!IS_TRIGGER[c & 0xFF]) {
        continue;
      }
      if (Detector.isDigit(c)) {
        // a card number has at most one space or hyphen between two digits
        digits = i - lastDigit <= 2 ? digits + 1 : 1;
        lastDigit = i;
        if (digits == MIN_CARD_DIGITS) {
          found |= CARD;
        } else if (digits == 2 && i - from >= 3 && isUpper(b[i - 2]) && isUpper(b[i - 3])) {
          found |= IBAN;
        }
        if (i - from >= 2 && b[i - 1] == '.' && Detector.isDigit(b[i - 2])) {
          found |= IP;
        }
        continue;
      }
      found |=
          switch (c) {
            case '@' -> EMAIL;
            case 'J' -> i - from >= 2 && b[i - 1] == 'y' && b[i - 2] == 'e' ? JWT : 0;
            case 'A' -> i + 3 < to ? CLOUD_KEY & -toBit(isKeyPrefix(b, i)) : 0;
            case '_' -> CLOUD_KEY & -toBit(endsKeyPrefix(b, from, i));
            case '-' ->
                i - from >= 4 && b[i - 1] == '-' && b[i - 2] == '-'
                    ? PRIVATE_KEY
                    : i - from >= 4 && b[i - 4] == 'x' && b[i - 3] == 'o' && b[i - 2] == 'x'
                        ? CLOUD_KEY
                        : 0;
            default ->
                i + 6 < to && b[i + 1] == 'e' && b[i + 2] == 'a' && b[i + 3] == 'r' ? BEARER : 0;
          };
    }
    return found;
  }

  private static int toBit(boolean value) {
    return value ? 1 : 0;
  }

  /** Whether AKIA, ASIA or AIza begins here. */
  private static boolean isKeyPrefix(byte[] b, int i) {
    return (b[i + 1] == 'K' || b[i + 1] == 'S') && b[i + 2] == 'I' && b[i + 3] == 'A'
        || b[i + 1] == 'I' && b[i + 2] == 'z' && b[i + 3] == 'a';
  }

  /** Whether the underscore at {@code i} ends ghp_ and the like, or sk_ or rk_. */
  private static boolean endsKeyPrefix(byte[] b, int from, int i) {
    return i - from >= 3 && b[i - 3] == 'g' && b[i - 2] == 'h'
        || i - from >= 2 && b[i - 1] == 'k' && (b[i - 2] == 's' || b[i - 2] == 'r');
  }

  private static boolean isUpper(byte b) {
    return b >= 'A' && b <= 'Z';
  }
}
