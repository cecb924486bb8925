package dev.sluice.redaction;

/** Check digits of numbers that may contain spaces and hyphens. */
final class CheckDigits {
  /** The fewest characters of an account number in ISO 13616. */
  static final int MIN_IBAN = 15;

  private CheckDigits() {}

  /** Whether there are 13 to 19 digits that pass the Luhn formula (ISO/IEC 7812-1, annex B). */
  static boolean isCardNumber(byte[] text, int from, int to) {
    int sum = 0;
    int digits = 0;
    for (int i = to - 1; i >= from; i--) {
      if (!Detector.isDigit(text[i])) {
        continue;
      }
      int digit = text[i] - '0';
      int weighted = digits % 2 == 0 ? digit : 2 * digit;
      sum += weighted > 9 ? weighted - 9 : weighted;
      digits++;
    }
    return digits >= 13 && digits <= 19 && sum % 10 == 0;
  }

  /**
   * Whether the characters, with the first four moved to the end and letters as 10 to 35, are 1
   * modulo 97 (ISO 7064), and are 15 to 34, the lengths of ISO 13616.
   */
  static boolean isIban(byte[] text, int from, int to) {
    int remainder = 0;
    int length = 0;
    for (int pass = 0; pass < 2; pass++) {
      int index = 0;
      for (int i = from; i < to; i++) {
        if (text[i] == ' ') {
          continue;
        }
        if (pass == 0 ? index >= 4 : index < 4) {
          int value = Character.digit(text[i], 36);
          remainder = (remainder * (value < 10 ? 10 : 100) + value) % 97;
          length++;
        }
        index++;
      }
    }
    return remainder == 1 && length >= MIN_IBAN && length <= 34;
  }
}
