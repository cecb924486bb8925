package dev.sluice.api.http;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.otlp.Utf8;
import java.util.function.Function;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;

/**
 * JSON as it came from a client, possibly with bytes in it that are no UTF-8.
 *
 * <p>A parser of bytes would give up the whole document for one such byte. So each is turned into a
 * lone surrogate, which no valid text can hold and which the record that has it in a string does
 * not survive: its verdict falls like any other.
 */
final class JsonText {
  private static final char INVALID = '\uD800';

  private JsonText() {}

  /**
   * Opens a parser over {@code bytes[from, to)} and lets {@code reader} use it.
   *
   * @param line where the text begins in the request, for messages, from 1
   * @throws RequestRefused when it is not JSON, with where it broke
   */
  static <T> T read(byte[] bytes, int from, int to, int line, Function<JsonParser, T> reader) {
    try (var parser = open(bytes, from, to)) {
      return reader.apply(parser);
    } catch (JacksonException e) {
      var place = e.getLocation();
      throw RequestRefused.malformed(
          "malformed JSON at line %d, column %d: %s"
              .formatted(
                  line + (place == null ? 1 : Math.max(1, place.getLineNr())) - 1,
                  place == null ? 1 : Math.max(1, place.getColumnNr()),
                  firstLine(e.getOriginalMessage())));
    }
  }

  private static JsonParser open(byte[] bytes, int from, int to) {
    int invalid = Utf8.firstInvalid(bytes, from, to);
    if (invalid == to) {
      return Json.parse(bytes, from, to - from);
    }
    var text = new StringBuilder(to - from);
    int p = from;
    while (p < to) {
      text.append(new String(bytes, p, invalid - p, UTF_8));
      p = invalid;
      if (p < to) {
        text.append(INVALID);
        p++;
        invalid = Utf8.firstInvalid(bytes, p, to);
      }
    }
    char[] chars = new char[text.length()];
    text.getChars(0, chars.length, chars, 0);
    return Json.parse(chars, 0, chars.length);
  }

  private static String firstLine(String message) {
    int end = message.indexOf('\n');
    var line = end < 0 ? message : message.substring(0, end);
    return line.length() > 200 ? line.substring(0, 200) : line;
  }
}
