package dev.sluice.redis;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.redis.UnreadableBatchException.CorruptBatchException;
import dev.sluice.redis.UnreadableBatchException.UnsupportedVersionException;
import dev.sluice.testkit.LogBatches;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HexFormat;
import java.util.Random;
import java.util.UUID;
import net.jpountz.xxhash.XXHashFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class LogBatchCodecTest {
  static final int RECORDS_OFFSET = 49;
  static final int OTLP_LENGTH_OFFSET = 57;
  static final int EXCLUDED_OFFSET = 63 + "default".length();

  final Random random = new Random(7);

  @Test
  void decode_version1Fixture_isTheBatch() throws Exception {
    assertSame(LogBatchCodec.decode(fixture()), sample());
  }

  /** Another release of LZ4 may compress differently; all bytes before its block must stay. */
  @Test
  void encode_sample_equalsVersion1Fixture() throws Exception {
    byte[] fixture = fixture();
    byte[] encoded = LogBatchCodec.encode(sample());

    assertThat(HexFormat.of().formatHex(encoded)).isEqualTo(HexFormat.of().formatHex(fixture));
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
    var batch = LogBatches.of(500, random);

    assertThat(LogBatchCodec.encode(batch).length).isLessThan(batch.otlp().length / 2);
  }

  @Test
  void decode_truncatedAnywhere_isCorrupt() {
    byte[] bytes = LogBatchCodec.encode(sample());

    for (int length = 0; length < bytes.length; length++) {
      byte[] cut = Arrays.copyOf(bytes, length);
      assertThatThrownBy(() -> LogBatchCodec.decode(cut)).isInstanceOf(CorruptBatchException.class);
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
  @Test
  void decode_garbledWithValidHash_isCorruptOrABatch() {
    byte[] bytes = LogBatchCodec.encode(randomBatch());
    int corrupt = 0;
    for (int i = 0; i < 20_000; i++) {
      byte[] garbled = Arrays.copyOf(bytes, bytes.length - random.nextInt(3));
      for (int flips = 1 + random.nextInt(3); flips > 0; flips--) {
        garbled[9 + random.nextInt(garbled.length - 9)] = (byte) random.nextInt();
      }
      try {
        LogBatchCodec.decode(hashed(garbled));
      } catch (CorruptBatchException e) {
        corrupt++;
      } catch (UnreadableBatchException e) {
        throw new AssertionError("not newer", e);
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
    bytes[0] = 2;

    assertThatThrownBy(() -> LogBatchCodec.decode(bytes))
        .isInstanceOf(UnsupportedVersionException.class)
        .hasMessageContaining("version 2");
  }

  @Test
  void decode_lengthOverTheMaximum_isRejectedBeforeAllocation() {
    byte[] bytes = LogBatchCodec.encode(sample());
    ByteBuffer.wrap(bytes).putInt(OTLP_LENGTH_OFFSET, LogBatchCodec.MAX_OTLP_BYTES + 1);

    assertThatThrownBy(() -> LogBatchCodec.decode(hashed(bytes)))
        .isInstanceOf(CorruptBatchException.class)
        .hasMessageContaining("limit " + LogBatchCodec.MAX_OTLP_BYTES);
  }

  @Test
  void decode_lengthBeyondLz4Ratio_isRejectedBeforeAllocation() {
    byte[] bytes = LogBatchCodec.encode(sample());
    ByteBuffer.wrap(bytes).putInt(OTLP_LENGTH_OFFSET, LogBatchCodec.MAX_OTLP_BYTES);

    assertThatThrownBy(() -> LogBatchCodec.decode(hashed(bytes)))
        .isInstanceOf(CorruptBatchException.class)
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
  void decode_excludedOrdinalBeyondTheBytes_isCorrupt() {
    byte[] bytes = LogBatchCodec.encode(sample());
    bytes[EXCLUDED_OFFSET + 2] = 120;

    assertThatThrownBy(() -> LogBatchCodec.decode(hashed(bytes)))
        .isInstanceOf(CorruptBatchException.class)
        .hasMessageContaining("excluded ordinal");
  }

  @Test
  void decode_noRecords_isCorrupt() {
    byte[] bytes = LogBatchCodec.encode(sample());
    ByteBuffer.wrap(bytes).putInt(RECORDS_OFFSET, 0);

    assertThatThrownBy(() -> LogBatchCodec.decode(hashed(bytes)))
        .isInstanceOf(CorruptBatchException.class);
  }

  private static byte[] hashed(byte[] bytes) {
    long hash = XXHashFactory.safeInstance().hash64().hash(bytes, 9, bytes.length - 9, 0);
    ByteBuffer.wrap(bytes).putLong(1, hash);
    return bytes;
  }

  private static LogBatch sample() {
    var excludedOrdinals = new BitSet();
    excludedOrdinals.set(1);
    excludedOrdinals.set(5);
    return new LogBatch(
        new UUID(0x0102030405060708L, 0x090a0b0c0d0e0f10L),
        "default",
        1_756_000_000_123_456_789L,
        new LogId(0x1112131415161718L, 0x191a1b1c1d1e1f20L),
        6,
        1_234,
        excludedOrdinals,
        "one log, two logs, three logs, four logs, five logs, six logs, two refused"
            .getBytes(UTF_8));
  }

  private static byte[] fixture() throws IOException {
    try (var in = LogBatchCodecTest.class.getResourceAsStream("log-batch-1.hex")) {
      return HexFormat.of().parseHex(new String(in.readAllBytes(), UTF_8).replaceAll("\\s", ""));
    }
  }

  private LogBatch randomBatch() {
    byte[] otlp = new byte[random.nextInt(5_000)];
    if (random.nextBoolean()) {
      random.nextBytes(otlp);
    }
    var excludedOrdinals = new BitSet();
    for (int i = random.nextInt(20); i > 0 && otlp.length > 0; i--) {
      excludedOrdinals.set(random.nextInt(otlp.length));
    }
    return new LogBatch(
        new UUID(random.nextLong(), random.nextLong()),
        "tenant-ä-" + "x".repeat(random.nextInt(300)),
        random.nextLong(),
        new LogId(random.nextLong(), random.nextLong()),
        1 + random.nextInt(Integer.MAX_VALUE - 1),
        random.nextInt(Integer.MAX_VALUE),
        excludedOrdinals,
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
