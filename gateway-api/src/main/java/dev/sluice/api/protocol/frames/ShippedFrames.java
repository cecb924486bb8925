package dev.sluice.api.protocol.frames;

import dev.sluice.api.compression.StrictInflaterInputStream;
import dev.sluice.api.compression.Zstd;
import dev.sluice.api.decode.LenientJsonReader;
import dev.sluice.api.protocol.frames.ShipmentManifest.ManifestFrame;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.DecodeException;
import dev.sluice.core.ingest.OtlpPayload;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.LongConsumer;
import java.util.zip.CRC32;

/**
 * Decodes shipped WAL frames, each a gzip or zstd member with JSON lines, into OTLP.
 *
 * <p>All frames are decompressed and verified against the manifest before the first line is
 * decoded. A sender that receives an error for one frame therefore knows that no frame of the
 * request was accepted. For one request.
 */
final class ShippedFrames {
  private static final int BUFFER = 8192;

  private final ByteBuffer compressed;
  private final Limits limits;
  private final LongConsumer memory;
  private byte[] bytes = {};
  private int size;

  private ShippedFrames(ByteBuffer compressed, Limits limits, LongConsumer memory) {
    this.compressed = compressed;
    this.limits = limits;
    this.memory = memory;
  }

  /**
   * Decodes the frames of a request.
   *
   * @param manifest a JSON array of the frames' index lines
   * @param frames the frames, concatenated in the order of the manifest
   * @param resource the resource attributes of flat lines; OTLP lines have their own resource
   * @param memory receives the number of bytes before each allocation beside the two buffers; it
   *     may throw
   * @throws DecodeException if the manifest is malformed or a frame does not match it
   */
  public static OtlpPayload read(
      ByteBuffer manifest,
      ByteBuffer frames,
      Map<String, String> resource,
      Limits limits,
      LongConsumer memory) {
    memory.accept(manifest.remaining());
    var manifestFrames = ShipmentManifest.read(bytes(manifest, manifest.remaining()), limits);
    return new ShippedFrames(frames, limits, memory).read(manifestFrames, resource);
  }

  private static byte[] bytes(ByteBuffer from, int length) {
    var bytes = new byte[length];
    from.get(bytes);
    return bytes;
  }

  private OtlpPayload read(List<ManifestFrame> frames, Map<String, String> resource) {
    memory.accept(compressed.remaining());
    int[] ends = new int[frames.size()];
    for (int i = 0; i < ends.length; i++) {
      decompress(frames.get(i));
      ends[i] = size;
    }
    if (compressed.hasRemaining()) {
      throw DecodeException.damaged(compressed.remaining() + " bytes follow the last frame");
    }
    var lines = new ShippedLines(resource, limits, size);
    int from = 0;
    for (int i = 0; i < ends.length; i++) {
      readLines(frames.get(i), from, ends[i], lines);
      from = ends[i];
    }
    return lines.payload();
  }

  private void decompress(ManifestFrame frame) {
    if (frame.length() > compressed.remaining()) {
      throw damaged(
          frame,
          "is cut off: it has %d of %d bytes".formatted(compressed.remaining(), frame.length()));
    }
    int begin = size;
    try (var in = open(frame, bytes(compressed, (int) frame.length()))) {
      while (true) {
        ensureCapacity();
        int count = in.read(bytes, size, bytes.length - size);
        if (count < 0) {
          break;
        }
        size += count;
        if (size > limits.maxRequestBytes()) {
          throw DecodeException.tooLarge(
              "decompressed frames exceed the limit of %d bytes"
                  .formatted(limits.maxRequestBytes()));
        }
      }
    } catch (IOException _) {
      throw damaged(
          frame, "is not a complete gzip or zstd member after " + (size - begin) + " bytes");
    }
    verify(frame, begin);
  }

  private static InputStream open(ManifestFrame frame, byte[] member) throws IOException {
    if (member.length > 1 && member[0] == 0x1F && member[1] == (byte) 0x8B) {
      return StrictInflaterInputStream.gzip(member);
    }
    if (member.length > 1 && member[0] == 0x28 && member[1] == (byte) 0xB5) {
      return Zstd.open(new ByteArrayInputStream(member));
    }
    throw damaged(frame, "is neither gzip nor zstd");
  }

  /** Ensures a free byte; a capacity of one byte above the limit suffices to detect the excess. */
  private void ensureCapacity() {
    if (size == bytes.length) {
      long newCapacity = size == 0 ? Math.max(BUFFER, compressed.limit() * 4L) : size * 2L;
      int grown = (int) Math.min(newCapacity, limits.maxRequestBytes() + 1L);
      memory.accept(grown - size);
      bytes = Arrays.copyOf(bytes, grown);
    }
  }

  private void verify(ManifestFrame frame, int begin) {
    var crc = new CRC32();
    crc.update(bytes, begin, size - begin);
    if (frame.crc32() != 0 && frame.crc32() != crc.getValue()) {
      throw damaged(
          frame, "crc32 is %08x instead of %08x".formatted(crc.getValue(), frame.crc32()));
    }
    long records = 0;
    for (int from = begin; from < size; from = lineEnd(from, size) + 1) {
      if (!LenientJsonReader.isBlank(bytes, from, lineEnd(from, size))) {
        records++;
      }
    }
    if (records != frame.records()) {
      throw damaged(frame, "has %d records instead of %d".formatted(records, frame.records()));
    }
  }

  private void readLines(ManifestFrame frame, int begin, int end, ShippedLines lines) {
    int number = 0;
    for (int from = begin; from < end; from = lineEnd(from, end) + 1) {
      number++;
      int to = lineEnd(from, end);
      if (LenientJsonReader.isBlank(bytes, from, to)) {
        continue;
      }
      try {
        lines.readLine(bytes, from, to);
      } catch (DecodeException e) {
        if (e.tooLarge()) {
          throw e;
        }
        throw damaged(frame, "line %d: %s".formatted(number, e.detail()));
      }
    }
  }

  private int lineEnd(int from, int end) {
    int to = from;
    while (to < end && bytes[to] != '\n') {
      to++;
    }
    return to;
  }

  private static DecodeException damaged(ManifestFrame frame, String reason) {
    return DecodeException.damaged(frame.name() + ": " + reason);
  }
}
