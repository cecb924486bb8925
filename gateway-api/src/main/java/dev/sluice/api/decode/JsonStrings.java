package dev.sluice.api.decode;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.ArrayList;
import java.util.List;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonToken;

/** A JSON array of texts. */
public final class JsonStrings {
  private JsonStrings() {}

  /**
   * @throws IllegalArgumentException when it is anything else
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
      // falls through to the answer
    }
    throw new IllegalArgumentException("no JSON array of texts");
  }
}
