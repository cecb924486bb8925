package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.github.luben.zstd.Zstd;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32;
import java.util.zip.GZIPOutputStream;

/** A segment and its index, in the format of the WAL shipper of the predecessor system. */
public final class WalFile {
  private static final String NAME = "seg-000001.wal.gz";

  private final ByteArrayOutputStream frames = new ByteArrayOutputStream();
  private final List<String> manifest = new ArrayList<>();

  public WalFile gzip(String... lines) {
    var bytes = payload(lines);
    return frame(gzip(bytes), lines.length, crc32(bytes));
  }

  public WalFile zstd(String... lines) {
    var bytes = payload(lines);
    return frame(Zstd.compress(bytes), lines.length, crc32(bytes));
  }

  /** Adds a frame with this description in the manifest. */
  public WalFile frame(byte[] member, long records, long crc32) {
    manifest.add(
        "{\"file\":\"%s\",\"frame\":%d,\"off\":%d,\"len\":%d,\"recs\":%d,\"first_ts\":1,\"last_ts\":2,\"crc32\":%d}"
            .formatted(NAME, manifest.size() + 1, frames.size(), member.length, records, crc32));
    frames.writeBytes(member);
    return this;
  }

  public static byte[] payload(String... lines) {
    return (String.join("\n", lines) + "\n").getBytes(UTF_8);
  }

  public static byte[] gzip(byte[] bytes) {
    var out = new ByteArrayOutputStream();
    try (var gzip = new GZIPOutputStream(out)) {
      gzip.write(bytes);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return out.toByteArray();
  }

  public static long crc32(byte[] bytes) {
    var crc = new CRC32();
    crc.update(bytes);
    return crc.getValue();
  }

  public byte[] manifest() {
    return ("[" + String.join(",", manifest) + "]").getBytes(UTF_8);
  }

  public byte[] frames() {
    return frames.toByteArray();
  }

  /** Returns the multipart body with this boundary. */
  public byte[] multipart(String boundary) {
    var body = new ByteArrayOutputStream();
    part(body, boundary, "manifest", "application/json", manifest());
    part(body, boundary, "frames", "application/octet-stream", frames());
    body.writeBytes(("--" + boundary + "--\r\n").getBytes(UTF_8));
    return body.toByteArray();
  }

  private static void part(
      ByteArrayOutputStream body, String boundary, String name, String type, byte[] content) {
    body.writeBytes(
        "--%s\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"%s\"\r\nContent-Type: %s\r\n\r\n"
            .formatted(boundary, name, name, type)
            .getBytes(UTF_8));
    body.writeBytes(content);
    body.writeBytes("\r\n".getBytes(UTF_8));
  }
}
