package dev.sluice.api.decode;

import dev.sluice.core.domain.Limits;
import java.util.ArrayList;
import java.util.List;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/** What comes with the frames of a write-ahead log: their index lines, as an array. */
final class ShipmentManifest {

  /** So many that a request is full of them before; each costs more in memory than on the wire. */
  private static final int MAX_FRAMES = 10_000;

  private static final int MAX_FILE_NAME_LENGTH = 255;
  private static final long MAX_CRC32 = 0xFFFF_FFFFL;

  /**
   * @param number from 1 within its file
   * @param length compressed bytes
   * @param records lines
   * @param crc32 of the uncompressed bytes; 0 when the writer did not know it
   */
  record Frame(String file, long number, long length, long records, long crc32) {

    /** For messages. */
    String name() {
      return "frame " + number + " of " + file;
    }
  }

  private ShipmentManifest() {}

  /**
   * @throws DecodeException when it is no manifest, or has more records than a request may
   */
  static List<Frame> read(byte[] json, Limits limits) {
    return LenientJsonReader.read(json, 0, json.length, 1, parser -> frames(parser, limits));
  }

  private static List<Frame> frames(JsonParser p, Limits limits) {
    if (p.nextToken() != JsonToken.START_ARRAY) {
      throw malformed("is not an array");
    }
    var frames = new ArrayList<Frame>();
    long records = 0;
    while (p.nextToken() != JsonToken.END_ARRAY) {
      if (frames.size() == MAX_FRAMES) {
        throw DecodeException.tooLarge("more than " + MAX_FRAMES + " frames");
      }
      var frame = frame(p, frames.size() + 1);
      records += frame.records();
      if (records > limits.maxRecords()) {
        throw DecodeException.tooLarge("more than " + limits.maxRecords() + " log records");
      }
      frames.add(frame);
    }
    LenientJsonReader.requireEnd(p, 1);
    return frames;
  }

  private static Frame frame(JsonParser p, int entry) {
    if (p.currentToken() != JsonToken.START_OBJECT) {
      throw malformed("entry " + entry + " is not an object");
    }
    String file = null;
    long number = -1;
    long length = -1;
    long records = -1;
    long crc32 = -1;
    String name;
    while ((name = p.nextName()) != null) {
      p.nextToken();
      switch (name) {
        case "file" -> file = text(p, entry);
        case "frame" -> number = integer(p, entry, name, Integer.MAX_VALUE);
        case "len" -> length = integer(p, entry, name, Integer.MAX_VALUE);
        case "recs" -> records = integer(p, entry, name, Integer.MAX_VALUE);
        case "crc32" -> crc32 = integer(p, entry, name, MAX_CRC32);
        default -> p.skipChildren(); // off and the times say where and when, which nobody asks here
      }
    }
    if (file == null || number < 0 || length < 0 || records < 0 || crc32 < 0) {
      throw malformed("entry " + entry + " lacks one of file, frame, len, recs, crc32");
    }
    return new Frame(file, number, length, records, crc32);
  }

  private static String text(JsonParser p, int entry) {
    if (p.currentToken() == JsonToken.VALUE_STRING
        && p.getString().length() <= MAX_FILE_NAME_LENGTH) {
      return p.getString();
    }
    throw malformed(
        "entry %d: file is not text of at most %d characters"
            .formatted(entry, MAX_FILE_NAME_LENGTH));
  }

  private static long integer(JsonParser p, int entry, String name, long max) {
    if (p.currentToken() == JsonToken.VALUE_NUMBER_INT
        && p.getNumberType() != JsonParser.NumberType.BIG_INTEGER
        && p.getLongValue() >= 0
        && p.getLongValue() <= max) {
      return p.getLongValue();
    }
    throw malformed("entry %d: %s is not an integer from 0 to %d".formatted(entry, name, max));
  }

  private static DecodeException malformed(String detail) {
    return DecodeException.malformed("manifest: " + detail);
  }
}
