package dev.sluice.api.decode;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.ingest.DecodeException;
import dev.sluice.core.otlp.Utf8;
import java.util.Arrays;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.Supplier;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * Parses JSON from clients, which may contain bytes that are not valid UTF-8.
 *
 * <p>A byte-based parser would fail the whole document for one invalid byte. Therefore each invalid
 * byte is replaced by lone surrogates, which valid text cannot contain: a record with such a string
 * is rejected like any other invalid record. Each byte becomes two surrogates, because an escaped
 * surrogate beside a single one could form a valid pair.
 */
public final class LenientJsonReader {
  private static final char INVALID_BYTE_PLACEHOLDER = '\uD800';
  private static final byte[] BYTE_ORDER_MARK = {(byte) 0xEF, (byte) 0xBB, (byte) 0xBF};

  private LenientJsonReader() {}

  /**
   * Opens a parser over {@code bytes[from, to)} and passes it to {@code reader}. The reader runs a
   * second time from the start if the byte-based parser fails and the text has surrogate escapes: a
   * lone surrogate in a name fails the byte-based parser but not the character-based one.
   *
   * @param line the line of the request where the text begins, from 1, for error messages
   * @throws DecodeException if the text is not JSON; the message has the line and column
   */
  public static <T> T read(
      byte[] bytes, int from, int to, int line, Function<JsonParser, T> reader) {
    int start = startsWithByteOrderMark(bytes, from, to) ? from + BYTE_ORDER_MARK.length : from;
    int invalid = Utf8.firstInvalid(bytes, start, to);
    try {
      if (invalid < to) {
        return read(characterParser(bytes, start, invalid, to), reader);
      }
      try {
        return read(Json.parse(bytes, start, to - start), reader);
      } catch (JacksonException e) {
        if (!hasSurrogateEscape(bytes, start, to)) {
          throw e;
        }
        return read(characterParser(bytes, start, to, to), reader);
      }
    } catch (JacksonException e) {
      var location = e.getLocation();
      throw DecodeException.malformed(
          "malformed JSON at line %d, column %d: %s"
              .formatted(
                  line + (location == null ? 1 : Math.max(1, location.getLineNr())) - 1,
                  location == null ? 1 : Math.max(1, location.getColumnNr()),
                  firstLine(e.getOriginalMessage())));
    }
  }

  /**
   * Reads a whole body that is one row or an array of rows; a blank body has no rows.
   *
   * @param newTarget creates the target of the rows, once for each run of the reader
   * @param row reads one row from the parser's current token to the last token of the row
   * @throws DecodeException if the body is not JSON, or neither an object nor an array
   */
  public static <T> T readRows(byte[] body, Supplier<T> newTarget, BiConsumer<T, JsonParser> row) {
    if (isBlank(body, 0, body.length)) {
      return newTarget.get();
    }
    return read(
        body,
        0,
        body.length,
        1,
        parser -> {
          var target = newTarget.get();
          var first = parser.nextToken();
          if (first == JsonToken.START_ARRAY) {
            while (parser.nextToken() != JsonToken.END_ARRAY) {
              row.accept(target, parser);
            }
          } else if (first == JsonToken.START_OBJECT) {
            row.accept(target, parser);
          } else {
            throw DecodeException.malformed("body is neither a JSON object nor an array of them");
          }
          requireEnd(parser, 1);
          return target;
        });
  }

  /**
   * Checks that no token follows.
   *
   * @throws DecodeException if one does
   */
  public static void requireEnd(JsonParser parser, int line) {
    if (parser.nextToken() != null) {
      var location = parser.currentTokenLocation();
      throw DecodeException.malformed(
          "malformed JSON at line %d, column %d: unexpected content after the end"
              .formatted(line + location.getLineNr() - 1, location.getColumnNr()));
    }
  }

  public static boolean isBlank(byte[] body, int from, int to) {
    for (int i = from; i < to; i++) {
      if (body[i] != ' ' && body[i] != '\t' && body[i] != '\r' && body[i] != '\n') {
        return false;
      }
    }
    return true;
  }

  private static <T> T read(JsonParser parser, Function<JsonParser, T> reader) {
    try (parser) {
      return reader.apply(parser);
    }
  }

  private static boolean hasSurrogateEscape(byte[] bytes, int from, int to) {
    for (int p = from; p < to - 2; p++) {
      if (bytes[p] == '\\' && bytes[p + 1] == 'u' && (bytes[p + 2] | 0x20) == 'd') {
        return true;
      }
    }
    return false;
  }

  private static JsonParser characterParser(byte[] bytes, int from, int firstInvalid, int to) {
    var chars = new char[to - from + countInvalidBytes(bytes, firstInvalid, to)];
    int size = 0;
    int p = from;
    int invalid = firstInvalid;
    while (true) {
      var valid = new String(bytes, p, invalid - p, UTF_8);
      valid.getChars(0, valid.length(), chars, size);
      size += valid.length();
      if (invalid == to) {
        return Json.parse(chars, 0, size);
      }
      chars[size++] = INVALID_BYTE_PLACEHOLDER;
      chars[size++] = INVALID_BYTE_PLACEHOLDER;
      p = invalid + 1;
      invalid = Utf8.firstInvalid(bytes, p, to);
    }
  }

  /** Whether a byte order mark begins the text; RFC 8259 allows a parser to ignore it. */
  private static boolean startsWithByteOrderMark(byte[] bytes, int from, int to) {
    return to - from >= BYTE_ORDER_MARK.length
        && Arrays.equals(
            bytes, from, from + BYTE_ORDER_MARK.length, BYTE_ORDER_MARK, 0, BYTE_ORDER_MARK.length);
  }

  private static int countInvalidBytes(byte[] bytes, int firstInvalid, int to) {
    int count = 0;
    for (int p = firstInvalid; p < to; p = Utf8.firstInvalid(bytes, p + 1, to)) {
      count++;
    }
    return count;
  }

  private static String firstLine(String message) {
    int end = message.indexOf('\n');
    var line = end < 0 ? message : message.substring(0, end);
    return line.length() > 200 ? line.substring(0, 200) : line;
  }
}
