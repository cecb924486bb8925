package dev.sluice.templates;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Computes the masked form of a message: its text with the placeholder {@code <*>} in place of each
 * value. Templates are looked up by the masked form.
 *
 * <p>One pass copies the bytes to the output and collects, for each token, flags of its character
 * classes. Only a token with a digit, a slash or an at sign is analysed further; it is at the end
 * of the output and can be overwritten in place. The masked form depends only on the bytes of the
 * message, and messages that differ only in values have the same masked form. Masked are:
 *
 * <ul>
 *   <li>the part of a token from its first digit on: numbers, hex, UUIDs, addresses, times,
 *       versions. Letters before it stay ({@code blk_<*>}) unless they belong to an identifier
 *       ({@code a64f992}) or a host name;
 *   <li>paths, URLs, mail addresses;
 *   <li>the names of days and months, {@code true}, {@code false} and {@code null}, and a unit
 *       after a number ({@code 5 ms}, {@code <1 sec});
 *   <li>quoted values of keys, as in JSON and logfmt, except for keys of the message and the level;
 *       if the message begins with a key-value pair, unquoted values too; user agents;
 *   <li>a sequence of values, which becomes one placeholder ({@code 1, 2, 3}, {@code 10.0.0.1:80}).
 * </ul>
 *
 * White space becomes one space. Of a message with several lines, indented lines are left out, such
 * as the frames of a stack trace, and at most {@value #MAX_LINES} lines stay: the message and its
 * chain of exceptions. Masking allocates nothing. For one thread.
 */
public final class MessageMasker {
  /** The maximum number of input bytes; the rest of the message becomes one placeholder. */
  public static final int MAX_INPUT = 4096;

  /** The maximum size of a masked form in bytes, which is also that of a template. */
  public static final int MAX_OUTPUT = 2048;

  static final int MAX_LINES = 4;

  // spare bytes: a placeholder may be longer than its token, and the end may get " <*>"
  private static final int SLACK = 16;

  private static final int LETTER = 1;
  private static final int HEX = 2;
  private static final int DIGIT = 4;
  private static final int DOT = 8;
  private static final int SLASH = 16;
  private static final int AT = 32;
  private static final int CONNECTOR = 64; // occurs inside tokens and has no meaning
  private static final int DELIMITER = 128; // ends a token
  private static final int COLON = 256;
  private static final int SPACE = 512;
  private static final int TOKEN_END = DELIMITER | COLON | SPACE;
  private static final int COPIED_DELIMITER = 1024; // after a token copied without analysis
  private static final int VALUE_SEPARATOR = 2048; // between two values may join them

  /** The placeholder as a little-endian int; the fourth byte is zero. */
  private static final int PLACEHOLDER = '<' | '*' << 8 | '>' << 16;

  private static final int PLACEHOLDER_BYTES = 3;

  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

  private static final int TWO_LONGS = 2 * Long.BYTES;

  private static final byte[] EMPTY = {};
  private static final short[] CHAR_CLASSES = charClasses();

  private static final int VALUE = 1;
  private static final int UNIT = 2;
  private static final int MESSAGE_KEY = 3; // a key whose value is the message or its level
  private static final int KEYWORD_SLOTS = 512;
  private static final long[] KEYWORDS = new long[KEYWORD_SLOTS];
  private static final byte[] KEYWORD_KINDS = new byte[KEYWORD_SLOTS];

  /** By word length: bit i is set if a keyword of kind VALUE begins with the letter 'A' + i. */
  private static final long[] VALUE_INITIALS = new long[Long.BYTES + 1];

  /** By word length: bit i is set if a keyword of kind UNIT begins with the letter 'A' + i. */
  private static final long[] UNIT_INITIALS = new long[Long.BYTES + 1];

  static {
    addKeywords(VALUE, "true false null nil None True False NULL");
    addKeywords(VALUE, "Mon Tue Wed Thu Fri Sat Sun");
    addKeywords(VALUE, "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec");
    addKeywords(
        UNIT, "ns us ms s sec secs second seconds min mins minute minutes h hr hrs hour hours");
    addKeywords(UNIT, "d day days B KB kB MB GB TB PB KiB MiB GiB TiB K M G");
    addKeywords(UNIT, "AM PM am pm UTC GMT EST EDT CST CDT MST MDT PST PDT CET CEST");
    addKeywords(MESSAGE_KEY, "msg message event level lvl severity Message MESSAGE");
  }

  private final byte[] out = new byte[MAX_OUTPUT + SLACK];
  private final boolean slow;
  private int length;

  // state of the pass; fields, because most steps change several of them
  private byte[] in = EMPTY;
  private int end;
  private int keyFrom;
  private int keyTo;

  /**
   * Whether no closing double quote follows in the message. A search from each opening quote would
   * take quadratic time.
   */
  private boolean unclosed;

  public MessageMasker() {
    this(false);
  }

  /**
   * Creates a masker for tests.
   *
   * @param slow whether to disable the fast path, so that tests can compare both results
   */
  MessageMasker(boolean slow) {
    this.slow = slow;
  }

  /**
   * Returns the buffer with the masked form in its first {@link #length()} bytes, valid until the
   * next message.
   */
  public byte[] bytes() {
    return out;
  }

  /** Returns the size of the masked form in bytes, at most {@link #MAX_OUTPUT}. */
  public int length() {
    return length;
  }

  /** Masks {@code body[from, from + count)}; bytes that are not UTF-8 are permitted. */
  public void apply(byte[] body, int from, int count) {
    in = body;
    unclosed = false;
    end = from + Math.min(count, MAX_INPUT);
    length = 0;
    boolean truncated = maskMessage(from) || count > MAX_INPUT;
    while (length > 0 && out[length - 1] == ' ') {
      length--;
    }
    if (truncated) {
      length = Math.min(length, MAX_OUTPUT - 4);
      if (!endsInValue(length)) {
        out[length++] = ' ';
        writeValue(length);
      }
    }
    in = EMPTY; // an idle worker must not keep a whole batch alive
  }

  /** Returns the masked form as a string. */
  public String text() {
    return new String(out, 0, length, StandardCharsets.UTF_8);
  }

  /** Masks the input from {@code from}; returns whether the output is truncated. */
  private boolean maskMessage(int from) {
    int p = from;
    while (p < end && (CHAR_CLASSES[in[p] & 0xFF] & SPACE) != 0) {
      p++;
    }
    int lines = 1;
    int firstLine = p;
    boolean document = false;
    boolean pairs = false;
    boolean first = true;
    keyFrom = keyTo = p;
    while (p < end) {
      if (!first && !slow) {
        p = copyPlainTokens(p, pairs);
        if (p == end) {
          break;
        }
      }
      if (length >= MAX_OUTPUT - 8) {
        return true;
      }
      byte c = in[p];
      int kind = CHAR_CLASSES[c & 0xFF];
      if ((kind & TOKEN_END) == 0) {
        p = maskToken(p);
        if (first) {
          first = false;
          pairs = p + 1 < end && in[p] == '=' && in[p + 1] != ' ' && in[p + 1] != '=';
        }
        if (p < end && in[p] == ' ') {
          out[length++] = ' ';
          p++;
        }
      } else if ((kind & SPACE) != 0) {
        if (c == '\n') {
          document |= lines == 1 && p - firstLine < 3; // a first line of only "{" or "["
          int next = nextLine(p, document);
          if (next >= end) {
            return false;
          }
          if (lines++ == MAX_LINES) {
            return false;
          }
          if (length > 0 && out[length - 1] == ' ') {
            length--;
          }
          out[length++] = '\n';
          p = next;
          keyFrom = keyTo = p;
        } else {
          if (length > 0 && out[length - 1] != ' ' && out[length - 1] != '\n') {
            out[length++] = ' ';
          }
          p++;
        }
      } else if (c == '"' || c == '\'') {
        p = maskQuoted(p);
      } else if (c == '[' && length > 1 && followsKey(length) && listEnd(p) > p) {
        writeValue(length);
        p = listEnd(p);
      } else {
        if (c == ')' && length > 1 && out[length - 1] == '(' && out[length - 2] == ' ') {
          writePlaceholder(); // an empty value
        }
        out[length++] = c;
        p++;
        if (c == '=' && pairs && p < end && !isMessageKey()) {
          p = maskUnquotedValue(p);
        }
      }
    }
    return false;
  }

  /**
   * Returns the start of the next line that is not indented.
   *
   * @param all whether to return an indented line too, after its indentation
   */
  private int nextLine(int lineEnd, boolean all) {
    int p = lineEnd + 1;
    while (p < end) {
      int kind = CHAR_CLASSES[in[p] & 0xFF];
      if ((kind & SPACE) == 0) {
        return p;
      }
      if (in[p] == '\n') {
        p++;
      } else if (all) {
        while (p < end && (CHAR_CLASSES[in[p] & 0xFF] & SPACE) != 0) {
          p++;
        }
        return p;
      } else {
        while (p < end && in[p] != '\n') {
          p++;
        }
        p++;
      }
    }
    return p;
  }

  /**
   * The fast path for most tokens: copies words of up to fifteen ASCII letters and masks numbers,
   * in steps of eight bytes, up to the first token that needs further analysis. It does not change
   * the result.
   *
   * @param pairs whether an unquoted value follows an equals sign
   * @return the offset of the first byte that was not processed
   */
  private int copyPlainTokens(int from, boolean pairs) {
    // one byte of the message stays unprocessed, because the end of a token needs the byte after it
    int last = Math.min(end - 2, in.length - TWO_LONGS);
    int p = from;
    // an iteration writes at most a token of fifteen bytes and two more, within the output bound
    while (p <= last && length < MAX_OUTPUT - 3 * TWO_LONGS) {
      long bytes = (long) LONG.get(in, p);
      int count = SwarAscii.leadingLetters(bytes);
      boolean word = count > 0;
      if (word) {
        count = wordLength(p, bytes, count);
      } else if ((CHAR_CLASSES[in[p] & 0xFF] & DIGIT) != 0 && !mayMergeWithPrevious(length)) {
        count = numberLength(p, bytes);
      }
      int stop = p + count;
      if (count == 0 || stop > last || !isPlainEnd(stop, word, pairs)) {
        break;
      }
      keyFrom = p;
      keyTo = stop;
      if (word) {
        LONG.set(out, length, bytes);
        length += count;
      } else {
        writePlaceholder();
      }
      byte c = in[stop];
      out[length++] = c;
      p = stop + 1;
      if (c != ' ' && in[p] == ' ') {
        out[length++] = ' ';
        p++;
      }
    }
    return p;
  }

  /**
   * Returns the length of a word of letters; 0 if it is longer than fifteen or is a keyword. Copies
   * the letters from the ninth on to the output.
   */
  private int wordLength(int from, long bytes, int letters) {
    int count = letters;
    if (count == Long.BYTES) {
      long more = (long) LONG.get(in, from + Long.BYTES);
      LONG.set(out, length + Long.BYTES, more); // excess bytes are overwritten later
      count += SwarAscii.leadingLetters(more);
    }
    if (count > Long.BYTES) {
      return count == TWO_LONGS ? 0 : count;
    }
    boolean keyword =
        mayBeKeyword(in[from], count, length)
            && keywordKind(SwarAscii.firstBytes(bytes, count)) != 0;
    return keyword ? 0 : count;
  }

  /**
   * Returns the length of a token that begins with a digit; 0 if it is longer than fifteen or ends
   * with a full stop.
   */
  private int numberLength(int from, long bytes) {
    int count = SwarAscii.leadingNumberChars(bytes);
    if (count == Long.BYTES) {
      count += SwarAscii.leadingNumberChars((long) LONG.get(in, from + Long.BYTES));
    }
    return count == TWO_LONGS || in[from + count - 1] == '.' ? 0 : count;
  }

  /** Whether the byte that ends a token can be copied without analysis. */
  private boolean isPlainEnd(int index, boolean word, boolean pairs) {
    byte c = in[index];
    int kind = CHAR_CLASSES[c & 0xFF];
    if ((kind & COLON) != 0) {
      return word && (CHAR_CLASSES[in[index + 1] & 0xFF] & TOKEN_END) != 0;
    }
    return (kind & COPIED_DELIMITER) != 0 && !(c == '=' && pairs);
  }

  /** Whether a word may be a keyword, by its first letter, which excludes most words. */
  private boolean mayBeKeyword(byte initial, int count, int index) {
    int bit = initial - 'A';
    return (VALUE_INITIALS[count] >>> bit & 1) != 0
        || endsInValue(index - 1) && (UNIT_INITIALS[count] >>> bit & 1) != 0;
  }

  private int maskToken(int from) {
    int start = length;
    byte[] in = this.in;
    byte[] out = this.out;
    if (in[from] >= '0' && in[from] <= '9') {
      int stop = numberEnd(from);
      if (stop > from) {
        writeValue(start);
        keyFrom = from;
        keyTo = stop;
        return stop;
      }
    }
    int limit = Math.min(end, from + MAX_OUTPUT - 4 - start);
    int p = from;
    int flags = 0;
    while (p < limit) {
      byte c = in[p];
      int kind = CHAR_CLASSES[c & 0xFF];
      if ((kind & TOKEN_END) != 0) {
        if ((kind & COLON) == 0 || !colonInside(from, p, flags)) {
          break;
        }
        flags |= p - from == 2 ? DIGIT : 0; // the first byte of a sequence of hex bytes
      }
      flags |= kind;
      p++;
    }
    int count = p - from;
    if (count <= 8 && from + 8 <= in.length) {
      LONG.set(out, start, (long) LONG.get(in, from)); // excess bytes are overwritten later
    } else {
      System.arraycopy(in, from, out, start, count);
    }
    length = start + count;
    if ((flags & (SLASH | AT)) != 0) {
      return maskPath(from, p, start, flags);
    }
    if ((flags & DIGIT) != 0) {
      maskDigits(from, p, start, flags);
    } else {
      maskKeyword(from, p, start);
    }
    keyFrom = from;
    keyTo = p;
    return p;
  }

  /**
   * Returns the end of a token that begins with a digit and needs no further analysis; otherwise
   * {@code from}. Most values are such tokens.
   */
  private int numberEnd(int from) {
    byte[] in = this.in;
    int end = this.end;
    int p = from + 1;
    while (p < end) {
      if (p <= in.length - Long.BYTES) {
        int count = SwarAscii.leadingNumberChars((long) LONG.get(in, p));
        p += count;
        if (count == Long.BYTES) {
          continue;
        }
        if (p >= end) {
          break;
        }
      }
      int kind = CHAR_CLASSES[in[p] & 0xFF];
      if ((kind & (TOKEN_END | SLASH)) != 0) {
        if ((kind & (COLON | SLASH)) != 0 || in[p - 1] == '.') {
          return from;
        }
        return p;
      }
      p++;
    }
    return in[end - 1] == '.' ? from : end;
  }

  /** Whether a colon belongs to the token before it: in times, addresses and after URL schemes. */
  private boolean colonInside(int from, int p, int flags) {
    if (p + 1 >= end) {
      return false;
    }
    byte next = in[p + 1];
    int kind = CHAR_CLASSES[next & 0xFF];
    if ((kind & TOKEN_END) != 0) {
      return next == ':' && (flags & DIGIT) != 0 && (flags & LETTER) == 0;
    }
    if ((flags & (DIGIT | SLASH)) != 0) {
      return true;
    }
    if ((kind & DIGIT) != 0 && (flags & DOT) != 0) {
      return countDots(from, p) > 1; // host and port; a file and its line number have one dot
    }
    if (next == '/') {
      return p + 2 < end && in[p + 2] == '/';
    }
    if (next == '\\') {
      return p - from == 1;
    }
    return p - from == 2
        && flags == HEX
        && (kind & (HEX | DIGIT)) != 0
        && p + 3 < end
        && in[p + 3] == ':';
  }

  private int countDots(int from, int to) {
    int dots = 0;
    for (int i = from + 1; i < to; i++) {
      dots += in[i] == '.' && in[i - 1] != '.' ? 1 : 0;
    }
    return dots;
  }

  /**
   * Masks a token with a slash, a backslash or an at sign. A path or URL may extend beyond a
   * delimiter that ends other tokens.
   *
   * @return the end of the token
   */
  private int maskPath(int from, int to, int start, int flags) {
    int slashes = 0;
    int firstSlash = -1;
    boolean dotAfter = false;
    for (int i = from; i < to; i++) {
      byte c = in[i];
      if (c == '/' || c == '\\') {
        if (slashes++ == 0) {
          firstSlash = i;
        }
      } else if (c == '.' && slashes > 0 && i + 1 < to) {
        dotAfter = true;
      }
    }
    keyFrom = from;
    keyTo = to;
    if (slashes == 0) {
      if ((flags & DIGIT) != 0) {
        maskDigits(from, to, start, flags);
      } else if ((flags & DOT) != 0) {
        writeValue(start);
      }
      return to;
    }
    boolean leads = firstSlash == from && to - from > 1 || in[from] == '.' || in[from] == '~';
    boolean url = firstSlash > from && in[firstSlash - 1] == ':';
    if (leads || url || slashes > 1 || dotAfter && (flags & DIGIT) == 0) {
      int p = to;
      while (p < end && pathContinues(p)) {
        p++;
      }
      int last = p;
      while (last > from + 1 && in[last - 1] == '.') {
        last--;
      }
      writeValue(start);
      return last;
    }
    if (to - from == 1) {
      return to;
    }
    if ((flags & DIGIT) != 0) {
      maskDigits(from, to, start, flags);
    }
    return to;
  }

  private boolean pathContinues(int p) {
    byte c = in[p];
    int kind = CHAR_CLASSES[c & 0xFF];
    if ((kind & SPACE) != 0) {
      return false;
    }
    if ((kind & TOKEN_END) == 0) {
      return true;
    }
    return switch (c) {
      case ':', ',', ';', '!', '?' ->
          p + 1 < end && (CHAR_CLASSES[in[p + 1] & 0xFF] & TOKEN_END) == 0;
      case '=' -> true;
      default -> false;
    };
  }

  private void maskDigits(int from, int to, int start, int flags) {
    while (to > from + 1 && in[to - 1] == '.') {
      to--;
    }
    int d = from;
    while (d < to && (CHAR_CLASSES[in[d] & 0xFF] & DIGIT) == 0) {
      d++;
    }
    int valueFrom = d;
    if (d == to) {
      valueFrom = from; // hex bytes without a digit
    } else if (d > from) {
      boolean port = in[d - 1] == ':' && countDots(from, d - 1) > 1;
      if ((flags & DOT) != 0 && (port || isHost(from, to))) {
        valueFrom = from;
      } else {
        valueFrom = valueStart(from, d, to, flags);
      }
    }
    int prefixLength = valueFrom - from;
    if (prefixLength > 1
        && in[valueFrom - 1] == '-'
        && (CHAR_CLASSES[in[valueFrom - 2] & 0xFF] & (CONNECTOR | DOT)) != 0) {
      prefixLength--; // the hyphen is a sign: "blk_-5"
    }
    if (prefixLength > 0 && prefixLength <= 2 && isSignsOnly(from, from + prefixLength)) {
      prefixLength = 0;
    }
    int trailing = from;
    if (prefixLength == 0) {
      writeValue(start);
    } else {
      length = start + prefixLength;
      writePlaceholder();
      dropRepeated(start);
    }
    // the full stops at the end of a sentence
    for (int i = to; i < end && in[i] == '.' && i < to + 3; i++) {
      trailing++;
    }
    for (int i = from; i < trailing; i++) {
      out[length++] = '.';
    }
  }

  /** Removes the token at {@code start} if it equals the token before it, as in a list. */
  private void dropRepeated(int start) {
    int size = length - start;
    int gap = start;
    if (gap > size && out[gap - 1] == ' ') {
      gap--;
    }
    if (gap > size && isSeparator(out[gap - 1])) {
      gap--;
    }
    int before = gap - size;
    if (gap < start
        && before >= 0
        && (before == 0 || (CHAR_CLASSES[out[before - 1] & 0xFF] & TOKEN_END) != 0)
        && Arrays.equals(out, before, gap, out, start, length)) {
      length = gap;
    }
  }

  /** Returns the start, in {@code [from, d]}, of the value whose first digit is at {@code d}. */
  private int valueStart(int from, int d, int to, int flags) {
    int s = d;
    int hex = HEX;
    while (s > from && (CHAR_CLASSES[in[s - 1] & 0xFF] & (LETTER | HEX)) != 0) {
      s--;
      hex &= CHAR_CLASSES[in[s] & 0xFF];
    }
    if (s == d) {
      return d;
    }
    boolean mixed = false;
    int e = d;
    for (; e < to; e++) {
      int kind = CHAR_CLASSES[in[e] & 0xFF];
      if ((kind & (LETTER | HEX)) != 0) {
        mixed = true;
      } else if ((kind & DIGIT) == 0) {
        break;
      }
    }
    return mixed && e - s > 4 || hex != 0 && (e - s >= 6 || (flags & COLON) != 0) ? s : d;
  }

  private boolean isHost(int from, int to) {
    int p = to - 1;
    while (p > from && (CHAR_CLASSES[in[p] & 0xFF] & (LETTER | HEX)) != 0) {
      p--;
    }
    if (in[p] != '.' || to - p < 3) {
      return false;
    }
    for (int i = p - 2; i > from; i--) {
      if (in[i] == '.') {
        return in[i - 1] != '.';
      }
    }
    return false;
  }

  private boolean isSignsOnly(int from, int to) {
    for (int i = from; i < to; i++) {
      byte c = in[i];
      if (c != '-' && c != '+' && c != '~' && c != '.' && c != '$' && c != '@') {
        return false;
      }
    }
    return true;
  }

  private void maskKeyword(int from, int to, int start) {
    int count = to - from;
    if (count > Long.BYTES || in[from] < 'A' || !mayBeKeyword(in[from], count, start)) {
      return;
    }
    switch (keywordKind(pack(from, count))) {
      case VALUE -> {
        if (to == end || in[to] != '=') {
          writeValue(start);
        }
      }
      case UNIT -> {
        if (endsInValue(start - 1) && out[start - 1] == ' ') {
          length = start - 1;
        }
      }
      default -> {}
    }
  }

  private int maskQuoted(int p) {
    byte mark = in[p];
    boolean keyed = followsKey(length);
    if (!keyed && mark == '\'') {
      out[length++] = mark;
      return p + 1;
    }
    int close = closingQuote(p + 1, mark);
    if (close < end || close == end && keyed && in.length > 0) {
      if (keyed) {
        if (!isMessageKey()) {
          writeValue(length);
          return Math.min(end, close + 1);
        }
      } else if (close == p + 1
          || close == p + 2 && in[p + 1] == '-'
          || isUserAgent(p + 1, close)) {
        out[length++] = mark;
        writeValue(length);
        out[length++] = mark;
        return close + 1;
      }
    }
    out[length++] = mark;
    return p + 1;
  }

  /** Whether the output up to {@code index} ends in {@code =} or {@code ":}, as before a value. */
  private boolean followsKey(int index) {
    if (index == 0) {
      return false;
    }
    byte last = out[index - 1];
    if (last == ' ' && index > 1) {
      index--;
      last = out[index - 1];
    }
    return last == '=' || last == ':' && index > 1 && out[index - 2] == '"';
  }

  /**
   * Returns the end of a list that begins at {@code from}; {@code from} if the list is not closed
   * or has nested objects or lists.
   */
  private int listEnd(int from) {
    for (int i = from + 1; i < end; i++) {
      switch (in[i]) {
        case ']' -> {
          return i + 1;
        }
        case '{', '[' -> {
          return from;
        }
        default -> {}
      }
    }
    return from;
  }

  private int closingQuote(int p, byte mark) {
    if (mark == '"' && unclosed) {
      return end;
    }
    while (p < end && in[p] != mark) {
      if (in[p] == '\\') {
        p++;
      }
      p++;
    }
    unclosed |= mark == '"' && p >= end;
    return Math.min(p, end);
  }

  /** Whether a quoted text begins with a product and a version, as a user agent does. */
  private boolean isUserAgent(int from, int to) {
    if ((CHAR_CLASSES[in[from] & 0xFF] & (LETTER | HEX)) == 0) {
      return false;
    }
    for (int i = from; i < to; i++) {
      if (in[i] == '/') {
        return i + 1 < to && (CHAR_CLASSES[in[i + 1] & 0xFF] & DIGIT) != 0;
      }
      if ((CHAR_CLASSES[in[i] & 0xFF] & TOKEN_END) != 0) {
        return false;
      }
    }
    return false;
  }

  /** Masks an unquoted value of a key; returns the end of the value. */
  private int maskUnquotedValue(int from) {
    int p = from;
    byte c = in[p];
    if (c == '"' || c == '\'' || c == '{' || c == '[' || (CHAR_CLASSES[c & 0xFF] & SPACE) != 0) {
      return from;
    }
    while (p < end) {
      c = in[p];
      if ((CHAR_CLASSES[c & 0xFF] & SPACE) != 0 || c == ',' || c == ';' || c == '}' || c == ')') {
        break;
      }
      p++;
    }
    if (p > from) {
      writeValue(length);
    }
    return p;
  }

  private boolean isMessageKey() {
    int count = keyTo - keyFrom;
    if (count > 8 || count <= 0) {
      return false;
    }
    return keywordKind(pack(keyFrom, count)) == MESSAGE_KEY;
  }

  /** Packs one to eight bytes into a long; the first byte is the lowest. */
  private long pack(int from, int count) {
    if (from <= in.length - Long.BYTES) {
      return SwarAscii.firstBytes((long) LONG.get(in, from), count);
    }
    long packed = 0;
    for (int i = count - 1; i >= 0; i--) {
      packed = packed << 8 | in[from + i] & 0xFF;
    }
    return packed;
  }

  /** Writes a placeholder at {@code index}, or joins the value to the one that ends before it. */
  private void writeValue(int index) {
    length = index;
    if (!mayMergeWithPrevious(index)) {
      writePlaceholder();
      return;
    }
    if (index > 0
        && (out[index - 1] == '<' || out[index - 1] == '>')
        && (index == 1 || isOpen(out[index - 2]))) {
      length = index - 1; // "<1 sec"
    }
    int before = length;
    if (before > 3) {
      int gap = before;
      if (out[gap - 1] == ' ') {
        gap--;
      }
      if (gap > 3 && isSeparator(out[gap - 1])) {
        gap--;
        if (gap > 3 && out[gap - 1] == ' ') {
          gap--;
        }
      }
      if (gap < before && endsInValue(gap)) {
        length = gap;
        return;
      }
    }
    writePlaceholder();
  }

  /** Whether the byte before a value may join the value to the one before that byte. */
  private boolean mayMergeWithPrevious(int index) {
    if (index < 2) {
      return true;
    }
    byte before = out[index - 1];
    if (before == ' ') {
      before = out[index - 2];
    }
    return (CHAR_CLASSES[before & 0xFF] & VALUE_SEPARATOR) != 0;
  }

  private static boolean isOpen(byte c) {
    return c == ' ' || c == '(' || c == '[' || c == '\n';
  }

  private static boolean isSeparator(byte c) {
    return c == ',' || c == ':' || c == ';' || c == '-' || c == '/' || c == '|';
  }

  private void writePlaceholder() {
    INT.set(out, length, PLACEHOLDER); // the fourth byte is overwritten later
    length += PLACEHOLDER_BYTES;
  }

  private boolean endsInValue(int index) {
    return index >= 3 && out[index - 1] == '>' && out[index - 2] == '*' && out[index - 3] == '<';
  }

  private static int keywordKind(long packed) {
    int slot = slot(packed);
    while (KEYWORDS[slot] != 0) {
      if (KEYWORDS[slot] == packed) {
        return KEYWORD_KINDS[slot];
      }
      slot = slot + 1 & KEYWORD_SLOTS - 1;
    }
    return 0;
  }

  private static int slot(long packed) {
    return (int) (packed * 0x9E3779B97F4A7C15L >>> 55);
  }

  private static void addKeywords(int kind, String list) {
    for (String word : list.split(" ", -1)) {
      long packed = 0;
      for (int i = word.length() - 1; i >= 0; i--) {
        packed = packed << 8 | word.charAt(i);
      }
      int slot = slot(packed);
      while (KEYWORDS[slot] != 0) {
        slot = slot + 1 & KEYWORD_SLOTS - 1;
      }
      KEYWORDS[slot] = packed;
      KEYWORD_KINDS[slot] = (byte) kind;
      long initial = 1L << word.charAt(0) - 'A';
      if (kind == VALUE) {
        VALUE_INITIALS[word.length()] |= initial;
      } else if (kind == UNIT) {
        UNIT_INITIALS[word.length()] |= initial;
      }
    }
  }

  private static short[] charClasses() {
    var kinds = new short[256];
    for (int c = 0; c < 256; c++) {
      kinds[c] = (short) charClass(c);
    }
    return kinds;
  }

  private static int charClass(int c) {
    if (c >= '0' && c <= '9') {
      return DIGIT;
    }
    if (c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
      return HEX;
    }
    if (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80) {
      return LETTER;
    }
    return switch (c) {
      case '.' -> DOT;
      case '/' -> SLASH | VALUE_SEPARATOR;
      case '\\' -> SLASH;
      case '@' -> AT;
      case ':' -> COLON | VALUE_SEPARATOR;
      case '"', '\'' -> DELIMITER;
      case '=', '(', ')', '[', ']', '{', '}', '!', '?' -> DELIMITER | COPIED_DELIMITER;
      case ',', ';', '|', '<', '>' -> DELIMITER | COPIED_DELIMITER | VALUE_SEPARATOR;
      case '-' -> CONNECTOR | VALUE_SEPARATOR;
      case ' ' -> SPACE | COPIED_DELIMITER;
      default -> c < ' ' || c == 0x7F ? SPACE : CONNECTOR;
    };
  }
}
