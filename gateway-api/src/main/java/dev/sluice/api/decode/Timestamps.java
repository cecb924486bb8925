package dev.sluice.api.decode;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import tools.jackson.core.JsonParser;

/**
 * Parses timestamps to nanoseconds since 1970: ISO-8601, or a number of seconds, milliseconds,
 * microseconds or nanoseconds, whose unit is inferred from its magnitude.
 *
 * <p>The magnitudes are unambiguous within the storable range: seconds stay below 10^11 (the year
 * 5138) and milliseconds are above it since March 1973; the same holds for the smaller units, in
 * steps of a thousand.
 */
public final class Timestamps {
  private static final BigInteger MAX_NANOS = BigInteger.valueOf(Long.MAX_VALUE);
  private static final BigDecimal SECONDS_END = BigDecimal.TEN.pow(11);
  private static final BigDecimal MILLIS_END = BigDecimal.TEN.pow(14);
  private static final BigDecimal MICROS_END = BigDecimal.TEN.pow(17);
  private static final int MAX_DIGITS = 64;
  private static final DateTimeFormatter ISO =
      new DateTimeFormatterBuilder().appendInstant(9).toFormatter();

  private Timestamps() {}

  /** Thrown for a time that cannot be parsed or stored; the message is the rejection's reason. */
  public static class InvalidTimestampException extends Exception {
    private static final long serialVersionUID = 1L;

    InvalidTimestampException(String reason) {
      super(reason, null, false, false);
    }

    public String reason() {
      return String.valueOf(getMessage());
    }
  }

  /** Thrown for a text that is no time in a known format. */
  public static final class UnknownFormatException extends InvalidTimestampException {
    private static final long serialVersionUID = 1L;

    private UnknownFormatException() {
      super("is neither ISO-8601 nor a number");
    }
  }

  /** Returns nanoseconds since 1970 as ISO-8601 in UTC, with nine fractional digits. */
  public static String format(long nanos) {
    return ISO.format(
        Instant.ofEpochSecond(
            Math.floorDiv(nanos, 1_000_000_000L), Math.floorMod(nanos, 1_000_000_000L)));
  }

  /** Converts a number of seconds, milliseconds, microseconds or nanoseconds since 1970. */
  public static long ofEpoch(BigDecimal number) throws InvalidTimestampException {
    if (number.signum() < 0) {
      throw new InvalidTimestampException("is before 1970");
    }
    // the exponent shows a number that is far out of range; its expansion could take unbounded time
    long integerDigits = (long) number.precision() - number.scale();
    if (number.signum() == 0 || integerDigits < -9) {
      return 0;
    }
    if (integerDigits > 20) {
      throw outOfRange();
    }
    int scale =
        number.compareTo(SECONDS_END) < 0
            ? 9
            : number.compareTo(MILLIS_END) < 0 ? 6 : number.compareTo(MICROS_END) < 0 ? 3 : 0;
    var nanos = number.movePointRight(scale).setScale(0, RoundingMode.DOWN).unscaledValue();
    if (nanos.compareTo(MAX_NANOS) > 0) {
      throw outOfRange();
    }
    return nanos.longValue();
  }

  /** Converts a number of seconds, milliseconds, microseconds or nanoseconds since 1970. */
  public static long ofEpoch(long number) throws InvalidTimestampException {
    if (number < 0) {
      throw new InvalidTimestampException("is before 1970");
    }
    if (number >= 100_000_000_000_000_000L) {
      return number;
    }
    return ofEpoch(BigDecimal.valueOf(number));
  }

  /** Converts the JSON value at the parser's current token; the parser ends on its last token. */
  public static long of(JsonParser p) throws InvalidTimestampException {
    return switch (p.currentToken()) {
      case VALUE_STRING -> ofText(p.getString());
      case VALUE_NUMBER_INT ->
          p.getNumberType() == JsonParser.NumberType.BIG_INTEGER
              ? ofNumber(p.getString())
              : ofEpoch(p.getLongValue());
      case VALUE_NUMBER_FLOAT -> ofNumber(p.getString());
      default -> {
        p.skipChildren();
        throw new InvalidTimestampException("must be text or a number");
      }
    };
  }

  /** Converts milliseconds since 1970, of any magnitude. */
  public static long ofMillis(long millis) throws InvalidTimestampException {
    if (millis < 0) {
      throw new InvalidTimestampException("is before 1970");
    }
    if (millis > Long.MAX_VALUE / 1_000_000) {
      throw outOfRange();
    }
    return millis * 1_000_000;
  }

