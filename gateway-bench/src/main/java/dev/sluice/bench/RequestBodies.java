package dev.sluice.bench;

import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.function.Supplier;
import java.util.zip.GZIPOutputStream;

/** The request bodies of the load generators, written to files in their formats. */
final class RequestBodies {
  private static final long SEED = 7;

  private RequestBodies() {}

  /** The formats of a request body. */
  enum BodyFormat {
    OTLP("application/x-protobuf", ""),
    OTLP_GZIP("application/x-protobuf", "gzip"),
    JSON("application/json", "");

    final String contentType;
    final String contentEncoding;

    BodyFormat(String contentType, String contentEncoding) {
      this.contentType = contentType;
      this.contentEncoding = contentEncoding;
    }
  }

  /**
   * Writes one file for wrk and ghz, in which each body has its length before it as a protobuf
   * varint.
   *
   * @param lines the number of different lines; 0 for those of the shop
   */
  static Path writeBodies(Path folder, BodyFormat form, int bodies, int logs, int lines)
      throws IOException {
    return writeBodies(folder, source(form, bodies, logs, lines), bodies);
  }

  /** Writes bodies from a supplier to one file for wrk and ghz. */
  static Path writeBodies(Path folder, Supplier<byte[]> source, int bodies) throws IOException {
    var file = folder.resolve("bodies");
    try (var out = new BufferedOutputStream(Files.newOutputStream(file), 1 << 16)) {
      for (int i = 0; i < bodies; i++) {
        var body = source.get();
        writeVarint(out, body.length);
        out.write(body);
      }
    }
    return file;
  }

  /** Writes one file per body and a targets file for vegeta that lists them. */
  static Path writeVegetaTargets(Path folder, String url, BodyFormat form, int bodies, int logs)
      throws IOException {
    return writeVegetaTargets(folder, url, form.contentType, source(form, bodies, logs, 0), bodies);
  }

  /** Writes bodies from a supplier, one file per body, and a targets file for vegeta. */
  static Path writeVegetaTargets(
      Path folder, String url, String type, Supplier<byte[]> source, int bodies)
      throws IOException {
    var parts = Files.createDirectories(folder.resolve("parts")).toAbsolutePath();
    var targets = new StringBuilder();
    for (int i = 0; i < bodies; i++) {
      var part = Files.write(parts.resolve(Integer.toString(i)), source.get());
      targets.append("POST %s\nContent-Type: %s\n@%s\n\n".formatted(url, type, part));
    }
    return Files.writeString(folder.resolve("targets"), targets);
  }

  private static Supplier<byte[]> source(BodyFormat form, int bodies, int logs, int lines) {
    // the time of the last log is now, so that no log is in the future
    var now = Instant.now();
    long nanos = now.getEpochSecond() * 1_000_000_000L + now.getNano();
    var syntheticLogs = new SyntheticLogs(SEED, (long) bodies * logs, nanos, lines);
    return switch (form) {
      case OTLP -> () -> syntheticLogs.otlp(logs);
      case OTLP_GZIP -> () -> gzip(syntheticLogs.otlp(logs));
      case JSON -> () -> syntheticLogs.json(logs);
    };
  }

  private static byte[] gzip(byte[] body) {
    var out = new ByteArrayOutputStream(body.length / 2);
    try (var gzip = new GZIPOutputStream(out)) {
      gzip.write(body);
    } catch (IOException e) {
      throw new AssertionError("no I/O error in memory", e);
    }
    return out.toByteArray();
  }

  private static void writeVarint(OutputStream out, int value) throws IOException {
    int rest = value;
    while ((rest & ~0x7F) != 0) {
      out.write(rest & 0x7F | 0x80);
      rest >>>= 7;
    }
    out.write(rest);
  }
}
