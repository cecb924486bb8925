package dev.sluice.core.ingest;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.otlp.AnyValue;
import dev.sluice.core.otlp.OtlpRecord;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Collection;

/**
 * A list of messages; the gateway accepts only logs whose body is on the list. A log matches when
 * its body is a string that equals a whole message, ignoring case like {@link
 * String#equalsIgnoreCase}; its severity does not matter. An empty message never matches.
 *
 * <p>Most lookups do not match. So an ASCII body is hashed in lower case directly in the request
 * bytes, eight bytes at a time, and compared only when the table has the hash; this allocates
 * nothing. A body with other characters is decoded first. A body much longer than the longest
 * message is not hashed.
 *
 * <p>Immutable.
 */
public final class BodyAllowlist {

  /** A list that allows every log, regardless of its body. */
  public static final BodyAllowlist ALLOW_ALL = new BodyAllowlist();

  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final long HIGH_BITS = 0x8080808080808080L;
  private static final long FROM_A = 0x3F3F3F3F3F3F3F3FL;
  private static final long BEYOND_Z = 0x2525252525252525L;
  private static final long MIX = 0x9E3779B97F4A7C15L;

  /** The result for a text that is not ASCII; hash values are always odd. */
  private static final long NOT_ASCII = 0;

  /**
   * The maximum ratio of the lengths of a text before and after case folding: the Kelvin sign, of
   * three bytes in UTF-8, folds to a k.
   */
  private static final int MAX_FOLDING_SHRINK = 3;

  private final boolean allowsAll;
  private final int size;
  private final long maxLength;

  /**
   * The case-folded messages in UTF-8: a hash table with linear probing. A slot is free when its
   * hash is 0.
   */
  private final byte[][] messages;

  private final long[] hashes;

  private BodyAllowlist() {
    allowsAll = true;
    size = 0;
    maxLength = 0;
    messages = new byte[1][];
    hashes = new long[1];
  }

  private BodyAllowlist(Collection<String> allowedBodies) {
    allowsAll = false;
    int slots = Integer.highestOneBit(Math.max(1, allowedBodies.size())) * 4;
    messages = new byte[slots][];
    hashes = new long[slots];
    int distinct = 0;
    int maxFolded = 0;
    for (var message : allowedBodies) {
      var folded = fold(message).getBytes(UTF_8);
      long hash = hash(folded, 0, folded.length, true);
      int slot = slotOf(hash, folded, 0, folded.length, false);
      if (folded.length > 0 && hashes[slot] == 0) {
        hashes[slot] = hash;
        messages[slot] = folded;
        distinct++;
        maxFolded = Math.max(maxFolded, folded.length);
      }
    }
    size = distinct;
    maxLength = (long) maxFolded * MAX_FOLDING_SHRINK;
  }

  /** Creates a list of these messages; a list without messages allows no log. */
  public static BodyAllowlist of(Collection<String> messages) {
    return new BodyAllowlist(messages);
  }

  /** Returns the number of distinct messages on the list. */
  public int size() {
    return size;
  }

  /** Whether the list allows the log. */
  public boolean allows(OtlpRecord log) {
    return allowsAll
        || (log.body().kind() == AnyValue.Kind.STRING
            && contains(log.bytes(), log.body().offset(), log.body().length()));
  }

  /** Whether the text, which must be valid UTF-8, equals one of the messages. */
  boolean contains(byte[] bytes, int offset, int length) {
    if (length == 0 || length > maxLength) {
      return false;
    }
    long hash = hash(bytes, offset, offset + length, false);
    if (hash != NOT_ASCII) {
      return hashes[slotOf(hash, bytes, offset, length, true)] != 0;
    }
    var folded = fold(new String(bytes, offset, length, UTF_8)).getBytes(UTF_8);
    long foldedHash = hash(folded, 0, folded.length, true);
    return hashes[slotOf(foldedHash, folded, 0, folded.length, false)] != 0;
  }

  /**
   * Returns the slot of the message, or the free slot where it would be inserted. At least half of
   * the slots are free, so that the loop ends.
   */
  private int slotOf(long hash, byte[] bytes, int offset, int length, boolean anyCase) {
    int mask = hashes.length - 1;
    int slot = (int) (hash >>> 32) & mask;
    while (hashes[slot] != 0
        && !(hashes[slot] == hash && matches(messages[slot], bytes, offset, length, anyCase))) {
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  private static boolean matches(
      byte[] message, byte[] bytes, int offset, int length, boolean anyCase) {
    if (message.length != length) {
      return false;
    }
    for (int i = 0; i < length; i++) {
      byte b = bytes[offset + i];
      int folded = anyCase && b >= 'A' && b <= 'Z' ? b | 0x20 : b;
      if (message[i] != folded) {
        return false;
      }
    }
    return true;
  }

  /**
   * Returns the hash of the case-folded text, or {@link #NOT_ASCII}.
   *
   * @param folded whether the text is already case-folded; a text that is not is folded here, and
   *     must be ASCII to have a hash
   */
  private static long hash(byte[] bytes, int from, int to, boolean folded) {
    long hash = (long) to - from;
    int index = from;
    for (; index <= to - 8; index += 8) {
      long eight = (long) LONG.get(bytes, index);
      if (!folded) {
        if ((eight & HIGH_BITS) != 0) {
          return NOT_ASCII;
        }
        eight = toLowerCase(eight);
      }
      hash = mix(hash, eight);
    }
    long rest = 0;
    for (; index < to; index++) {
      rest = rest << 8 | (bytes[index] & 0xFF);
    }
    if (!folded) {
      if ((rest & HIGH_BITS) != 0) {
        return NOT_ASCII;
      }
      rest = toLowerCase(rest);
    }
    return mix(hash, rest) | 1;
  }

  private static long mix(long hash, long eight) {
    long product = (hash ^ eight) * MIX;
    return product ^ product >>> 29;
  }

  /** Converts eight ASCII characters to lower case; no addition carries into the next byte. */
  private static long toLowerCase(long eight) {
    long capitals = (eight + FROM_A) & ~(eight + BEYOND_Z) & HIGH_BITS;
    return eight | capitals >>> 2;
  }

  /** Folds each character to upper and then to lower case, like {@link String#equalsIgnoreCase}. */
  private static String fold(String text) {
    var folded = new StringBuilder(text.length());
    text.codePoints()
        .map(c -> Character.toLowerCase(Character.toUpperCase(c)))
        .forEach(folded::appendCodePoint);
    return folded.toString();
  }
}
