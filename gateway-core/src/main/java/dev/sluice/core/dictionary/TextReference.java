package dev.sluice.core.dictionary;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Arrays;
import java.util.UUID;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What a log carries in the place of a long text that is in the dictionary: its beginning, for
 * those who look at the table, and which one it is.
 *
 * <pre>
 * java.lang.IllegalStateException: no connection is free
 *     at com.example.Pool.take(Pool.java:42)
 *     at com.exam… [sluice:text:d41d8cd9-8f00-b204-e980-0998ecf8427e]
 * </pre>
 *
 * <p>Whatever a client sends must come back, and it may send this. So a text that ends like a
 * reference, or like one with more brackets behind it, is stored with one bracket more. Of what is
 * stored, what ends with one bracket is a reference, and what ends with several has one too many;
 * nothing else looks like either.
 */
public final class TextReference {
  /** Of the text, in bytes; a few less where they would end within a character. */
  public static final int HEAD_BYTES = 256;

  /** Of these bytes of the text it has all, as no character has more than four. */
  private static final int GUARANTEED_HEAD_BYTES = HEAD_BYTES - 3;

  /** A text of fewer bytes gains nothing. */
  public static final int MIN_TEXT_BYTES = 2 * HEAD_BYTES;

  /** Nor should more than this be read back for one value: a page has many of them. */
  public static final int MAX_TEXT_BYTES = 1 << 20;

  /** Tells a stored text that is a reference, to RE2 and to Java. */
  public static final String PATTERN =
      "… \\[sluice:text:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\\]\\z";

  private static final String MARKER = "… [sluice:text:";
  private static final byte[] MARKER_BYTES = MARKER.getBytes(UTF_8);
  private static final int ID_CHARS = 36;
  private static final Pattern ID_AND_BRACKETS =
      Pattern.compile("([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(]+)");

  /** Of any reference. */
  public static final int MAX_REFERENCE_BYTES = HEAD_BYTES + MARKER_BYTES.length + ID_CHARS + 1;

  private TextReference() {}

  /**
   * Writes the reference to a text and says how many bytes it has; allocates nothing.
   *
   * @param length more than {@link #HEAD_BYTES}
   * @param high upper half of the text's identity
   * @param into at least {@link #MAX_REFERENCE_BYTES}
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

  /** Bytes of the beginning. */
  private static int headLength(byte[] text, int offset) {
    return lengthAtCharBoundary(HEAD_BYTES, text, offset);
  }

  /** So many bytes, or as many fewer as they would end within a character. */
  private static int lengthAtCharBoundary(int bytes, byte[] text, int offset) {
    int end = offset + bytes;
    while ((text[end] & 0xC0) == 0x80) {
      end--;
    }
    return end - offset;
  }

  /** Of a text, as much as is in every reference to one that begins with it. */
  public static String commonPrefix(String text) {
    var bytes = text.getBytes(UTF_8);
    return bytes.length <= GUARANTEED_HEAD_BYTES
        ? text
        : new String(bytes, 0, lengthAtCharBoundary(GUARANTEED_HEAD_BYTES, bytes, 0), UTF_8);
  }

  /** Whether a text needs one bracket more to be stored as it is. */
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

  /** A text as it is stored when it is stored itself. */
  public static String escape(String text) {
    return trailingBrackets(text) > 0 ? text + ']' : text;
  }

  /** A text as it is stored when the dictionary has it; null when it is too short or too long. */
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

  /** Which text a stored one stands for; null when it stands for itself. */
  public static @Nullable UUID parseId(String stored) {
    if (trailingBrackets(stored) != 1) {
      return null;
    }
    return UUID.fromString(stored.substring(stored.length() - 1 - ID_CHARS, stored.length() - 1));
  }

  /** What {@link #escape} was given. */
  public static String unescape(String stored) {
    return trailingBrackets(stored) > 1 ? stored.substring(0, stored.length() - 1) : stored;
  }

  /** How many a text ends with that is like a reference; 0 for any other. */
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
