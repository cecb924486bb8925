package dev.sluice.api.protocol.frames;

import dev.sluice.api.decode.LenientJsonReader;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.DecodeException;
import java.util.ArrayList;
import java.util.List;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/** Reads the manifest of shipped WAL frames: a JSON array of the frames' index lines. */
final class ShipmentManifest {

  /**
   * The maximum number of frames in a manifest. A request of full frames reaches its size limit
   * earlier. The limit bounds memory, because an entry is larger in memory than on the wire.
   */
  private static final int MAX_FRAMES = 10_000;

  private static final int MAX_FILE_NAME_LENGTH = 255;
  private static final long MAX_CRC32 = 0xFFFF_FFFFL;

  /**
   * The manifest entry of one frame.
   *
   * @param file the name of the segment file
   * @param number the number of the frame within its file, from 1
   * @param length the compressed size in bytes
   * @param records the number of records, one per line
   * @param crc32 the CRC-32 of the uncompressed bytes; 0 if the writer did not know it
   */
  record ManifestFrame(String file, long number, long length, long records, long crc32) {

    /** Returns the name of the frame in error messages. */
    String name() {
      return "frame " + number + " of " + file;
    }
  }

  private ShipmentManifest() {}

  /**
   * Returns the entries of the manifest.
   *
   * @throws DecodeException if the JSON is not a manifest, or names more frames or records than a
   *     request may have
   */
  static List<ManifestFrame> read(byte[] json, Limits limits) {
    return LenientJsonReader.read(json, 0, json.length, 1, parser -> frames(parser, limits));
  }

  private static List<ManifestFrame> frames(JsonParser p, Limits limits) {
    if (p.nextToken() != JsonToken.START_ARRAY) {
      throw malformed("is not an array");
    }
    var frames = new ArrayList<ManifestFrame>();
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

  private static ManifestFrame frame(JsonParser p, int entry) {
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
        default -> p.skipChildren(); // the offset and the times are not needed
      }
    }
    if (file == null || number < 0 || length < 0 || records < 0 || crc32 < 0) {
      throw malformed("entry " + entry + " lacks one of file, frame, len, recs, crc32");
    }
    return new ManifestFrame(file, number, length, records, crc32);
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