  /** Converts the text of a JSON number. */
  public static long ofNumber(String number) throws InvalidTimestampException {
    if (number.length() > MAX_DIGITS) {
      throw new InvalidTimestampException("is a number of more than " + MAX_DIGITS + " characters");
    }
    try {
      return ofEpoch(new BigDecimal(number));
    } catch (NumberFormatException _) {
      throw new InvalidTimestampException("is a number whose exponent is out of range");
    }
  }

  /** Converts ISO-8601 with a zone or without one (then UTC), or digits as {@link #ofEpoch}. */
  public static long ofText(String text) throws InvalidTimestampException {
    var t = text.strip();
    if (!t.isEmpty() && t.length() <= MAX_DIGITS && isNumber(t)) {
      return ofEpoch(new BigDecimal(t));
    }
    try {
      return parseIso(t);
    } catch (DateTimeException | IndexOutOfBoundsException | NumberFormatException _) {
      throw new UnknownFormatException();
    }
  }

  private static boolean isNumber(String text) {
    int dots = 0;
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '.' && i > 0 && i < text.length() - 1) {
        dots++;
      } else if (c < '0' || c > '9') {
        return false;
      }
    }
    return dots <= 1;
  }

  /**
   * Parses {@code yyyy-MM-ddTHH:mm[:ss[.fraction]][zone]}, with a T or a space, a dot or a comma,
   * and {@code Z}, {@code UTC}, {@code GMT} or an offset such as {@code +01:00}, {@code +0100} or
   * {@code +01} as zone.
   */
  private static long parseIso(String t) throws InvalidTimestampException {
    require(t, 4, '-');
    require(t, 7, '-');
    var date = LocalDate.of(parseDigits(t, 0, 4), parseDigits(t, 5, 7), parseDigits(t, 8, 10));
    int p = 10;
    int nanos = 0;
    var time = LocalTime.MIDNIGHT;
    if (p < t.length()) {
      if ("Tt ".indexOf(t.charAt(p)) < 0) {
        throw new DateTimeException(t);
      }
      require(t, 13, ':');
      int second = 0;
      p = 16;
      if (p < t.length() && t.charAt(p) == ':') {
        second = parseDigits(t, 17, 19);
        p = 19;
        if (p < t.length() && (t.charAt(p) == '.' || t.charAt(p) == ',')) {
          int start = ++p;
          while (p < t.length() && Character.digit(t.charAt(p), 10) >= 0 && t.charAt(p) < 128) {
            p++;
          }
          nanos = parseFraction(t, start, p);
        }
      }
      time = LocalTime.of(parseDigits(t, 11, 13), parseDigits(t, 14, 16), second);
    }
    var zone = p == t.length() ? ZoneOffset.UTC : ZoneOffset.of(zone(t.substring(p)));
    long seconds = date.toEpochSecond(time, zone);
    if (seconds < 0) {
      throw new InvalidTimestampException("is before 1970");
    }
    if (seconds > Long.MAX_VALUE / 1_000_000_000L) {
      throw outOfRange();
    }
    long total = seconds * 1_000_000_000L + nanos;
    if (total < 0) {
      throw outOfRange();
    }
    return total;
  }

  /** Returns the zone as the JDK names it; other names than UTC are ambiguous. */
  private static String zone(String text) {
    var zone = text.strip();
    return zone.equalsIgnoreCase("Z")
            || zone.equalsIgnoreCase("UTC")
            || zone.equalsIgnoreCase("GMT")
        ? "Z"
        : zone;
  }

  private static int parseFraction(String t, int from, int to) {
    if (from == to) {
      throw new DateTimeException(t);
    }
    int value = 0;
    for (int i = 0; i < 9; i++) {
      value = value * 10 + (from + i < to ? t.charAt(from + i) - '0' : 0);
    }
    return value;
  }

  private static void require(String t, int index, char expected) {
    if (t.charAt(index) != expected) {
      throw new DateTimeException(t);
    }
  }

  private static int parseDigits(String t, int from, int to) {
    int value = 0;
    for (int i = from; i < to; i++) {
      char c = t.charAt(i);
      if (c < '0' || c > '9') {
        throw new NumberFormatException(t);
      }
      value = value * 10 + (c - '0');
    }
    return value;
  }

  private static InvalidTimestampException outOfRange() {
    return new InvalidTimestampException(
        "is beyond 2262-04-11T23:47:16.854775807Z, the latest storable time");
  }
}
