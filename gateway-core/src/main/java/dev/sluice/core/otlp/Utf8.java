package dev.sluice.core.otlp;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Validates strict UTF-8 (RFC 3629: no overlong forms, no surrogates, up to U+10FFFF). */
public final class Utf8 {
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final long HIGH_BITS = 0x8080808080808080L;

  private Utf8() {}

  /** Whether {@code bytes[from, to)} is valid; ASCII is checked in steps of eight bytes. */
  public static boolean isValid(byte[] bytes, int from, int to) {
    return firstInvalid(bytes, from, to) == to;
  }

  /** Returns the offset of the first invalid sequence of {@code bytes[from, to)}, or {@code to}. */
  public static int firstInvalid(byte[] bytes, int from, int to) {
    int p = from;
    while (true) {
      while (p <= to - 8 && ((long) LONG.get(bytes, p) & HIGH_BITS) == 0) {
        p += 8;
      }
      if (p > to - 8 && to - from >= 8 && ((long) LONG.get(bytes, to - 8) & HIGH_BITS) == 0) {
        return to; // checks the remaining bytes in one step that overlaps bytes already checked
      }
      while (p < to && bytes[p] >= 0) {
        p++;
      }
      if (p >= to) {
        return to;
      }
      int length = sequenceLength(bytes, p, to);
      if (length == 0) {
        return p;
      }
      p += length;
    }
  }

  /** Returns the length of the well-formed sequence at a non-ASCII lead byte, 0 if none. */
  private static int sequenceLength(byte[] bytes, int p, int to) {
    int lead = bytes[p] & 0xFF;
    if (lead < 0xC2 || lead > 0xF4) {
      return 0;
    }
    int length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (p + length > to) {
      return 0;
    }
    int second = bytes[p + 1] & 0xFF;
    // table 3-7 of the Unicode standard: only the second byte has narrower ranges
    int low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    int high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (second < low || second > high) {
      return 0;
    }
    for (int i = 2; i < length; i++) {
      if ((bytes[p + i] & 0xC0) != 0x80) {
        return 0;
      }
    }
    return length;
  }
}
