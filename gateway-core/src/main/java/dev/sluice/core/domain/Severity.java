package dev.sluice.core.domain;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * The six levels of OpenTelemetry's log data model, each four severity numbers wide.
 *
 * <p>Names of other systems are read as the data model's appendix B maps them.
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

  /** The level's first severity number: 1, 5, 9, 13, 17 or 21. */
  public int lowest() {
    return lowest;
  }

  /** The level's last severity number. */
  public int highest() {
    return lowest() + 3;
  }

  /** Severity number, 1 to 24, of a name in any case; empty when the name is unknown. */
  public static OptionalInt numberOf(String name) {
    var number = NUMBERS.get(name.strip().toUpperCase(Locale.ROOT));
    return number == null ? OptionalInt.empty() : OptionalInt.of(number);
  }

  /** The level of a severity number; null outside 1 to 24. */
  public static @Nullable Severity of(int number) {
    return number < 1 || number > 24 ? null : values()[(number - 1) / 4];
  }

  /** Short name of a severity number, such as {@code INFO2}; empty text outside 1 to 24. */
  public static String textOf(int number) {
    var level = of(number);
    if (level == null) {
      return "";
    }
    int step = number - level.lowest();
    return step == 0 ? level.name() : level.name() + (step + 1);
  }
}
