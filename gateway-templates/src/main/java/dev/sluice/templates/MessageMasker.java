package dev.sluice.templates;

import static dev.sluice.templates.TokenClass.ANY_LETTER;
import static dev.sluice.templates.TokenClass.COLON;
import static dev.sluice.templates.TokenClass.COPIED;
import static dev.sluice.templates.TokenClass.DIGIT;
import static dev.sluice.templates.TokenClass.DOT;
import static dev.sluice.templates.TokenClass.HEX;
import static dev.sluice.templates.TokenClass.LETTER;
import static dev.sluice.templates.TokenClass.PAIR_END;
import static dev.sluice.templates.TokenClass.SLASH;
import static dev.sluice.templates.TokenClass.TOKEN_END;
import static dev.sluice.templates.TokenClass.WHITE_SPACE;
import static dev.sluice.templates.TokenClass.is;

import java.nio.charset.StandardCharsets;

/**
 * Computes the masked form of a message: its text with the placeholder {@code <*>} in place of each
 * value. Templates are looked up by the masked form.
 *
 * <p>One pass divides the message into tokens by the {@link TokenClass} of their bytes; {@link
 * MaskedOutput} writes each token with placeholders for its values. Only a token with a digit, a
 * slash or an at sign, and a keyword, is analysed further. {@code docs/templates.md} has the state
 * diagram. The masked form depends only on the bytes of the message, and messages that differ only
 * in values have the same masked form. Masked are:
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
public final class MessageMasker extends MaskedOutput {
  /** The maximum number of input bytes; the rest of the message becomes one placeholder. */
  public static final int MAX_INPUT = 4096;

  /** The maximum size of a masked form in bytes, which is also that of a template. */
  public static final int MAX_OUTPUT = 2048;

  static final int MAX_LINES = 4;

  private static final int TWO_LONGS = 2 * Long.BYTES;

  private final boolean slow;

  // state of the pass; fields, because most steps change several of them
  private int keyFrom;
  private int keyTo;

  /** Whether the message begins with a key-value pair, so that unquoted values are masked. */
  private boolean pairs;

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

  /** Returns the masked form as a string. */
  public String text() {
    return new String(out, 0, length, StandardCharsets.UTF_8);
  }

  /** Masks {@code body[from, from + count)}; bytes that are not UTF-8 are permitted. */
  public void apply(byte[] body, int from, int count) {
    begin(body, from + Math.min(count, MAX_INPUT));
    unclosed = false;
    pairs = false;
    finish(maskMessage(from) || count > MAX_INPUT);
  }

  /** Masks the input from {@code from}; returns whether the output is truncated. */
  private boolean maskMessage(int from) {
    int p = skipSpace(from);
    int firstLine = p;
    int lines = 1;
    boolean document = false;
    boolean first = true;
    keyFrom = keyTo = p;
    while (p < end) {
      if (!first && !slow) {
        p = copyPlainTokens(p);
        if (p == end) {
          break;
        }
      }
      if (isFull()) {
        return true;
      }
      switch (TokenClass.of(in[p])) {
        case TOKEN -> {
          p = maskToken(p);
          if (first) {
            first = false;
            pairs = p + 1 < end && in[p] == '=' && in[p + 1] != ' ' && in[p + 1] != '=';
          }
          if (p < end && in[p] == ' ') {
            write(in[p++]);
          }
        }
        case SPACE -> {
          writeSpace();
          p++;
        }
        case LINE_END -> {
          document |= lines == 1 && p - firstLine < 3; // a first line of only "{" or "["
          p = nextLine(p, document);
          if (p >= end || lines++ == MAX_LINES) {
            return false;
          }
          writeLineEnd();
          keyFrom = keyTo = p;
        }
        case QUOTE -> p = maskQuoted(p);
        case DELIMITER -> p = maskDelimiter(p);
      }
    }
    return false;
  }

  private int skipSpace(int from) {
    int p = from;
    while (p < end && is(in[p], WHITE_SPACE)) {
      p++;
    }
    return p;
  }

  /**
   * Returns the start of the next line that is not indented.
   *
   * @param all whether to return an indented line too, after its indentation
   */
  private int nextLine(int lineEnd, boolean all) {
    int p = lineEnd + 1;
    while (p < end && is(in[p], WHITE_SPACE)) {
      if (all && in[p] != '\n') {
        return skipSpace(p);
      }
      while (p < end && in[p] != '\n') {
        p++;
      }
      p++;
    }
    return p;
  }

  /**
   * The fast path for most tokens: copies words of up to fifteen ASCII letters and masks numbers,
   * in steps of eight bytes, up to the first token that needs further analysis. It does not change
   * the result.
   *
   * @return the offset of the first byte that was not processed
   */
  private int copyPlainTokens(int from) {
    byte[] in = this.in;
    byte[] out = this.out;
    int length = this.length;
    // one byte of the message stays unprocessed, because the end of a token needs the byte after it
    int last = Math.min(end - 2, in.length - TWO_LONGS);
    int p = from;
    // an iteration writes at most a token of fifteen bytes and two more, within the output bound
    while (p <= last && length < MAX_OUTPUT - 3 * TWO_LONGS) {
      long bytes = (long) SwarAscii.LONG.get(in, p);
      int count = SwarAscii.leadingLetters(bytes);
      boolean word = count > 0;
      if (word) {
        count = wordLength(p, bytes, count, length);
      } else if (is(in[p], DIGIT) && !mayMergeWithPrevious(length)) {
        count = numberLength(p, bytes);
      }
      int stop = p + count;
      if (count == 0 || stop > last || !isPlainEnd(stop, word)) {
        break;
      }
      keyFrom = p;
      keyTo = stop;
      SwarAscii.LONG.set(out, length, word ? bytes : PLACEHOLDER);
      length += word ? count : PLACEHOLDER_BYTES;
      byte c = in[stop];
      out[length++] = c;
      p = stop + 1;
      if (c != ' ' && in[p] == ' ') {
        out[length++] = ' ';
        p++;
      }
    }
    this.length = length;
    return p;
  }

  /**
   * Returns the length of a word of letters; 0 if it is longer than fifteen or is a keyword. Copies
   * the letters from the ninth on to the output, whose length is {@code length}.
   */
  private int wordLength(int from, long bytes, int letters, int length) {
    int count = letters;
    if (count == Long.BYTES) {
      long more = (long) SwarAscii.LONG.get(in, from + Long.BYTES);
      SwarAscii.LONG.set(out, length + Long.BYTES, more); // excess bytes are overwritten later
      count += SwarAscii.leadingLetters(more);
    }
    if (count > Long.BYTES) {
      return count == TWO_LONGS ? 0 : count;
    }
    boolean keyword =
        mayBeKeyword(in[from], count, length)
            && TokenClass.keywordKind(SwarAscii.firstBytes(bytes, count)) != 0;
    return keyword ? 0 : count;
  }

  /**
   * Returns the length of a token that begins with a digit; 0 if it is longer than fifteen or ends
   * with a full stop.
   */
  private int numberLength(int from, long bytes) {
    int count = SwarAscii.leadingNumberChars(bytes);
    if (count == Long.BYTES) {
      count += SwarAscii.leadingNumberChars((long) SwarAscii.LONG.get(in, from + Long.BYTES));
    }
    return count == TWO_LONGS || in[from + count - 1] == '.' ? 0 : count;
  }

  /** Whether the byte that ends a token can be copied without analysis. */
  private boolean isPlainEnd(int index, boolean word) {
    byte c = in[index];
    int bits = TokenClass.bits(c);
    return (bits & COLON) != 0
        ? word && is(in[index + 1], TOKEN_END)
        : (bits & COPIED) != 0 && !(c == '=' && pairs);
  }

  /** Masks the token at {@code from}; returns its end. */
  private int maskToken(int from) {
    keyFrom = from;
    if (is(in[from], DIGIT)) {
      int stop = numberEnd(from);
      if (stop > from) {
        writeValue(length);
        keyTo = stop;
        return stop;
      }
    }
    byte[] in = this.in;
    int limit = Math.min(end, from + remaining());
    int p = from;
    int all = 0;
    while (p < limit) {
      int bits = TokenClass.bits(in[p]);
      if ((bits & TOKEN_END) != 0) {
        if ((bits & COLON) == 0 || !colonInside(from, p, all)) {
          break;
        }
        all |= p - from == 2 ? DIGIT : 0; // the first byte of a sequence of hex bytes
      }
      all |= bits;
      p++;
    }
    keyTo = p;
    return writeToken(from, p, all);
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
        int count = SwarAscii.leadingNumberChars((long) SwarAscii.LONG.get(in, p));
        p += count;
        if (count == Long.BYTES) {
          continue;
        }
        if (p >= end) {
          break;
        }
      }
      int bits = TokenClass.bits(in[p]);
      if ((bits & (TOKEN_END | SLASH)) != 0) {
        return (bits & (COLON | SLASH)) != 0 || in[p - 1] == '.' ? from : p;
      }
      p++;
    }
    return in[end - 1] == '.' ? from : end;
  }

  /** Whether a colon belongs to the token before it: in times, addresses and after URL schemes. */
  private boolean colonInside(int from, int p, int bits) {
    if (p + 1 >= end) {
      return false;
    }
    byte next = in[p + 1];
    if (is(next, TOKEN_END)) {
      return next == ':' && (bits & DIGIT) != 0 && (bits & LETTER) == 0;
    }
    if ((bits & (DIGIT | SLASH)) != 0) {
      return true;
    }
    if (is(next, DIGIT) && (bits & DOT) != 0) {
      return countDots(from, p) > 1; // host and port; a file and its line have one dot
    }
    return switch (next) {
      case '/' -> p + 2 < end && in[p + 2] == '/';
      case '\\' -> p - from == 1;
      default ->
          p - from == 2 && bits == HEX && is(next, HEX | DIGIT) && p + 3 < end && in[p + 3] == ':';
    };
  }

  /** Copies a delimiter, or masks the list or the unquoted value that begins with it. */
  private int maskDelimiter(int p) {
    byte c = in[p];
    if (c == '[' && length > 1 && followsKey()) {
      int stop = listEnd(p);
      if (stop > p) {
        writeValue(length);
        return stop;
      }
    }
    if (c == ')' && endsInOpen()) {
      writePlaceholder(); // an empty value
    }
    write(c);
    return c == '=' && pairs && p + 1 < end && !isMessageKey() ? maskUnquotedValue(p + 1) : p + 1;
  }

  private int maskQuoted(int p) {
    byte mark = in[p];
    boolean keyed = followsKey();
    if (keyed || mark == '"') {
      int close = closingQuote(p + 1, mark);
      if (keyed && !isMessageKey()) {
        writeValue(length);
        return Math.min(end, close + 1);
      }
      if (!keyed && close < end && isQuotedValue(p + 1, close)) {
        write(mark);
        writeValue(length);
        write(mark);
        return close + 1;
      }
    }
    write(mark);
    return p + 1;
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

  private int closingQuote(int from, byte mark) {
    if (mark == '"' && unclosed) {
      return end;
    }
    int p = from;
    while (p < end && in[p] != mark) {
      p += in[p] == '\\' ? 2 : 1;
    }
    unclosed |= mark == '"' && p >= end;
    return Math.min(p, end);
  }

  /** Whether a quoted text is empty, a hyphen, or begins with a product and its version. */
  private boolean isQuotedValue(int from, int to) {
    if (to == from || to == from + 1 && in[from] == '-') {
      return true;
    }
    int p = from;
    while (p < to && !is(in[p], TOKEN_END) && in[p] != '/') {
      p++;
    }
    return p + 1 < to && in[p] == '/' && is(in[from], ANY_LETTER) && is(in[p + 1], DIGIT);
  }

  /** Masks an unquoted value of a key; returns the end of the value. */
  private int maskUnquotedValue(int from) {
    byte c = in[from];
    if (c == '"' || c == '\'' || c == '{' || c == '[') {
      return from;
    }
    int p = from;
    while (p < end && !is(in[p], PAIR_END)) {
      p++;
    }
    if (p > from) {
      writeValue(length);
    }
    return p;
  }

  private boolean isMessageKey() {
    int count = keyTo - keyFrom;
    return count > 0
        && count <= Long.BYTES
        && TokenClass.keywordKind(in, keyFrom, count) == TokenClass.MESSAGE_KEY;
  }
}
