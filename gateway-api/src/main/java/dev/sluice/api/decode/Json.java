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

/** The one JSON reader and writer of this package: streaming, no objects in between. */
public final class Json {

  /**
   * Jackson's own limits would fail a whole request; ours give a verdict on one record. So its are
   * wide, and only depth, which would cost memory out of proportion, stays bounded. Numbers may be
   * as long as they like because nobody makes a number of a long one. Text is UTF-8 and nothing
   * else, so that the same bytes mean the same as a document and as a line of NDJSON.
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

  public static byte[] write(Consumer<JsonGenerator> writer) {
    var out = new ByteArrayOutputStream(256);
    try (var json = FACTORY.createGenerator(ObjectWriteContext.empty(), out)) {
      writer.accept(json);
    }
    return out.toByteArray();
  }
}
