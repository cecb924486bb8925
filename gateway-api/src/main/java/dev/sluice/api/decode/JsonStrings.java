package dev.sluice.api.decode;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.ArrayList;
import java.util.List;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonToken;

/** Parses a JSON array of strings. */
public final class JsonStrings {
  private JsonStrings() {}

  /**
   * Returns the strings of the array.
   *
   * @throws IllegalArgumentException if {@code json} is not an array of strings
   */
  public static List<String> parse(String json) {
    var bytes = json.getBytes(UTF_8);
    var texts = new ArrayList<String>();
    try (var parser = Json.parse(bytes, 0, bytes.length)) {
      if (parser.nextToken() == JsonToken.START_ARRAY) {
        while (parser.nextToken() == JsonToken.VALUE_STRING) {
          texts.add(parser.getString());
        }
        if (parser.currentToken() == JsonToken.END_ARRAY && parser.nextToken() == null) {
          return texts;
        }
      }
    } catch (JacksonException _) {
      // falls through to the exception
    }
    throw new IllegalArgumentException("not a JSON array of strings");
  }
}
