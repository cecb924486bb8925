package dev.sluice.api.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.github.luben.zstd.ZstdOutputStreamNoFinalizer;
import com.sun.management.ThreadMXBean;
import dev.sluice.api.CompressedBodies;
import dev.sluice.core.ingest.DecodeException;
import dev.sluice.core.ingest.DecodeException.ErrorKind;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.ingest.MemoryBudgetExceededException;
import dev.sluice.core.ingest.MemoryReservation;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.http.HttpStatus;

class ContentEncodingTest {
  private static final int LIMIT = 1 << 20;

  private final MemoryBudget budget = new MemoryBudget(64 << 20);
  private final MemoryReservation reservation = new MemoryReservation(budget, 0);

  private byte[] decode(ContentEncoding encoding, byte[] body, int limit) {
    reservation.add(body.length);
    return encoding.decode(body, limit, reservation);
  }

  private void assertRejected(ContentEncoding encoding, byte[] body, int limit, ErrorKind kind) {
    assertThatThrownBy(() -> decode(encoding, body, limit))
        .isInstanceOfSatisfying(
            DecodeException.class, rejected -> assertThat(rejected.kind()).isEqualTo(kind));
    reservation.close();
    assertThat(budget.used()).isZero();
  }

  private static byte[] encoded(ContentEncoding encoding, byte[] body) {
    return switch (encoding) {
      case IDENTITY -> body;
      case GZIP -> CompressedBodies.gzip(body);
      case DEFLATE -> CompressedBodies.deflate(body);
      case ZSTD -> CompressedBodies.zstd(body);
      case SNAPPY -> CompressedBodies.snappy(body);
    };
  }

  private static byte[] random(int length) {
    var bytes = new byte[length];
    new Random(length).nextBytes(bytes);
    return bytes;
  }

  private static byte[] joined(byte[]... parts) {
    var out = new ByteArrayOutputStream();
    Arrays.stream(parts).forEach(out::writeBytes);
    return out.toByteArray();
  }

  @ParameterizedTest
  @CsvSource({
    "gzip, GZIP",
    "' GZip ', GZIP",
    "x-gzip, GZIP",
    "deflate, DEFLATE",
    "zstd, ZSTD",
    "snappy, SNAPPY",
    "x-snappy-framed, SNAPPY",
    "'gzip, identity', GZIP",
    "'identity,zstd', ZSTD",
    "identity, IDENTITY",
    "'', IDENTITY",
  })
  void of_knownName_isThatEncoding(String header, ContentEncoding expected) {
    assertThat(ContentEncoding.of(List.of(header))).isEqualTo(expected);
  }

  @Test
  void of_noHeader_isIdentity() {
    assertThat(ContentEncoding.of(List.of())).isEqualTo(ContentEncoding.IDENTITY);
  }

  @ParameterizedTest
  @ValueSource(strings = {"br", "gzip, gzip", "gzip, zstd", "gzip;q=1", "compress"})
  void of_unknownNameOrMoreThanOne_isUnsupported(String header) {
    assertThatThrownBy(() -> ContentEncoding.of(List.of(header.split(", "))))
        .isInstanceOf(HttpProblemException.class);
    assertThatThrownBy(() -> ContentEncoding.of(List.of(header)))
        .isInstanceOfSatisfying(
            HttpProblemException.class,
            rejected -> assertThat(rejected.status()).isEqualTo(HttpStatus.UNSUPPORTED_MEDIA_TYPE));
  }

  @ParameterizedTest
  @EnumSource
  void decode_anySize_returnsTheOriginal(ContentEncoding encoding) {
    for (int size : new int[] {0, 1, 100, 8191, 8192, 8193, 100_000}) {
      var noise = random(size);
      var blanks = new byte[size];

      assertThat(decode(encoding, encoded(encoding, noise), LIMIT)).isEqualTo(noise);
      assertThat(decode(encoding, encoded(encoding, blanks), LIMIT)).isEqualTo(blanks);
    }
  }

