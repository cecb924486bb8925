package dev.sluice.core.otlp;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.security.SecureRandom;

/**
 * A hash for tables in memory, with a random key per process: clients choose attribute keys and
 * must not be able to create collisions. Thread-safe.
 */
public final class KeyedHash {
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final long HASH_KEY = new SecureRandom().nextLong() | 1;
  private static final long HASH_MULTIPLIER = 0x9E3779B97F4A7C15L;

  private KeyedHash() {}

  /** Returns the hash of {@code bytes[offset, offset + length)}, the same within this process. */
  public static long of(byte[] bytes, int offset, int length) {
    long hash = HASH_KEY ^ length;
    int p = offset;
    int end = offset + length;
    for (; p <= end - 8; p += 8) {
      hash = fold(hash ^ (long) LONG.get(bytes, p));
    }
    long rest = 0;
    for (; p < end; p++) {
      rest = rest << 8 | (bytes[p] & 0xFF);
    }
    return fold(hash ^ rest);
  }

  private static long fold(long value) {
    long mixed = value ^ HASH_KEY;
    return Math.unsignedMultiplyHigh(mixed, HASH_MULTIPLIER) ^ mixed * HASH_MULTIPLIER;
  }
}
