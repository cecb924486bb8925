package dev.sluice.core.codec;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.common.v1.InstrumentationScope;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.logs.v1.LogRecord;
import io.opentelemetry.proto.logs.v1.ResourceLogs;
import io.opentelemetry.proto.logs.v1.ScopeLogs;
import io.opentelemetry.proto.resource.v1.Resource;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Random;
import java.util.UUID;
import java.util.stream.IntStream;
import net.jpountz.xxhash.XXHashFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class LogBatchCodecTest {
  static final int RECORDS_OFFSET = 49;
  static final int OTLP_LENGTH_OFFSET = 57;
  static final int EXCLUDED_OFFSET = 63 + "default".length();

  final Random random = new Random(7);

  @Test
  void decode_version2GoldenFile_isTheBatch() throws Exception {
    assertSame(LogBatchCodec.decode(goldenFile("log-batch-2.hex")), sample());
  }

  /** Another release of LZ4 may compress differently; all bytes before its block must stay. */
  @Test
  void encode_sample_equalsVersion2GoldenFile() throws Exception {
    assertThat(HexFormat.of().formatHex(LogBatchCodec.encode(sample())))
        .isEqualTo(HexFormat.of().formatHex(goldenFile("log-batch-2.hex")));
  }

  @Test
  void decode_version1GoldenFile_isTheBatch() throws Exception {
    assertSame(LogBatchCodec.decode(goldenFile("log-batch-1.hex")), sample());
  }

  /** The bytes of this file are those of the sample and of "log 1" and "log 5". */
  @Test
  void decode_version1GoldenFileWithExcludedOrdinals_isTheBatchWithoutThem() throws Exception {
    var batch = LogBatchCodec.decode(goldenFile("log-batch-1-excluded.hex"));

    assertSame(batch, sample());
    assertThat(batch.payload().uncompressedBytes()).isEqualTo(sample().otlp().length);
    assertThat(batch.payload().retainedBytes()).isLessThan(sample().otlp().length);
  }

  @Test
  void decode_encodedRandomBatches_areTheSame() throws Exception {
    for (int i = 0; i < 500; i++) {
      var batch = randomBatch();

      assertSame(LogBatchCodec.decode(LogBatchCodec.encode(batch)), batch);
    }
  }

  @Test
  void encode_manyLogs_isMuchSmaller() {
    var batch = batch(request(IntStream.range(0, 500).toArray()));

    assertThat(LogBatchCodec.encode(batch).length).isLessThan(batch.otlp().length / 2);
  }

  @Test
  void decode_truncatedAnywhere_isCorrupt() {
    byte[] bytes = LogBatchCodec.encode(sample());

    for (int length = 0; length < bytes.length; length++) {
      byte[] cut = Arrays.copyOf(bytes, length);
      assertThatThrownBy(() -> LogBatchCodec.decode(cut))
          .isInstanceOf(UnreadableBatchException.class);
    }
  }

  @Test
  void decode_anyBitFlipped_isUnreadable() {
    byte[] bytes = LogBatchCodec.encode(sample());

    for (int bit = 0; bit < bytes.length * 8; bit++) {
      byte[] flipped = bytes.clone();
      flipped[bit / 8] ^= (byte) (1 << bit % 8);
      assertThatThrownBy(() -> LogBatchCodec.decode(flipped))
          .isInstanceOf(UnreadableBatchException.class);
    }
  }

  /** Garbles bytes and corrects the hash, to test the checks after the hash. */
  @ParameterizedTest
  @ValueSource(strings = {"log-batch-1.hex", "log-batch-1-excluded.hex", "log-batch-2.hex"})
  void decode_garbledWithValidHash_isCorruptOrABatch(String goldenFile) throws IOException {
    byte[] bytes = goldenFile(goldenFile);
    int corrupt = 0;
    for (int i = 0; i < 20_000; i++) {
      byte[] garbled = Arrays.copyOf(bytes, bytes.length - random.nextInt(3));
      for (int flips = 1 + random.nextInt(3); flips > 0; flips--) {
        garbled[9 + random.nextInt(garbled.length - 9)] = (byte) random.nextInt();
      }
      try {
        LogBatchCodec.decode(hashed(garbled));
      } catch (UnreadableBatchException _) {
        corrupt++;
      }
    }
    assertThat(corrupt).isPositive();
  }

  @Test
  void decode_randomBytes_isUnreadable() {
    for (int i = 0; i < 10_000; i++) {
      byte[] bytes = new byte[random.nextInt(200)];
      random.nextBytes(bytes);
      assertThatThrownBy(() -> LogBatchCodec.decode(bytes))
          .isInstanceOf(UnreadableBatchException.class);
    }
  }

  @Test
  void decode_newerVersion_throwsUnsupportedVersion() {
    byte[] bytes = LogBatchCodec.encode(sample());
    bytes[0] = 3;

    assertThatThrownBy(() -> LogBatchCodec.decode(bytes))
        .isInstanceOf(UnreadableBatchException.class)
        .hasMessageContaining("version 3 is not supported");
  }

  @Test
  void decode_lengthOverTheMaximum_isRejectedBeforeAllocation() {
    byte[] bytes = LogBatchCodec.encode(sample());
    ByteBuffer.wrap(bytes).putInt(OTLP_LENGTH_OFFSET, LogBatchCodec.MAX_OTLP_BYTES + 1);

    assertThatThrownBy(() -> LogBatchCodec.decode(hashed(bytes)))
        .isInstanceOf(UnreadableBatchException.class)
        .hasMessageContaining("limit " + LogBatchCodec.MAX_OTLP_BYTES);
  }

  @Test
  void decode_lengthBeyondLz4Ratio_isRejectedBeforeAllocation() {
    byte[] bytes = LogBatchCodec.encode(sample());
    ByteBuffer.wrap(bytes).putInt(OTLP_LENGTH_OFFSET, LogBatchCodec.MAX_OTLP_BYTES);

    assertThatThrownBy(() -> LogBatchCodec.decode(hashed(bytes)))
        .isInstanceOf(UnreadableBatchException.class)
        .hasMessageContaining("out of");
  }

  @Test
  void otlp_shorterLengthThanWritten_throws() throws UnreadableBatchException {
    byte[] bytes = LogBatchCodec.encode(sample());
    ByteBuffer.wrap(bytes).putInt(OTLP_LENGTH_OFFSET, sample().otlp().length - 1);

    var batch = LogBatchCodec.decode(hashed(bytes));

    assertThatThrownBy(batch::otlp).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void otlp_longerLengthThanWritten_throws() throws UnreadableBatchException {
    byte[] bytes = LogBatchCodec.encode(sample());
    ByteBuffer.wrap(bytes).putInt(OTLP_LENGTH_OFFSET, sample().otlp().length + 1);

    var batch = LogBatchCodec.decode(hashed(bytes));

    assertThatThrownBy(batch::otlp).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void decode_excludedOrdinalBeyondTheBytes_isCorrupt() throws IOException {
    byte[] bytes = goldenFile("log-batch-1-excluded.hex");
    bytes[EXCLUDED_OFFSET] = 9; // the next bytes are of the LZ4 block

    assertThatThrownBy(() -> LogBatchCodec.decode(hashed(bytes)))
        .isInstanceOf(UnreadableBatchException.class)
        .hasMessageContaining("excluded ordinal");
  }

  @Test
  void decode_noRecords_isCorrupt() {
    byte[] bytes = LogBatchCodec.encode(sample());
    ByteBuffer.wrap(bytes).putInt(RECORDS_OFFSET, 0);

    assertThatThrownBy(() -> LogBatchCodec.decode(hashed(bytes)))
        .isInstanceOf(UnreadableBatchException.class);
  }

  private static byte[] hashed(byte[] bytes) {
    long hash = XXHashFactory.safeInstance().hash64().hash(bytes, 9, bytes.length - 9, 0);
    ByteBuffer.wrap(bytes).putLong(1, hash);
    return bytes;
  }

  /** A batch of two concatenated requests. */
  private static LogBatch sample() {
    var otlp = new ByteArrayOutputStream();
    otlp.writeBytes(request(0, 2));
    otlp.writeBytes(request(3, 4));
    return batch(otlp.toByteArray());
  }

  private static LogBatch batch(byte[] otlp) {
    return new LogBatch(
        new UUID(0x0102030405060708L, 0x090a0b0c0d0e0f10L),
        "default",
        1_756_000_000_123_456_789L,
        new LogId(0x1112131415161718L, 0x191a1b1c1d1e1f20L),
        4,
        1_234,
        otlp);
  }

  /** Returns a request with a record "log n" for each number. */
  private static byte[] request(int... numbers) {
    var scope =
        ScopeLogs.newBuilder().setScope(InstrumentationScope.newBuilder().setName("golden"));
    for (int number : numbers) {
      scope.addLogRecords(
          LogRecord.newBuilder()
              .setTimeUnixNano(1_755_999_999_000_000_000L + number)
              .setBody(AnyValue.newBuilder().setStringValue("log " + number)));
    }
    var service =
        KeyValue.newBuilder()
            .setKey("service.name")
            .setValue(AnyValue.newBuilder().setStringValue("checkout"));
    return ExportLogsServiceRequest.newBuilder()
        .addResourceLogs(
            ResourceLogs.newBuilder()
                .setResource(Resource.newBuilder().addAttributes(service))
                .addScopeLogs(scope))
        .build()
        .toByteArray();
  }

  private static byte[] goldenFile(String name) throws IOException {
    try (var in = LogBatchCodecTest.class.getResourceAsStream(name)) {
      return HexFormat.of().parseHex(new String(in.readAllBytes(), UTF_8).replaceAll("\\s", ""));
    }
  }

  private LogBatch randomBatch() {
    byte[] otlp = new byte[random.nextInt(5_000)];
    if (random.nextBoolean()) {
      random.nextBytes(otlp);
    }
    return new LogBatch(
        new UUID(random.nextLong(), random.nextLong()),
        "tenant-ä-" + "x".repeat(random.nextInt(300)),
        random.nextLong(),
        new LogId(random.nextLong(), random.nextLong()),
        1 + random.nextInt(Integer.MAX_VALUE - 1),
        random.nextInt(Integer.MAX_VALUE),
        otlp);
  }

  private static void assertSame(LogBatch actual, LogBatch expected) {
    assertThat(actual)
        .usingRecursiveComparison()
        .withEqualsForType(
            (one, other) -> Arrays.equals(one.otlp(), other.otlp()), LogBatch.Payload.class)
        .isEqualTo(expected);
  }
}