  @ParameterizedTest
  @EnumSource(mode = Mode.EXCLUDE, names = "IDENTITY")
  void decode_emptyBody_isEmpty(ContentEncoding encoding) {
    assertThat(decode(encoding, new byte[0], LIMIT)).isEmpty();
  }

  @ParameterizedTest
  @EnumSource(mode = Mode.EXCLUDE, names = "IDENTITY")
  void decode_atTheLimit_isAcceptedAndOneByteMoreIsTooLarge(ContentEncoding encoding) {
    for (int limit : new int[] {1, 1000, 8192, LIMIT}) {
      assertThat(decode(encoding, encoded(encoding, new byte[limit]), limit)).hasSize(limit);
      assertThat(decode(encoding, encoded(encoding, random(limit)), limit)).hasSize(limit);
    }
    assertRejected(encoding, encoded(encoding, new byte[LIMIT + 1]), LIMIT, ErrorKind.TOO_LARGE);
  }

  @ParameterizedTest
  @EnumSource(mode = Mode.EXCLUDE, names = "IDENTITY")
  void decode_truncatedAnywhere_isMalformed(ContentEncoding encoding) {
    var whole = encoded(encoding, "one log or another, ".repeat(20).getBytes(UTF_8));

    for (int length = 1; length < whole.length; length++) {
      var truncated = Arrays.copyOf(whole, length);
      assertThatThrownBy(() -> decode(encoding, truncated, LIMIT))
          .isInstanceOf(DecodeException.class)
          .hasMessageContaining("not valid " + encoding.name().toLowerCase(Locale.ROOT));
    }
  }

  @ParameterizedTest
  @EnumSource(mode = Mode.EXCLUDE, names = "IDENTITY")
  void decode_trailingBytes_isMalformed(ContentEncoding encoding) {
    var whole = encoded(encoding, "a log".getBytes(UTF_8));

    for (int extra = 1; extra < 40; extra++) {
      var longer = joined(whole, "x".repeat(extra).getBytes(UTF_8));
      assertThatThrownBy(() -> decode(encoding, longer, LIMIT)).isInstanceOf(DecodeException.class);
    }
  }

  @ParameterizedTest
  @EnumSource(mode = Mode.EXCLUDE, names = "IDENTITY")
  void decode_garbage_isMalformedOrTooLargeButNothingElse(ContentEncoding encoding) {
    var random = new Random(7);
    var whole = encoded(encoding, "one log or another, ".repeat(20).getBytes(UTF_8));
    for (int i = 0; i < 2000; i++) {
      var body = i % 2 == 0 ? random(random.nextInt(1, 100)) : whole.clone();
      body[random.nextInt(body.length)] = (byte) random.nextInt();
      try {
        decode(encoding, body, LIMIT);
      } catch (DecodeException rejected) {
        assertThat(rejected.kind()).isIn(ErrorKind.MALFORMED, ErrorKind.TOO_LARGE);
      }
    }
  }

  @Test
  void decode_gzipOfSeveralMembers_returnsAll() {
    var members =
        joined(
            CompressedBodies.gzip("one ".getBytes(UTF_8)),
            CompressedBodies.gzip(new byte[0]),
            CompressedBodies.gzip(random(20_000)),
            CompressedBodies.gzip(" three".getBytes(UTF_8)));

    assertThat(decode(ContentEncoding.GZIP, members, LIMIT))
        .isEqualTo(joined("one ".getBytes(UTF_8), random(20_000), " three".getBytes(UTF_8)));
  }

  @Test
  void decode_gzipWithTruncatedSecondMemberHeader_isMalformed() {
    var second = CompressedBodies.gzip("two".getBytes(UTF_8));

    for (int length = 1; length < second.length; length++) {
      var truncated =
          joined(CompressedBodies.gzip("one".getBytes(UTF_8)), Arrays.copyOf(second, length));
      assertThatThrownBy(() -> decode(ContentEncoding.GZIP, truncated, LIMIT))
          .isInstanceOf(DecodeException.class);
    }
  }

