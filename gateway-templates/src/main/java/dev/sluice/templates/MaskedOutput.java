package dev.sluice.templates;

import static dev.sluice.templates.TokenClass.ANY_LETTER;
import static dev.sluice.templates.TokenClass.AT;
import static dev.sluice.templates.TokenClass.COLON;
import static dev.sluice.templates.TokenClass.CONNECTOR;
import static dev.sluice.templates.TokenClass.DIGIT;
import static dev.sluice.templates.TokenClass.DOT;
import static dev.sluice.templates.TokenClass.HEX;
import static dev.sluice.templates.TokenClass.LIST_SEPARATOR;
import static dev.sluice.templates.TokenClass.OPENING;
import static dev.sluice.templates.TokenClass.SEPARATOR;
import static dev.sluice.templates.TokenClass.SIGN;
import static dev.sluice.templates.TokenClass.SLASH;
import static dev.sluice.templates.TokenClass.TOKEN_END;
import static dev.sluice.templates.TokenClass.UNIT;
import static dev.sluice.templates.TokenClass.VALUE;
import static dev.sluice.templates.TokenClass.is;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * The output of {@link MessageMasker} with the rules of placeholders: which part of a token is a
 * value, and which values join into one placeholder. A token is copied to the end of the output
 * first, where a placeholder can overwrite it. A superclass and no part of the masker, since the
 * state of both must be in one object to be fast. For one thread.
 */
abstract sealed class MaskedOutput permits MessageMasker {
  private static final int MAX_OUTPUT = MessageMasker.MAX_OUTPUT;

  /** A placeholder may be longer than its token, and a copy writes up to eight excess bytes. */
  private static final int SLACK = 16;

  /** The placeholder as a little-endian int; the fourth byte is zero. */
  static final int PLACEHOLDER = '<' | '*' << 8 | '>' << 16;

  static final int PLACEHOLDER_BYTES = 3;

  private static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

  private static final byte[] EMPTY = {};

  final byte[] out = new byte[MAX_OUTPUT + SLACK];
  int length;
  byte[] in = EMPTY;
  int end;

  /** Begins the masked form of the message that ends at {@code end}. */
  void begin(byte[] message, int end) {
    in = message;
    this.end = end;
    length = 0;
  }

  /**
   * Ends the masked form.
   *
   * @param truncated whether the rest of the message becomes a placeholder
   */
  void finish(boolean truncated) {
    in = EMPTY; // an idle worker must not keep a whole batch alive
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
  }

  /** Whether the next delimiter or the shortest token may not fit. */
  boolean isFull() {
    return length >= MAX_OUTPUT - 8;
  }

  /** Returns the maximum number of bytes of the next token. */
  int remaining() {
    return MAX_OUTPUT - 4 - length;
  }

  void write(byte c) {
    out[length++] = c;
  }

  /** Writes a space unless the line is empty or ends in one. */
  void writeSpace() {
    if (length > 0 && out[length - 1] != ' ' && out[length - 1] != '\n') {
      out[length++] = ' ';
    }
  }

  void writeLineEnd() {
    if (length > 0 && out[length - 1] == ' ') {
      length--;
    }
    out[length++] = '\n';
  }

  /**
   * Writes a token, with placeholders for its values.
   *
   * @param bits the bits of all bytes of the token
   * @return the end of the token, which is behind {@code to} for a path that has delimiters
   */
  int writeToken(int from, int to, int bits) {
    int start = length;
    int count = to - from;
    if (count <= Long.BYTES && from + Long.BYTES <= in.length) {
      SwarAscii.LONG.set(
          out, start, (long) SwarAscii.LONG.get(in, from)); // excess bytes are overwritten later
    } else {
      System.arraycopy(in, from, out, start, count);
    }
    length = start + count;
    if ((bits & (SLASH | AT)) != 0) {
      return maskPath(from, to, start, bits);
    }
    if ((bits & DIGIT) != 0) {
      maskDigits(from, to, start, bits);
    } else {
      maskKeyword(from, to, start);
    }
    return to;
  }

  private int maskPath(int from, int to, int start, int bits) {
    int slashes = 0;
    int firstSlash = -1;
    boolean dotAfter = false;
    for (int i = from; i < to; i++) {
      if (is(in[i], SLASH)) {
        if (slashes++ == 0) {
          firstSlash = i;
        }
      } else if (in[i] == '.' && slashes > 0 && i + 1 < to) {
        dotAfter = true;
      }
    }
    boolean digits = (bits & DIGIT) != 0;
    boolean leads = firstSlash == from && to - from > 1 || in[from] == '.' || in[from] == '~';
    boolean url = firstSlash > from && in[firstSlash - 1] == ':';
    if (slashes > 0 && (leads || url || slashes > 1 || dotAfter && !digits)) {
      int stop = to;
      while (stop < end && pathContinues(stop)) {
        stop++;
      }
      while (stop > from + 1 && in[stop - 1] == '.') {
        stop--;
      }
      writeValue(start);
      return stop;
    }
    if (digits) {
      maskDigits(from, to, start, bits);
    } else if (slashes == 0 && (bits & DOT) != 0) {
      writeValue(start); // a mail address
    }
    return to;
  }

  private boolean pathContinues(int p) {
    return switch (in[p]) {
      case ':', ',', ';', '!', '?' -> p + 1 < end && !is(in[p + 1], TOKEN_END);
      case '=' -> true;
      default -> !is(in[p], TOKEN_END);
    };
  }

