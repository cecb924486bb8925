package dev.sluice.api.decode;

import dev.sluice.api.compression.Deflated;
import dev.sluice.api.compression.Zstd;
import dev.sluice.api.decode.WalManifest.Frame;
import dev.sluice.core.domain.Limits;
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
 * Frames of a write-ahead log, each a gzip or zstd member of JSON lines, to OTLP.
 *
 * <p>All of them are unpacked and held against the manifest before the first line is read: a sender
 * that is told of a bad frame knows that none of the others was taken. For one request.
 */
public final class WalFrames {
  private static final int BUFFER = 8192;

  private final ByteBuffer packed;
  private final Limits limits;
  private final LongConsumer room;
  private byte[] bytes = {};
  private int size;

  private WalFrames(ByteBuffer packed, Limits limits, LongConsumer room) {
    this.packed = packed;
    this.limits = limits;
    this.room = room;
  }

  /**
   * @param manifest JSON array of the frames' index lines
   * @param frames the frames one after the other, in the manifest's order
   * @param resource where flat lines come from; Sluice's own say it themselves
   * @param room told of every byte that is held beside the two, before it is; may throw
   * @throws Undecodable when the manifest cannot be read, or a frame is not what it says
   */
  public static OtlpPayload read(
      ByteBuffer manifest,
      ByteBuffer frames,
      Map<String, String> resource,
      Limits limits,
      LongConsumer room) {
    room.accept(manifest.remaining());
    var listed = WalManifest.read(bytes(manifest, manifest.remaining()), limits);
    return new WalFrames(frames, limits, room).read(listed, resource);
  }

  private static byte[] bytes(ByteBuffer from, int length) {
    var bytes = new byte[length];
    from.get(bytes);
    return bytes;
  }

  private OtlpPayload read(List<Frame> frames, Map<String, String> resource) {
    room.accept(packed.remaining());
    int[] ends = new int[frames.size()];
    for (int i = 0; i < ends.length; i++) {
      unpack(frames.get(i));
      ends[i] = size;
    }
    if (packed.hasRemaining()) {
      throw Undecodable.damaged(packed.remaining() + " bytes follow the last frame");
    }
    var lines = new WalLines(resource, limits, size);
    int from = 0;
    for (int i = 0; i < ends.length; i++) {
      lines(frames.get(i), from, ends[i], lines);
      from = ends[i];
    }
    return lines.payload();
  }

  private void unpack(Frame frame) {
    if (frame.length() > packed.remaining()) {
      throw wrong(
          frame,
          "is cut off: %d of %d bytes are there".formatted(packed.remaining(), frame.length()));
    }
    int begin = size;
    try (var in = open(frame, bytes(packed, (int) frame.length()))) {
      while (true) {
        makeRoom();
        int count = in.read(bytes, size, bytes.length - size);
        if (count < 0) {
          break;
        }
        size += count;
        if (size > limits.maxRequestBytes()) {
          throw Undecodable.tooLarge(
              "frames unpack to more than the limit of %d bytes"
                  .formatted(limits.maxRequestBytes()));
        }
      }
    } catch (IOException _) {
      throw wrong(frame, "is no complete gzip or zstd after " + (size - begin) + " bytes");
    }
    verify(frame, begin);
  }

  private static InputStream open(Frame frame, byte[] member) throws IOException {
    if (member.length > 1 && member[0] == 0x1F && member[1] == (byte) 0x8B) {
      return Deflated.gzip(member);
    }
    if (member.length > 1 && member[0] == 0x28 && member[1] == (byte) 0xB5) {
      return Zstd.open(new ByteArrayInputStream(member));
    }
    throw wrong(frame, "is neither gzip nor zstd");
  }

  /** Room for one byte over the limit is enough to know that it is over. */
  private void makeRoom() {
    if (size == bytes.length) {
      long wanted = size == 0 ? Math.max(BUFFER, packed.limit() * 4L) : size * 2L;
      int grown = (int) Math.min(wanted, limits.maxRequestBytes() + 1L);
      room.accept(grown - size);
      bytes = Arrays.copyOf(bytes, grown);
    }
  }

  private void verify(Frame frame, int begin) {
    var crc = new CRC32();
    crc.update(bytes, begin, size - begin);
    if (frame.crc32() != 0 && frame.crc32() != crc.getValue()) {
      throw wrong(frame, "crc32 is %08x instead of %08x".formatted(crc.getValue(), frame.crc32()));
    }
    long records = 0;
    for (int from = begin; from < size; from = lineEnd(from, size) + 1) {
      if (!JsonText.isBlank(bytes, from, lineEnd(from, size))) {
        records++;
      }
    }
    if (records != frame.records()) {
      throw wrong(frame, "has %d records instead of %d".formatted(records, frame.records()));
    }
  }

  private void lines(Frame frame, int begin, int end, WalLines lines) {
    int number = 0;
    for (int from = begin; from < end; from = lineEnd(from, end) + 1) {
      number++;
      int to = lineEnd(from, end);
      if (JsonText.isBlank(bytes, from, to)) {
        continue;
      }
      try {
        lines.line(bytes, from, to);
      } catch (Undecodable e) {
        if (e.tooLarge()) {
          throw e;
        }
        throw wrong(frame, "line %d: %s".formatted(number, e.detail()));
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

  private static Undecodable wrong(Frame frame, String what) {
    return Undecodable.damaged(frame.name() + ": " + what);
  }
}
