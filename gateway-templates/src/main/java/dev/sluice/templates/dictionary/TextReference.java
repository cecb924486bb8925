package dev.sluice.templates.dictionary;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Arrays;
import java.util.UUID;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A reference to a long text in the dictionary, which a stored log carries instead of the text. It
 * has the head of the text, for readers of the table, and the id of the text.
 *
 * <pre>
 * java.lang.IllegalStateException: no connection is free
 *     at com.example.Pool.take(Pool.java:42)
 *     at com.exam… [sluice:text:d41d8cd9-8f00-b204-e980-0998ecf8427e]
 * </pre>
 *
 * <p>A query must return each text exactly as the client sent it, and a client may send a text that
 * looks like a reference. So a text that ends like a reference, with one or more closing brackets,
 * is escaped: it is stored with one more bracket. A stored text that ends like a reference with one
 * bracket is a reference; with several brackets it is an escaped text.
 */
public final class TextReference {
  /** The length of the head in bytes; up to 3 less, so that the head ends between characters. */
  public static final int HEAD_BYTES = 256;

  /** The minimum length of a head in bytes, since a character has at most four. */
  private static final int GUARANTEED_HEAD_BYTES = HEAD_BYTES - 3;

  /** The minimum length in bytes of a text for which a reference saves space. */
  public static final int MIN_TEXT_BYTES = 2 * HEAD_BYTES;

  /** The maximum length in bytes of a referenced text, since a page of logs reads many of them. */
  public static final int MAX_TEXT_BYTES = 1 << 20;

  /** A regular expression, for RE2 and Java, that finds a reference in a stored text. */
  public static final String PATTERN =
      "… \\[sluice:text:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\\]\\z";

  private static final String MARKER = "… [sluice:text:";
  private static final byte[] MARKER_BYTES = MARKER.getBytes(UTF_8);
  private static final int ID_CHARS = 36;
  private static final Pattern ID_AND_BRACKETS =
      Pattern.compile("([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(]+)");

  /** The maximum length of a reference in bytes. */
  public static final int MAX_REFERENCE_BYTES = HEAD_BYTES + MARKER_BYTES.length + ID_CHARS + 1;

  private TextReference() {}

  /**
   * Writes the reference to a text. Allocates nothing.
   *
   * @param length the length of the text, more than {@link #HEAD_BYTES}
   * @param high the upper 64 bits of the id of the text
   * @param low the lower 64 bits of the id
   * @param into the output, at least {@link #MAX_REFERENCE_BYTES} long
   * @return the length of the reference in bytes
   */
  public static int write(byte[] text, int offset, int length, long high, long low, byte[] into) {
    int head = headLength(text, offset);
    System.arraycopy(text, offset, into, 0, head);
    System.arraycopy(MARKER_BYTES, 0, into, head, MARKER_BYTES.length);
    int position = head + MARKER_BYTES.length;
    for (int digit = 0; digit < 32; digit++) {
      if (digit == 8 || digit == 12 || digit == 16 || digit == 20) {
        into[position++] = '-';
      }
      long half = digit < 16 ? high : low;
      into[position++] = (byte) Character.forDigit((int) (half >>> 60 - 4 * (digit & 15)) & 15, 16);
    }
    into[position++] = ']';
    return position;
  }

  /** Returns the length of the head of a text in bytes. */
  private static int headLength(byte[] text, int offset) {
    return lengthAtCharBoundary(HEAD_BYTES, text, offset);
  }

  /** Returns the greatest length, at most {@code bytes}, that ends between two characters. */
  private static int lengthAtCharBoundary(int bytes, byte[] text, int offset) {
    int end = offset + bytes;
    while ((text[end] & 0xC0) == 0x80) {
      end--;
    }
    return end - offset;
  }

  /** Returns the prefix of a text that is in each reference to a text that begins with it. */
  public static String commonPrefix(String text) {
    var bytes = text.getBytes(UTF_8);
    return bytes.length <= GUARANTEED_HEAD_BYTES
        ? text
        : new String(bytes, 0, lengthAtCharBoundary(GUARANTEED_HEAD_BYTES, bytes, 0), UTF_8);
  }

  /** Whether a text must be escaped, because it looks like a reference or an escaped text. */
  public static boolean needsEscape(byte[] text, int offset, int length) {
    if (length <= ID_CHARS || text[offset + length - 1] != ']') {
      return false;
    }
    int end = offset + length;
    while (end > offset && text[end - 1] == ']') {
      end--;
    }
    int markerStart = end - ID_CHARS - MARKER_BYTES.length;
    return markerStart >= offset
        && Arrays.equals(text, markerStart, end - ID_CHARS, MARKER_BYTES, 0, MARKER_BYTES.length)
        && ID_AND_BRACKETS
            .matcher(new String(text, end - ID_CHARS, ID_CHARS, US_ASCII) + ']')
            .matches();
  }

  /** Returns the stored form of a text that is not in the dictionary. */
  public static String escape(String text) {
    return trailingBrackets(text) > 0 ? text + ']' : text;
  }

  /** Returns the reference to a text; null when the text is too short or too long for one. */
  public static @Nullable String of(String text) {
    if (text.length() < MIN_TEXT_BYTES / 3) {
      return null;
    }
    var bytes = text.getBytes(UTF_8);
    if (bytes.length < MIN_TEXT_BYTES || bytes.length > MAX_TEXT_BYTES) {
      return null;
    }
    var id = ContentId.of(bytes, 0, bytes.length);
    return new String(bytes, 0, headLength(bytes, 0), UTF_8) + MARKER + id + ']';
  }

  /** Returns the id in a stored reference; null when the stored text is not a reference. */
  public static @Nullable UUID parseId(String stored) {
    if (trailingBrackets(stored) != 1) {
      return null;
    }
    return UUID.fromString(stored.substring(stored.length() - 1 - ID_CHARS, stored.length() - 1));
  }

  /** Reverses {@link #escape}. */
  public static String unescape(String stored) {
    return trailingBrackets(stored) > 1 ? stored.substring(0, stored.length() - 1) : stored;
  }

  /** Returns the number of closing brackets of a text that ends like a reference; 0 for others. */
  private static int trailingBrackets(String text) {
    if (!text.endsWith("]")) {
      return 0;
    }
    int markerStart = text.lastIndexOf(MARKER);
    if (markerStart < 0) {
      return 0;
    }
    var rest = ID_AND_BRACKETS.matcher(text).region(markerStart + MARKER.length(), text.length());
    return rest.matches() ? rest.end(2) - rest.start(2) : 0;
  }
}
