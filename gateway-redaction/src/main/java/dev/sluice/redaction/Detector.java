package dev.sluice.redaction;

import com.google.re2j.Pattern;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The built-in detectors of sensitive values. Each has a pattern in RE2 syntax, whose time is
 * linear in the text, and for some a check digit. {@link CandidateScanner} decides first whether a
 * text can contain a value at all.
 */
public enum Detector {
  /** Payment card numbers of 13 to 19 digits with a Luhn check digit (ISO/IEC 7812). */
  CARD(CandidateScanner.CARD, "[2-6][0-9](?:[ -]?[0-9]){11,17}") {
    /** Further groups of digits may follow the number: tries without the last ones, too. */
    @Override
    int acceptedEnd(byte[] text, int from, int to) {
      for (int end = to; end > from; end = groupStart(text, from, end)) {
        if (!touchesDigit(text, from, end) && CheckDigits.isCardNumber(text, from, end)) {
          return end;
        }
      }
      return NOT_ACCEPTED;
    }

    /** Returns the end of the text before the last group of digits. */
    private int groupStart(byte[] text, int from, int end) {
      int start = end;
      while (start > from && isDigit(text[start - 1])) {
        start--;
      }
      return start > from ? start - 1 : from;
    }
  },
  /** E-mail addresses in their usual form. */
  EMAIL(CandidateScanner.EMAIL, "[A-Za-z0-9._%+-]+@(?:[A-Za-z0-9-]+\\.)+[A-Za-z]{2,24}"),
  /** The token after {@code Bearer} (RFC 6750). */
  BEARER(CandidateScanner.BEARER, "[Bb]earer +([A-Za-z0-9._~+/=-]{8,})"),
  /** Access keys of cloud providers and of code hosts, which have a fixed prefix. */
  CLOUD_KEY(
      CandidateScanner.CLOUD_KEY,
      "(?:AKIA|ASIA)[A-Z2-7]{16}|AIza[0-9A-Za-z_-]{35}|gh[pousr]_[0-9A-Za-z]{36,}"
          + "|xox[abprs]-[0-9A-Za-z-]{10,}|[sr]k_live_[0-9A-Za-z]{16,}"),
  /** Private keys in PEM, up to their end or that of the text. */
  PRIVATE_KEY(
      CandidateScanner.PRIVATE_KEY,
      "(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\\z)"),
  /** JSON web tokens (RFC 7519), signed or encrypted. */
  JWT(
      CandidateScanner.JWT,
      "eyJ[A-Za-z0-9_-]{5,}\\."
          + "(?:[A-Za-z0-9_-]{5,}(?:\\.[A-Za-z0-9_-]*){1,3}|(?:\\.[A-Za-z0-9_-]+){3})"),
  /** Account numbers with the check digits of ISO 13616. */
  IBAN(CandidateScanner.IBAN, "[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?") {
    /** Upper-case words or numbers may follow the account number: tries without them, too. */
    @Override
    int acceptedEnd(byte[] text, int from, int to) {
      for (int end = to; end - from >= CheckDigits.MIN_IBAN; end--) {
        if ((end == text.length || !isAlphanumeric(text[end]))
            && CheckDigits.isIban(text, from, end)) {
          return end;
        }
      }
      return NOT_ACCEPTED;
    }
  },
  /** IPv4 addresses. */
  IP(
      CandidateScanner.IP,
      "(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])(?:\\.(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])){3}") {
    @Override
    int acceptedEnd(byte[] text, int from, int to) {
      return touchesDigit(text, from, to) ? NOT_ACCEPTED : to;
    }
  };

  static final int NOT_ACCEPTED = -1;

  private final int bit;
  private final Pattern pattern;

  Detector(int bit, String pattern) {
    this.bit = bit;
    this.pattern = Pattern.compile(pattern);
  }

  /** Returns the bit of the {@link CandidateScanner}. */
  int bit() {
    return bit;
  }

  /** Returns the pattern; when it has a group, only the group is sensitive. */
  Pattern pattern() {
    return pattern;
  }

  /**
   * Returns the end of the value in a match of the pattern, by what the pattern cannot say; {@link
   * #NOT_ACCEPTED} when the match is no value.
   */
  int acceptedEnd(byte[] text, int from, int to) {
    return to;
  }

  /** Returns the name in rules and metrics, such as {@code cloud-key}. */
  public String ruleName() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /** Returns the detector with this {@link #ruleName}; null when there is none. */
  static @Nullable Detector of(String ruleName) {
    for (var detector : values()) {
      if (detector.ruleName().equals(ruleName)) {
        return detector;
      }
    }
    return null;
  }

  private static boolean touchesDigit(byte[] text, int from, int to) {
    return from > 0 && isDigit(text[from - 1]) || to < text.length && isDigit(text[to]);
  }

  private static boolean isAlphanumeric(byte b) {
    return isDigit(b) || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z';
  }

  static boolean isDigit(byte b) {
    return b >= '0' && b <= '9';
  }
}
