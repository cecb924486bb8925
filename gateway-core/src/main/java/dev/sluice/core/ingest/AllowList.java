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
public final class AllowList {

  /** The list that is none: every log is taken, whatever its body is. */
  public static final AllowList EVERYTHING = new AllowList();

  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final long HIGH_BITS = 0x8080808080808080L;
  private static final long FROM_A = 0x3F3F3F3F3F3F3F3FL;
  private static final long BEYOND_Z = 0x2525252525252525L;
  private static final long MIX = 0x9E3779B97F4A7C15L;

  /** No hash: those are odd. */
  private static final long NOT_ASCII = 0;

  /** Bytes that a character may lose when it is folded: the Kelvin sign becomes a k. */
  private static final int SHRINKS = 3;

  private final boolean everything;
  private final int size;
  private final long longest;

  /** Folded, in UTF-8, each in the first free place from that of its hash on; 0 is a free place. */
  private final byte[][] messages;

  private final long[] hashes;

  private AllowList() {
    everything = true;
    size = 0;
    longest = 0;
    messages = new byte[1][];
    hashes = new long[1];
  }

  private AllowList(Collection<String> wanted) {
    everything = false;
    int places = Integer.highestOneBit(Math.max(1, wanted.size())) * 4;
    messages = new byte[places][];
    hashes = new long[places];
    int distinct = 0;
    int most = 0;
    for (var message : wanted) {
      var folded = fold(message).getBytes(UTF_8);
      long hash = hash(folded, 0, folded.length, true);
      int place = place(hash, folded, 0, folded.length, false);
      if (folded.length > 0 && hashes[place] == 0) {
        hashes[place] = hash;
        messages[place] = folded;
        distinct++;
        most = Math.max(most, folded.length);
      }
    }
    size = distinct;
    longest = (long) most * SHRINKS;
  }

  /** A list of these messages; of none of them, it takes nothing. */
  public static AllowList of(Collection<String> messages) {
    return new AllowList(messages);
  }

  /** Different messages on the list. */
  public int size() {
    return size;
  }

  /** Whether the log is taken. */
  public boolean takes(OtlpRecord log) {
    return everything
        || (log.body().kind() == AnyValue.Kind.STRING
            && lists(log.bytes(), log.body().offset(), log.body().length()));
  }

  /** Whether the text, valid UTF-8, is one of the messages. */
  boolean lists(byte[] bytes, int offset, int length) {
    if (length == 0 || length > longest) {
      return false;
    }
    long hash = hash(bytes, offset, offset + length, false);
    if (hash != NOT_ASCII) {
      return hashes[place(hash, bytes, offset, length, true)] != 0;
    }
    var folded = fold(new String(bytes, offset, length, UTF_8)).getBytes(UTF_8);
    long slow = hash(folded, 0, folded.length, true);
    return hashes[place(slow, folded, 0, folded.length, false)] != 0;
  }

  /** Where the message is, or the free place where it would be; at least half of all are free. */
  private int place(long hash, byte[] bytes, int offset, int length, boolean anyCase) {
    int mask = hashes.length - 1;
    int place = (int) (hash >>> 32) & mask;
    while (hashes[place] != 0
        && !(hashes[place] == hash && same(messages[place], bytes, offset, length, anyCase))) {
      place = (place + 1) & mask;
    }
    return place;
  }

  private static boolean same(
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
    int at = from;
    for (; at <= to - 8; at += 8) {
      long eight = (long) LONG.get(bytes, at);
      if (!folded) {
        if ((eight & HIGH_BITS) != 0) {
          return NOT_ASCII;
        }
        eight = lower(eight);
      }
      hash = mixed(hash, eight);
    }
    long rest = 0;
    for (; at < to; at++) {
      rest = rest << 8 | (bytes[at] & 0xFF);
    }
    if (!folded) {
      if ((rest & HIGH_BITS) != 0) {
        return NOT_ASCII;
      }
      rest = lower(rest);
    }
    return mixed(hash, rest) | 1;
  }

  private static long mixed(long hash, long eight) {
    long product = (hash ^ eight) * MIX;
    return product ^ product >>> 29;
  }

  /** Eight characters of ASCII at once: no sum is carried into the next byte. */
  private static long lower(long eight) {
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