  private void maskDigits(int from, int tokenEnd, int start, int bits) {
    int to = tokenEnd;
    while (to > from + 1 && in[to - 1] == '.') {
      to--;
    }
    int prefix = valueStart(from, to, bits) - from;
    if (prefix > 1 && in[from + prefix - 1] == '-' && is(in[from + prefix - 2], CONNECTOR | DOT)) {
      prefix--; // the hyphen is a sign: "blk_-5"
    }
    if (prefix == 0 || prefix <= 2 && is(in[from], SIGN) && is(in[from + prefix - 1], SIGN)) {
      writeValue(start);
    } else {
      length = start + prefix;
      writePlaceholder();
      dropRepeated(start);
    }
    // the full stops at the end of a sentence
    for (int i = to; i < end && in[i] == '.' && i < to + 3; i++) {
      out[length++] = '.';
    }
  }

  /** Returns the start of the value in a token with digits or hex bytes. */
  private int valueStart(int from, int to, int bits) {
    int digit = from;
    while (digit < to && !is(in[digit], DIGIT)) {
      digit++;
    }
    if (digit == to || digit == from) {
      return from; // without a digit the token is a sequence of hex bytes
    }
    boolean port = in[digit - 1] == ':' && countDots(from, digit - 1) > 1;
    if ((bits & DOT) != 0 && (port || isHost(from, to))) {
      return from;
    }
    int start = digit;
    int hex = HEX;
    while (start > from && is(in[start - 1], ANY_LETTER)) {
      start--;
      hex &= TokenClass.bits(in[start]);
    }
    boolean mixed = false;
    int stop = digit;
    while (stop < to && is(in[stop], ANY_LETTER | DIGIT)) {
      mixed |= is(in[stop++], ANY_LETTER);
    }
    int size = stop - start;
    boolean identifier = mixed && size > 4 || hex != 0 && (size >= 6 || (bits & COLON) != 0);
    return identifier && start < digit ? start : digit;
  }

  private boolean isHost(int from, int to) {
    int p = to - 1;
    while (p > from && is(in[p], ANY_LETTER)) {
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

  /** Returns the number of full stops after the first byte; a sequence of them counts as one. */
  int countDots(int from, int to) {
    int dots = 0;
    for (int i = from + 1; i < to; i++) {
      dots += in[i] == '.' && in[i - 1] != '.' ? 1 : 0;
    }
    return dots;
  }

  /** Removes the token at {@code start} if it equals the token before it, as in a list. */
  private void dropRepeated(int start) {
    int size = length - start;
    int gap = start;
    if (gap > size && out[gap - 1] == ' ') {
      gap--;
    }
    if (gap > size && is(out[gap - 1], LIST_SEPARATOR)) {
      gap--;
    }
    int before = gap - size;
    if (gap < start
        && before >= 0
        && (before == 0 || is(out[before - 1], TOKEN_END))
        && Arrays.equals(out, before, gap, out, start, length)) {
      length = gap;
    }
  }

  private void maskKeyword(int from, int to, int start) {
    int count = to - from;
    if (count > Long.BYTES || in[from] < 'A' || !mayBeKeyword(in[from], count, start)) {
      return;
    }
    int kind = TokenClass.keywordKind(in, from, count);
    if (kind == VALUE && (to == end || in[to] != '=')) {
      writeValue(start);
    } else if (kind == UNIT && endsInValue(start - 1) && out[start - 1] == ' ') {
      length = start - 1;
    }
  }

  /**
   * Whether a word may be a keyword that is masked at {@code index}; a unit follows a value.
   *
   * @param count from 1 to 8
   */
  boolean mayBeKeyword(byte initial, int count, int index) {
    return TokenClass.mayBeKeyword(VALUE, initial, count)
        || endsInValue(index - 1) && TokenClass.mayBeKeyword(UNIT, initial, count);
  }

  /** Whether the output ends in {@code =} or {@code ":}, as before a value. */
  boolean followsKey() {
    int index = length > 1 && out[length - 1] == ' ' ? length - 1 : length;
    return index > 0
        && (out[index - 1] == '=' || out[index - 1] == ':' && index > 1 && out[index - 2] == '"');
  }

  /** Whether the output ends in an opening parenthesis after a space. */
  boolean endsInOpen() {
    return length > 1 && out[length - 1] == '(' && out[length - 2] == ' ';
  }

  /** Writes a placeholder at {@code index}, or joins the value to the one that ends before it. */
  void writeValue(int index) {
    length = index;
    if (!mayMergeWithPrevious(index)) {
      writePlaceholder();
      return;
    }
    if (index > 0
        && (out[index - 1] == '<' || out[index - 1] == '>')
        && (index == 1 || is(out[index - 2], OPENING))) {
      length = index - 1; // "<1 sec"
    }
    int before = length;
    if (before > 3) {
      int gap = before;
      if (out[gap - 1] == ' ') {
        gap--;
      }
      if (gap > 3 && is(out[gap - 1], LIST_SEPARATOR)) {
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
  boolean mayMergeWithPrevious(int index) {
    if (index < 2) {
      return true;
    }
    byte before = out[index - 1];
    return is(before == ' ' ? out[index - 2] : before, SEPARATOR);
  }

  void writePlaceholder() {
    INT.set(out, length, PLACEHOLDER); // the fourth byte is overwritten later
    length += PLACEHOLDER_BYTES;
  }

  private boolean endsInValue(int index) {
    return index >= 3 && out[index - 1] == '>' && out[index - 2] == '*' && out[index - 3] == '<';
  }
}
