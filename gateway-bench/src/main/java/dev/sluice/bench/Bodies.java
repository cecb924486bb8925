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

/** What load generators send, as files they can read. */
final class Bodies {
  private static final long SEED = 7;

  private Bodies() {}

  /** How a log is sent. */
  enum Form {
    OTLP("application/x-protobuf", ""),
    OTLP_GZIP("application/x-protobuf", "gzip"),
    JSON("application/json", "");

    final String type;
    final String encoding;

    Form(String type, String encoding) {
      this.type = type;
      this.encoding = encoding;
    }
  }

  /** One file, each body with its length before it, as a varint of protobuf: for wrk and ghz. */
  static Path file(Path folder, Form form, int bodies, int logs) throws IOException {
    return file(folder, form, bodies, logs, Traffic.Shape.USUAL);
  }

  static Path file(Path folder, Form form, int bodies, int logs, Traffic.Shape shape)
      throws IOException {
    return file(folder, source(form, bodies, logs, shape), bodies);
  }

  /** The same of whatever the source gives. */
  static Path file(Path folder, Supplier<byte[]> source, int bodies) throws IOException {
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

  /** A file each, and one that names them all: for vegeta. */
  static Path targets(Path folder, String url, Form form, int bodies, int logs) throws IOException {
    return targets(folder, url, form.type, source(form, bodies, logs, Traffic.Shape.USUAL), bodies);
  }

  /** The same of whatever the source gives. */
  static Path targets(Path folder, String url, String type, Supplier<byte[]> source, int bodies)
      throws IOException {
    var parts = Files.createDirectories(folder.resolve("parts")).toAbsolutePath();
    var targets = new StringBuilder();
    for (int i = 0; i < bodies; i++) {
      var part = Files.write(parts.resolve(Integer.toString(i)), source.get());
      targets.append("POST %s\nContent-Type: %s\n@%s\n\n".formatted(url, type, part));
    }
    return Files.writeString(folder.resolve("targets"), targets);
  }

  private static Supplier<byte[]> source(Form form, int bodies, int logs, Traffic.Shape shape) {
    // the last log is of now, so that none is of the future
    var now = Instant.now();
    long nanos = now.getEpochSecond() * 1_000_000_000L + now.getNano();
    var traffic = new Traffic(SEED, (long) bodies * logs, nanos, shape);
    return switch (form) {
      case OTLP -> () -> traffic.otlp(logs);
      case OTLP_GZIP -> () -> gzip(traffic.otlp(logs));
      case JSON -> () -> traffic.json(logs);
    };
  }

  private static byte[] gzip(byte[] body) {
    var out = new ByteArrayOutputStream(body.length / 2);
    try (var gzip = new GZIPOutputStream(out)) {
      gzip.write(body);
    } catch (IOException e) {
      throw new AssertionError("nothing fails in memory", e);
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
