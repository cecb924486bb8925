package dev.sluice.core.ingest;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.otlp.AnyValue;
import dev.sluice.core.otlp.OtlpRecord;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Collection;

/**
 * The messages that are taken, where not every log is: a log is on the list when its body is a text
 * that equals one of them from end to end, ignoring case as {@link String#equalsIgnoreCase} does,
 * whatever its severity. The empty message is on no list.
 *
 * <p>Most logs are looked up only to be left out, so a body of ASCII is hashed in lower case where
 * it lies, eight bytes a step, and compared only when the hash is known; nothing is allocated. One
 * with other characters is decoded first. A body much longer than the longest message is not looked
 * at.
 *
 * <p>Immutable.
 */
public final class BodyAllowlist {

  /** The list that is none: every log is taken, whatever its body is. */
  public static final BodyAllowlist ALLOW_ALL = new BodyAllowlist();

  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final long HIGH_BITS = 0x8080808080808080L;
  private static final long FROM_A = 0x3F3F3F3F3F3F3F3FL;
  private static final long BEYOND_Z = 0x2525252525252525L;
  private static final long MIX = 0x9E3779B97F4A7C15L;

  /** No hash: those are odd. */
  private static final long NOT_ASCII = 0;

  /** Bytes that a character may lose when it is folded: the Kelvin sign becomes a k. */
  private static final int MAX_FOLDING_SHRINK = 3;

  private final boolean allowsAll;
  private final int size;
  private final long maxLength;

  /** Folded, in UTF-8, each in the first free place from that of its hash on; 0 is a free place. */
  private final byte[][] messages;

  private final long[] hashes;

  private BodyAllowlist() {
    allowsAll = true;
    size = 0;
    maxLength = 0;
    messages = new byte[1][];
    hashes = new long[1];
  }

  private BodyAllowlist(Collection<String> wanted) {
    allowsAll = false;
    int slots = Integer.highestOneBit(Math.max(1, wanted.size())) * 4;
    messages = new byte[slots][];
    hashes = new long[slots];
    int distinct = 0;
    int maxFolded = 0;
    for (var message : wanted) {
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

  /** A list of these messages; of none of them, it takes nothing. */
  public static BodyAllowlist of(Collection<String> messages) {
    return new BodyAllowlist(messages);
  }

  /** Different messages on the list. */
  public int size() {
    return size;
  }

  /** Whether the log is taken. */
  public boolean allows(OtlpRecord log) {
    return allowsAll
        || (log.body().kind() == AnyValue.Kind.STRING
            && contains(log.bytes(), log.body().offset(), log.body().length()));
  }

  /** Whether the text, valid UTF-8, is one of the messages. */
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

  /** Where the message is, or the free place where it would be; at least half of all are free. */
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
   * @param folded whether it is, and may be anything; else what is not ASCII has no hash
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

  /** Eight characters of ASCII at once: no sum is carried into the next byte. */
  private static long toLowerCase(long eight) {
    long capitals = (eight + FROM_A) & ~(eight + BEYOND_Z) & HIGH_BITS;
    return eight | capitals >>> 2;
  }

  /** Character by character and in both directions, as {@link String#equalsIgnoreCase} compares. */
  private static String fold(String text) {
    var folded = new StringBuilder(text.length());
    text.codePoints()
        .map(c -> Character.toLowerCase(Character.toUpperCase(c)))
        .forEach(folded::appendCodePoint);
    return folded.toString();
  }
}
