package dev.sluice.api.config;

import java.time.Duration;
import org.springframework.util.unit.DataSize;

/** Checks of settings. Each message names the setting, its value and the allowed range. */
final class PropertyChecks {
  private PropertyChecks() {}

  static void requirePositive(String key, Duration value) {
    if (!value.isPositive()) {
      throw new IllegalArgumentException(key + " is " + value + ", must be positive");
    }
  }

  static void requirePositive(String key, DataSize value) {
    if (value.toBytes() <= 0) {
      throw new IllegalArgumentException(key + " is " + value + ", must be positive");
    }
  }

  static void requirePositive(String key, long value) {
    if (value <= 0) {
      throw new IllegalArgumentException(key + " is " + value + ", must be positive");
    }
  }

  static void requireBetween(String key, int value, int min, int max) {
    if (value < min || value > max) {
      throw new IllegalArgumentException(
          "%s is %d, must be from %d to %d".formatted(key, value, min, max));
    }
  }

  static void requireAtLeast(String key, DataSize value, long minBytes) {
    if (value.toBytes() < minBytes) {
      throw new IllegalArgumentException(
          "%s is %s, must be at least %s".formatted(key, value, DataSize.ofBytes(minBytes)));
    }
  }

  /**
   * Returns the size, or for 0 an eighth of the heap, at most 256 MB. The heap also has to hold two
   * deliveries in the form of the spool, the columns of a block of each, and space for garbage
   * collection.
   */
  static DataSize orHeapFraction(DataSize value) {
    return orHeapFraction(value, 8);
  }

  /** Returns the size, or for 0 the heap size divided by {@code divisor}, at most 256 MB. */
  static DataSize orHeapFraction(DataSize value, int divisor) {
    return value.toBytes() == 0
        ? DataSize.ofBytes(Math.min(256L << 20, Runtime.getRuntime().maxMemory() / divisor))
        : value;
  }

  /** Returns the size in bytes; it must be positive and fit an array. */
  static int toArraySize(String key, DataSize value) {
    requirePositive(key, value);
    if (value.toBytes() > Integer.MAX_VALUE - 8) {
      throw new IllegalArgumentException(key + " is " + value + ", must be below 2GB");
    }
    return (int) value.toBytes();
  }

  /** Requires a port number; 0 means any free port. */
  static void requirePort(String key, int value) {
    if (value < 0 || value > 65_535) {
      throw new IllegalArgumentException(key + " is " + value + ", must be from 0 to 65535");
    }
  }
}