  @Test
  void decode_gzipWithEveryHeaderField_isRead() {
    var plain = CompressedBodies.gzip("named".getBytes(UTF_8));
    var header = Arrays.copyOf(plain, 10);
    header[3] = 2 | 4 | 8 | 16;
    var named =
        joined(
            header,
            new byte[] {3, 0, 1, 2, 3},
            "file\0comment\0".getBytes(UTF_8),
            new byte[2],
            Arrays.copyOfRange(plain, 10, plain.length));

    assertThat(decode(ContentEncoding.GZIP, named, LIMIT)).isEqualTo("named".getBytes(UTF_8));
  }

  @Test
  void decode_gzipWithWrongChecksumOrLength_isMalformed() {
    var whole = CompressedBodies.gzip("a log".getBytes(UTF_8));
    for (int i = 1; i <= 8; i++) {
      var wrong = whole.clone();
      wrong[wrong.length - i] ^= 1;
      assertThatThrownBy(() -> decode(ContentEncoding.GZIP, wrong, LIMIT))
          .isInstanceOf(DecodeException.class);
    }
  }

  @Test
  void decode_deflateWithoutZlibHeader_isMalformed() {
    assertRejected(
        ContentEncoding.DEFLATE,
        CompressedBodies.rawDeflate("a log".getBytes(UTF_8)),
        LIMIT,
        ErrorKind.MALFORMED);
  }

  @Test
  void decode_zstdWithLargeWindow_isMalformed() throws IOException {
    var out = new ByteArrayOutputStream();
    try (var zstd = new ZstdOutputStreamNoFinalizer(out)) {
      zstd.setLong(27);
      zstd.write(new byte[1000]);
    }

    assertRejected(ContentEncoding.ZSTD, out.toByteArray(), LIMIT, ErrorKind.MALFORMED);
  }

  @Test
  void decode_snappyFrames_returnsTheOriginal() {
    for (int size : new int[] {0, 1, 65_535, 65_536, 65_537, 200_000}) {
      assertThat(decode(ContentEncoding.SNAPPY, CompressedBodies.snappyFramed(random(size)), LIMIT))
          .isEqualTo(random(size));
      assertThat(
              decode(ContentEncoding.SNAPPY, CompressedBodies.snappyFramed(new byte[size]), LIMIT))
          .hasSize(size);
    }
    assertRejected(
        ContentEncoding.SNAPPY,
        CompressedBodies.snappyFramed(new byte[LIMIT + 1]),
        LIMIT,
        ErrorKind.TOO_LARGE);
  }

  /** The format has no end mark, so a truncation between two chunks is valid. */
  @Test
  void decode_snappyFramesTruncatedWithinAChunk_isMalformed() {
    var whole = CompressedBodies.snappyFramed("one log or another, ".repeat(20).getBytes(UTF_8));

    for (int length = 1; length < whole.length; length++) {
      var truncated = Arrays.copyOf(whole, length);
      if (length == IDENTIFIER.length) {
        assertThat(decode(ContentEncoding.SNAPPY, truncated, LIMIT)).isEmpty();
      } else {
        assertThatThrownBy(() -> decode(ContentEncoding.SNAPPY, truncated, LIMIT))
            .isInstanceOf(DecodeException.class)
            .hasMessageContaining("not valid snappy");
      }
    }
  }

  private static final byte[] IDENTIFIER = {
    (byte) 0xFF, 6, 0, 0, 's', 'N', 'a', 'P', 'p', 'Y',
  };

  private static byte[] chunk(int type, int length, byte... data) {
    var head = new byte[] {(byte) type, (byte) length, (byte) (length >> 8), (byte) (length >> 16)};
    return joined(head, data);
  }

  @Test
  void decode_snappyPaddingAndSecondIdentifier_areSkipped() {
    var one = CompressedBodies.snappyFramed("one ".getBytes(UTF_8));
    var two = CompressedBodies.snappyFramed("two".getBytes(UTF_8));

    assertThat(
            decode(
                ContentEncoding.SNAPPY,
                joined(one, chunk(0xFE, 3, new byte[3]), chunk(0x80, 0), two),
                LIMIT))
        .isEqualTo("one two".getBytes(UTF_8));
  }

