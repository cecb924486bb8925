package dev.sluice.wal;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.github.luben.zstd.Zstd;
import com.google.protobuf.DiscardUnknownFieldsParser;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.OtlpFields;
import dev.sluice.core.otlp.OtlpWriter;
import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.testkit.LogBatches;
import dev.sluice.testkit.RandomOtlp;
import dev.sluice.testkit.SpoolContract;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import java.util.zip.CRC32;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class FrameCodecTest {
  private static final int ROUNDS = 400;

  @ParameterizedTest
  @EnumSource
  void decode_randomOtlp_isTheSame(Compression compression) throws Exception {
    var random = new Random(1);
    for (int i = 0; i < ROUNDS; i++) {
      var batch = batch(RandomOtlp.request(random).toByteArray());

      var decoded = FrameCodec.decode(encode(batch, compression).bytes());

      assertThat(decoded.possibleDuplicate()).isFalse();
      assertThat(decoded.key()).isNull();
      SpoolContract.assertSameBatches(List.of(decoded.batch()), List.of(batch));
    }
  }

  @Test
  void decode_scatteredOtlp_isTheSame() throws Exception {
    var random = new Random(2);
    var scattered = new ScatteredOtlp(random);
    for (int i = 0; i < 4 * ROUNDS; i++) {
      var batch = batch(scattered.write(RandomOtlp.request(random)));

      var decoded = FrameCodec.decode(encode(batch, Compression.ZSTD).bytes());

      SpoolContract.assertSameBatches(
          List.of(decoded.batch()), List.of(withoutUnknownFields(batch)));
    }
  }

  /** Returns the batch without unknown fields. */
  private static LogBatch withoutUnknownFields(LogBatch batch)
      throws InvalidProtocolBufferException {
    var parser = DiscardUnknownFieldsParser.wrap(ExportLogsServiceRequest.parser());
    return new LogBatch(
        batch.appendId(),
        batch.tenant(),
        batch.receivedNanos(),
        batch.firstId(),
        batch.records(),
        batch.expandedBytes(),
        parser.parseFrom(batch.otlp()).toByteArray());
  }

  @Test
  void decode_manyRequestsInOneBatch_areTheSame() throws Exception {
    var random = new Random(3);
    var requests = ExportLogsServiceRequest.newBuilder();
    for (int i = 0; i < 50; i++) {
      requests.mergeFrom(RandomOtlp.request(random));
      requests.mergeFrom(ExportLogsServiceRequest.parseFrom(LogBatches.request(3, random)));
    }
    var batch = batch(requests.build().toByteArray());

    var decoded = FrameCodec.decode(encode(batch, Compression.ZSTD).bytes());

    SpoolContract.assertSameBatches(List.of(decoded.batch()), List.of(batch));
  }

  @Test
  void decode_recordsOfOneScope_stayTogether() throws Exception {
    var batch = LogBatches.of(500);

    var decoded = FrameCodec.decode(encode(batch, Compression.ZSTD).bytes());

    assertThat(decoded.batch().otlp()).hasSizeLessThanOrEqualTo(batch.otlp().length);
    var request = ExportLogsServiceRequest.parseFrom(decoded.batch().otlp());
    assertThat(request.getResourceLogsCount()).isEqualTo(1);
    assertThat(request.getResourceLogs(0).getScopeLogsCount()).isEqualTo(1);
  }

  @ParameterizedTest
  @EnumSource
  void decodeHeader_batchWithKey_hasAllButTheRecords(Compression compression) throws Exception {
    var batch = LogBatches.of(20);
    var key =
        new IdempotencyStore.IdempotencyKey(
            "default", "order \"7\"\n\u0001é\uD83D\uDE80", UUID.randomUUID());
    var frame = new FrameCodec(compression).encode(new WalEntry(batch, true, key));

    var headerEntry = FrameCodec.decodeHeader(frame.bytes());
    var entry = FrameCodec.decode(frame.bytes());

    assertThat(headerEntry.possibleDuplicate()).isTrue();
    assertThat(headerEntry.key()).isEqualTo(key);
    assertThat(headerEntry.batch().otlp()).isEmpty();
    assertThat(headerEntry.batch())
        .extracting(
            LogBatch::appendId, LogBatch::records, LogBatch::expandedBytes, LogBatch::receivedNanos)
        .containsExactly(
            batch.appendId(), batch.records(), batch.expandedBytes(), batch.receivedNanos());
    assertThat(entry.possibleDuplicate()).isTrue();
    assertThat(entry.key()).isEqualTo(key);
  }

  @ParameterizedTest
  @EnumSource
  void describe_anyFrame_equalsWhatEncodeReturned(Compression compression) throws Exception {
    var random = new Random(4);
    for (int i = 0; i < 50; i++) {
      var frame = encode(batch(RandomOtlp.request(random).toByteArray()), compression);

      var described = FrameCodec.describe(frame.bytes());

      assertThat(described).isEqualTo(frame);
    }
  }

  @ParameterizedTest
  @EnumSource
  void decode_frameOfAnotherIndexLine_isCorrupt(Compression compression) throws Exception {
    var batch = batch(RandomOtlp.request(new Random(5)).toByteArray());
    var frame = encode(batch, compression);
    int records = frame.records();

    var entry = FrameCodec.decode(frame.bytes(), frame.crc32(), records);

    SpoolContract.assertSameBatches(List.of(entry.batch()), List.of(batch));
    assertThatThrownBy(() -> FrameCodec.decode(frame.bytes(), frame.crc32() ^ 1, records))
        .isInstanceOf(UnreadableFrameException.class);
    assertThatThrownBy(() -> FrameCodec.decode(frame.bytes(), frame.crc32(), records + 1))
        .isInstanceOf(UnreadableFrameException.class);
  }

  @Test
  void encode_recordTimes_areEventThenObservedThenReceived() {
    var request =
        """
        resource_logs { scope_logs {
          log_records { time_unix_nano: 500 observed_time_unix_nano: 100 }
          log_records { observed_time_unix_nano: 900 }
        } }
        """;
    var batch = LogBatches.of(OtlpTextFormat.of(request));
    var withReceived =
        LogBatches.of(OtlpTextFormat.of(request.replace("observed_time_unix_nano: 900", "")));

    assertThat(encode(batch, Compression.ZSTD))
        .extracting(Frame::firstNanos, Frame::lastNanos)
        .containsExactly(500L, 900L);
    assertThat(encode(withReceived, Compression.ZSTD).lastNanos())
        .isEqualTo(withReceived.receivedNanos());
  }

  @Test
  void encode_wrongRecordCount_throws() {
    var batch = LogBatches.of(3);

    assertThatThrownBy(() -> encode(with(batch, 4, batch.otlp()), Compression.ZSTD))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("has 3 records, but declares 4");
    assertThatThrownBy(() -> encode(with(batch, 3, new byte[] {10, 9}), Compression.ZSTD))
        .isInstanceOf(IllegalArgumentException.class);
    // the pooled codec is still usable
    assertThat(encode(batch, Compression.ZSTD).records()).isEqualTo(3);
  }

  @ParameterizedTest
  @EnumSource
  void lengthOf_consecutiveFrames_isThatOfEach(Compression compression) throws Exception {
    var frames =
        IntStream.of(1, 3000, 2)
            .mapToObj(records -> encode(LogBatches.of(records), compression).bytes())
            .toList();
    var all = ByteBuffer.allocateDirect(frames.stream().mapToInt(frame -> frame.length).sum());
    frames.forEach(all::put);
    all.flip();

    for (var frame : frames) {
      assertThat(FrameCodec.lengthOf(all)).isEqualTo(frame.length);
      for (int cut = 0; cut < frame.length; cut += 1 + frame.length / 100) {
        assertThat(FrameCodec.lengthOf(all.slice(all.position(), cut))).isEqualTo(-1);
      }
      all.position(all.position() + frame.length);
    }
    assertThatThrownBy(() -> FrameCodec.lengthOf(ByteBuffer.allocate(4096)))
        .isInstanceOf(UnreadableFrameException.class);
  }

  @ParameterizedTest
  @EnumSource
  void decode_truncated_isCorrupt(Compression compression) {
    var frame = encode(LogBatches.of(20), compression).bytes();
    for (int length = 0; length < frame.length; length++) {
      var cut = Arrays.copyOf(frame, length);
      assertThatThrownBy(() -> FrameCodec.decode(cut)).isInstanceOf(UnreadableFrameException.class);
      assertThatThrownBy(() -> FrameCodec.describe(cut))
          .isInstanceOf(UnreadableFrameException.class);
    }
    var longer = Arrays.copyOf(frame, frame.length + 1);
    assertThatThrownBy(() -> FrameCodec.decode(longer))
        .isInstanceOf(UnreadableFrameException.class);
  }

  /** A flipped bit without meaning is accepted; then the decoded batch equals the original. */
  @ParameterizedTest
  @EnumSource
  void decode_bitFlipped_isCorruptOrTheSame(Compression compression) {
    var batch = LogBatches.of(20);
    var frame = encode(batch, compression).bytes();
    int corrupt = 0;
    for (int bit = 0; bit < 8 * frame.length; bit++) {
      frame[bit / 8] ^= (byte) (1 << bit % 8);
      try {
        SpoolContract.assertSameBatches(List.of(FrameCodec.decode(frame).batch()), List.of(batch));
      } catch (UnreadableFrameException e) {
        assertThat(e.isUnsupportedVersion()).isFalse();
        corrupt++;
      }
      frame[bit / 8] ^= (byte) (1 << bit % 8);
    }
    assertThat(corrupt).isGreaterThan(8 * frame.length * 99 / 100);
  }

  /** Intact frames of damaged lines: decoding throws no other exception. */
  @Test
  void decode_damagedLines_areUnreadableOrDecoded() {
    var random = new Random(5);
    int unreadable = 0;
    for (int i = 0; i < 20 * ROUNDS; i++) {
      var frame = encode(batch(RandomOtlp.request(random).toByteArray()), Compression.GZIP);
      var lines = damaged(decompress(frame), random);
      try {
        var _ = FrameCodec.decode(compress(lines));
      } catch (UnreadableFrameException e) {
        unreadable++;
      }
    }
    assertThat(unreadable).isBetween(10 * ROUNDS, 20 * ROUNDS);
  }

  private static byte[] damaged(byte[] lines, Random random) {
    int offset = random.nextInt(lines.length);
    int length = Math.min(random.nextInt(4), lines.length - offset);
    var damaged = new ArrayList<Byte>();
    for (byte b : lines) {
      damaged.add(b);
    }
    damaged.subList(offset, offset + length).clear();
    for (int i = random.nextInt(3); i > 0; i--) {
      damaged.add(
          offset,
          (byte) (random.nextBoolean() ? lines[random.nextInt(lines.length)] : random.nextInt()));
    }
    var bytes = new byte[damaged.size()];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = damaged.get(i);
    }
    return bytes;
  }

  @Test
  void decode_invalidLines_throwsNamingTheFault() {
    var lines = new String(decompress(encode(LogBatches.of(2), Compression.ZSTD)), UTF_8);

    assertUnreadable(lines.replace("{\"v\":1,", "{\"v\":0,"), "line 1");
    assertUnreadable(
        lines.replaceFirst("\"records\":2", "\"records\":3"), "the header of the first line");
    assertUnreadable(lines.replace("\"records\":2", "\"records\":3"), "2 lines, expected 3");
    assertUnreadable(lines.replace("\"records\":2", "\"records\":1"), "the next log id");
    assertUnreadable(
        lines.replace("\"records\":2", "\"records\":0"), "a positive number of records");
    assertUnreadable(lines + lines, "the next log id");
    assertUnreadable(lines.strip(), "not UTF-8 text of complete lines");
    assertUnreadable(lines.replace("service", "\\q"), "an escape sequence");
    assertUnreadable(lines.replace("service", "\\ud800"), "expected \\u at byte");
    assertUnreadable("", "not UTF-8 text of complete lines");
    assertUnreadable("\n", "line 1: expected {\"v\": at byte 0");
  }

  @Test
  void decode_nestedTooDeeply_isCorrupt() {
    var lines = new String(decompress(encode(LogBatches.of(1), Compression.ZSTD)), UTF_8);
    var deep = "{\"arrayValue\":{\"values\":[".repeat(50_000);

    assertUnreadable(
        lines.replaceFirst("\"body\":\\{", "\"body\":" + deep.replace("$", "\\$")), "nesting");
  }

  @Test
  void decode_maximumNesting_isTheSame() throws Exception {
    var out = new OtlpWriter(new ByteOutput(1 << 10));
    var marks = new ArrayDeque<Integer>();
    marks.push(out.beginMessage(OtlpFields.EXPORT_LOGS_SERVICE_REQUEST_RESOURCE_LOGS));
    marks.push(out.beginMessage(OtlpFields.RESOURCE_LOGS_SCOPE_LOGS));
    marks.push(out.beginMessage(OtlpFields.SCOPE_LOGS_LOG_RECORDS));
    marks.push(out.beginMessage(OtlpFields.LOG_RECORD_BODY));
    for (int i = 0; i < JsonTokens.MAX_DEPTH; i++) {
      if (i % 2 == 0) {
        marks.push(out.beginMessage(OtlpFields.ANY_VALUE_ARRAY_VALUE));
        marks.push(out.beginMessage(OtlpFields.ARRAY_VALUE_VALUES));
      } else {
        marks.push(out.beginMessage(OtlpFields.ANY_VALUE_KVLIST_VALUE));
        marks.push(out.beginMessage(OtlpFields.KEY_VALUE_LIST_VALUES));
        marks.push(out.beginMessage(OtlpFields.KEY_VALUE_VALUE));
      }
    }
    out.writeVarint(OtlpFields.ANY_VALUE_INT_VALUE, -1);
    marks.forEach(out::endMessage);
    var batch = LogBatches.of(out.output().toByteArray(), Limits.TRUSTED);

    var decoded = FrameCodec.decode(encode(batch, Compression.ZSTD).bytes());

    // protobuf-java does not parse this nesting depth
    assertThat(decoded.batch().otlp()).isEqualTo(batch.otlp());
  }

  @Test
  void decode_newerVersion_throwsUnsupportedVersion() {
    var lines = new String(decompress(encode(LogBatches.of(2), Compression.ZSTD)), UTF_8);

    var newer = compress(lines.replace("{\"v\":1,", "{\"v\":2,\"what\":[],").getBytes(UTF_8));

    for (FrameReader frameReader :
        List.<FrameReader>of(FrameCodec::decode, FrameCodec::decodeHeader, FrameCodec::describe)) {
      assertThatThrownBy(() -> frameReader.read(newer))
          .isInstanceOfSatisfying(
              UnreadableFrameException.class, e -> assertThat(e.isUnsupportedVersion()).isTrue());
    }
  }

  private interface FrameReader {
    Object read(byte[] frame) throws UnreadableFrameException;
  }

  /** A declared size that the frame cannot have is rejected before the allocation. */
  @Test
  void decode_wrongSize_allocatesNoMemory() {
    var zstd = encode(LogBatches.of(20), Compression.ZSTD).bytes();
    var gzip = encode(LogBatches.of(20), Compression.GZIP).bytes();
    // replaces a size of two bytes by a much larger one
    zstd[5] = (byte) 0xFF;
    zstd[6] = (byte) 0xFF;
    gzip[gzip.length - 1] = 0x6F;

    assertThatThrownBy(() -> FrameCodec.decode(zstd)).isInstanceOf(UnreadableFrameException.class);
    assertThatThrownBy(() -> FrameCodec.decode(gzip))
        .isInstanceOf(UnreadableFrameException.class)
        .hasMessageContaining("declares a payload of");
    var huge = ByteBuffer.allocate(32).order(ByteOrder.LITTLE_ENDIAN);
    huge.putInt(ZstdFrameCompressor.MAGIC).put((byte) 0b1110_0100).putLong(1L << 40);
    huge.put((byte) 0b0000_0011).putShort((short) 0).put((byte) 'x').putInt(0);
    var frame = Arrays.copyOf(huge.array(), huge.position());
    assertThatThrownBy(() -> FrameCodec.decode(frame))
        .isInstanceOf(UnreadableFrameException.class)
        .hasMessageContaining("1 blocks declares a payload of 1099511627776");
  }

  @Test
  void encodeAndDecode_byManyThreads_areTheSame() throws Exception {
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      var tasks =
          IntStream.range(0, 64)
              .mapToObj(
                  seed ->
                      threads.submit(
                          () -> {
                            var batch = LogBatches.of(100, new Random(seed));
                            var compression = seed % 2 == 0 ? Compression.ZSTD : Compression.GZIP;
                            var decoded = FrameCodec.decode(encode(batch, compression).bytes());
                            SpoolContract.assertSameBatches(
                                List.of(decoded.batch()), List.of(batch));
                            return true;
                          }))
              .toList();
      for (var task : tasks) {
        assertThat(task.get()).isTrue();
      }
    }
  }

  private static void assertUnreadable(String lines, String reason) {
    assertThatThrownBy(() -> FrameCodec.decode(compress(lines.getBytes(UTF_8))))
        .isInstanceOfSatisfying(
            UnreadableFrameException.class, e -> assertThat(e.isUnsupportedVersion()).isFalse())
        .hasMessageContaining(reason);
  }

  static long crc32(byte[] bytes) {
    var crc = new CRC32();
    crc.update(bytes);
    return crc.getValue();
  }

  static byte[] compress(byte[] lines) {
    try (var codec = PooledCodec.acquire(Compression.GZIP)) {
      return codec.compressor.compress(lines, lines.length);
    }
  }

  static byte[] decompress(Frame frame) {
    try {
      return new GZIPInputStream(new ByteArrayInputStream(frame.bytes())).readAllBytes();
    } catch (IOException _) {
      return Zstd.decompress(frame.bytes(), frame.payloadBytes());
    }
  }

  /** Returns a batch with the given OTLP after one valid record. */
  private static LogBatch batch(byte[] otlp) {
    var valid = LogBatches.request(1, new Random(otlp.length));
    var joined = Arrays.copyOf(valid, valid.length + otlp.length);
    System.arraycopy(otlp, 0, joined, valid.length, otlp.length);
    return LogBatches.of(joined);
  }

  private static LogBatch with(LogBatch batch, int records, byte[] otlp) {
    return new LogBatch(
        UUID.randomUUID(), "default", 1, new LogId(1, 1), records, batch.expandedBytes(), otlp);
  }

  private static Frame encode(LogBatch batch, Compression compression) {
    return new FrameCodec(compression).encode(new WalEntry(batch, false, null));
  }
}
