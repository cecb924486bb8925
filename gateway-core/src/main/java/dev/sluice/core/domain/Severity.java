package dev.sluice.core.domain;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * The six severity levels of the OpenTelemetry log data model; each has four severity numbers.
 *
 * <p>Severity names of other systems map to numbers as in appendix B of the data model.
 */
public enum Severity {
  TRACE(1),
  DEBUG(5),
  INFO(9),
  WARN(13),
  ERROR(17),
  FATAL(21);

  private static final Map<String, Integer> NUMBERS = new HashMap<>();

  private final int lowest;

  Severity(int lowest) {
    this.lowest = lowest;
  }

  static {
    for (var level : values()) {
      NUMBERS.put(level.name(), level.lowest());
      for (int i = 0; i < 4; i++) {
        NUMBERS.put(level.name() + (i + 1), level.lowest() + i);
      }
    }
    NUMBERS.put("VERBOSE", 1);
    NUMBERS.put("INFORMATIONAL", 9);
    NUMBERS.put("INFORMATION", 9);
    NUMBERS.put("NOTICE", 10);
    NUMBERS.put("WARNING", 13);
    NUMBERS.put("ERR", 17);
    NUMBERS.put("SEVERE", 17);
    NUMBERS.put("CRITICAL", 18);
    NUMBERS.put("CRIT", 18);
    NUMBERS.put("ALERT", 19);
    NUMBERS.put("PANIC", 21);
    NUMBERS.put("EMERGENCY", 21);
    NUMBERS.put("EMERG", 21);
  }

  /** Returns the lowest severity number of the level: 1, 5, 9, 13, 17 or 21. */
  public int lowest() {
    return lowest;
  }

  /** Returns the highest severity number of the level. */
  public int highest() {
    return lowest() + 3;
  }

  /**
   * Returns the severity number, 1 to 24, of a name, ignoring case; empty when the name is unknown.
   */
  public static OptionalInt numberOf(String name) {
    var number = NUMBERS.get(name.strip().toUpperCase(Locale.ROOT));
    return number == null ? OptionalInt.empty() : OptionalInt.of(number);
  }

  /** Returns the level of a severity number; null outside 1 to 24. */
  public static @Nullable Severity of(int number) {
    return number < 1 || number > 24 ? null : values()[(number - 1) / 4];
  }

  /**
   * Returns the short name of a severity number, such as {@code INFO2}; an empty string outside 1
   * to 24.
   */
  public static String textOf(int number) {
    var level = of(number);
    if (level == null) {
      return "";
    }
    int step = number - level.lowest();
    return step == 0 ? level.name() : level.name() + (step + 1);
  }
}
