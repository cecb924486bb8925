package dev.sluice.api.decode;

import java.io.ByteArrayOutputStream;
import java.util.function.Consumer;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.JsonParser;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.ObjectWriteContext;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.TokenStreamFactory;
import tools.jackson.core.json.JsonFactory;

/** Creates the streaming JSON parsers and generators of this package. */
public final class Json {

  /**
   * The Jackson factory. An exceeded Jackson limit would fail a whole request, while the gateway's
   * own limits reject one record; therefore Jackson's limits are disabled except for the nesting
   * depth, whose memory cost is out of proportion to the input. The length of numbers is unlimited,
   * because no decoder converts a long number. The charset is always UTF-8, so that the same bytes
   * have the same meaning in a JSON document and in a line of NDJSON.
   */
  private static final JsonFactory FACTORY =
      JsonFactory.builder()
          .streamReadConstraints(
              StreamReadConstraints.builder()
                  .maxNestingDepth(10_000)
                  .maxStringLength(Integer.MAX_VALUE)
                  .maxNameLength(Integer.MAX_VALUE)
                  .maxNumberLength(Integer.MAX_VALUE)
                  .build())
          .disable(TokenStreamFactory.Feature.CHARSET_DETECTION)
          .build();

  private Json() {}

  static JsonParser parse(byte[] bytes, int offset, int length) {
    return FACTORY.createParser(ObjectReadContext.empty(), bytes, offset, length);
  }

  static JsonParser parse(char[] text, int offset, int length) {
    return FACTORY.createParser(ObjectReadContext.empty(), text, offset, length);
  }

  /** Returns the UTF-8 bytes of the JSON that {@code writer} generates. */
  public static byte[] write(Consumer<JsonGenerator> writer) {
    var out = new ByteArrayOutputStream(256);
    try (var json = FACTORY.createGenerator(ObjectWriteContext.empty(), out)) {
      writer.accept(json);
    }
    return out.toByteArray();
  }
}
