package dev.sluice.api.boot;

import java.time.Duration;
import org.springframework.util.unit.DataSize;

/** Refusals that name the key, so that a wrong setting is found where it was made. */
final class PropertyChecks {
  private PropertyChecks() {}

  static void requirePositive(String key, Duration value) {
    if (!value.isPositive()) {
      throw new IllegalArgumentException(key + " must be positive, is " + value);
    }
  }

  static void requirePositive(String key, DataSize value) {
    if (value.toBytes() <= 0) {
      throw new IllegalArgumentException(key + " must be positive, is " + value);
    }
  }

  static void requirePositive(String key, long value) {
    if (value <= 0) {
      throw new IllegalArgumentException(key + " must be positive, is " + value);
    }
  }

  static void requireBetween(String key, int value, int min, int max) {
    if (value < min || value > max) {
      throw new IllegalArgumentException("%s is %d, from %d to %d".formatted(key, value, min, max));
    }
  }

  static void requireAtLeast(String key, DataSize value, long minBytes) {
    if (value.toBytes() < minBytes) {
      throw new IllegalArgumentException(
          "%s is %s, at least %s".formatted(key, value, DataSize.ofBytes(minBytes)));
    }
  }

  /**
   * The size, or where it is 0 an eighth of the heap, at most 256 MB: there are what comes in, two
   * deliveries as they wait, the columns of a block for each, and room to collect garbage.
   */
  static DataSize orHeapFraction(DataSize value) {
    return orHeapFraction(value, 8);
  }

  /** The size, or where it is 0 one of so many parts of the heap, at most 256 MB. */
  static DataSize orHeapFraction(DataSize value, int divisor) {
    return value.toBytes() == 0
        ? DataSize.ofBytes(Math.min(256L << 20, Runtime.getRuntime().maxMemory() / divisor))
        : value;
  }

  /** A size that fits an array. */
  static int toArraySize(String key, DataSize value) {
    requirePositive(key, value);
    if (value.toBytes() > Integer.MAX_VALUE - 8) {
      throw new IllegalArgumentException(key + " must be below 2GB, is " + value);
    }
    return (int) value.toBytes();
  }

  /** 0 is any free port, for tests. */
  static void requirePort(String key, int value) {
    if (value < 0 || value > 65_535) {
      throw new IllegalArgumentException(key + " must be a port, is " + value);
    }
  }
}