  static Stream<byte[]> badChunks() {
    return Stream.of(
        chunk(0x02, 0), // an unknown type that must not be skipped
        chunk(0xFF, 6, "sNaPpy".getBytes(UTF_8)),
        chunk(0xFF, 5, "sNaPp".getBytes(UTF_8)),
        chunk(0x80, 0xFFFFFF), // a length of 16 MiB without data
        chunk(0x00, 0xFFFFFF),
        chunk(0x01, 3, new byte[3]), // too short for its checksum
        chunk(0x00, 4, new byte[4]),
        chunk(
            0x00, 9, (byte) 0, (byte) 0, (byte) 0, (byte) 0, (byte) -1, (byte) -1, (byte) -1,
            (byte) -1, (byte) 7), // an uncompressed length of 2 GiB
        chunk(0x01, 5, new byte[5])); // wrong checksum
  }

  @ParameterizedTest
  @MethodSource("badChunks")
  void decode_badSnappyChunk_isMalformedAtItsOffsetAndAllocatesNothing(byte[] bad) {
    var body = joined(CompressedBodies.snappyFramed("four".getBytes(UTF_8)), bad);
    var heap = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    assertThatThrownBy(() -> decode(ContentEncoding.SNAPPY, body, LIMIT))
        .isInstanceOf(DecodeException.class);

    long before = heap.getCurrentThreadAllocatedBytes();
    assertThatThrownBy(() -> decode(ContentEncoding.SNAPPY, body, LIMIT))
        .hasMessageEndingWith("not valid snappy after 4 bytes");
    assertThat(heap.getCurrentThreadAllocatedBytes() - before).isLessThan(1 << 20);
  }

  @Test
  void decode_snappyBlockWithImpossibleLength_isMalformedAndAllocatesNothing() {
    var falseLength = joined(new byte[] {(byte) 0xFF, (byte) 0xFF, 63}, new byte[100]); // 1 MiB - 1
    var tooLong = joined(new byte[] {-1, -1, -1, -1, 15}, new byte[100]); // 4 GiB - 1
    var heap = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    for (var body : List.of(falseLength, tooLong)) {
      long before = heap.getCurrentThreadAllocatedBytes();
      assertThatThrownBy(() -> decode(ContentEncoding.SNAPPY, body, LIMIT))
          .hasMessageContaining("not valid snappy");
      assertThat(heap.getCurrentThreadAllocatedBytes() - before).isLessThan(1 << 18);
    }
  }

  @Test
  void decode_snappyBlockOverTheLimit_isTooLargeBeforeAllocation() {
    var body = CompressedBodies.snappy(new byte[64 << 20]);
    reservation.add(body.length);
    var heap = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    long before = heap.getCurrentThreadAllocatedBytes();
    assertThatThrownBy(() -> ContentEncoding.SNAPPY.decode(body, LIMIT, reservation))
        .hasMessageContaining("larger than the limit");
    assertThat(heap.getCurrentThreadAllocatedBytes() - before).isLessThan(1 << 18);
  }

  @Test
  void decode_complete_reservesDecodedBytesOnly() {
    var body = CompressedBodies.gzip(new byte[100_000]);

    var decoded = decode(ContentEncoding.GZIP, body, LIMIT);

    assertThat(budget.used()).isBetween((long) decoded.length, 2L * decoded.length);
    reservation.close();
    assertThat(budget.used()).isZero();
  }

  @Test
  void decode_budgetExhausted_isUnavailableAndReleasesAll() {
    assertThat(budget.reserve((64 << 20) - 1000)).isTrue();
    var body = CompressedBodies.gzip(new byte[100_000]);
    reservation.add(body.length);

    assertThatThrownBy(() -> ContentEncoding.GZIP.decode(body, LIMIT, reservation))
        .isInstanceOf(MemoryBudgetExceededException.class);
    reservation.close();
    assertThat(budget.used()).isEqualTo((64 << 20) - 1000);
  }
}
