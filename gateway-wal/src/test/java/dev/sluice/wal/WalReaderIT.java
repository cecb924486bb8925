package dev.sluice.wal;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.LogBatches;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Faults that {@code bin/wal-reader}, which verifies segments, must detect. */
class WalReaderIT {
  private static final Path READER = reader();
  private static final int FRAMES = 3;
  private static final int RECORDS = 5;

  @TempDir Path node;

  private final List<String> index = new ArrayList<>();
  private byte[] segment = {};

  private static Path reader() {
    var folder = Path.of("").toAbsolutePath();
    while (!Files.exists(folder.resolve("bin/wal-reader"))) {
      folder = requireNonNull(folder.getParent(), "bin/wal-reader");
    }
    return folder.resolve("bin/wal-reader");
  }

  private record ReaderResult(int exit, String output) {}

  @BeforeEach
  void writeGzipSegment() {
    write(Compression.GZIP);
  }

  private void write(Compression compression) {
    index.clear();
    var out = new ByteArrayOutputStream();
    for (int i = 1; i <= FRAMES; i++) {
      var frame =
          new FrameCodec(compression)
              .encode(new WalEntry(LogBatches.of(RECORDS, new Random(i)), false, null));
      index.add(
          """
          {"file":"seg-000001.wal.%s","frame":%d,"off":%d,"len":%d,"recs":%d,"first_ts":%d,\
          "last_ts":%d,"crc32":%d}
          """
              .formatted(
                  compression.suffix(),
                  i,
                  out.size(),
                  frame.bytes().length,
                  frame.records(),
                  frame.firstNanos(),
                  frame.lastNanos(),
                  frame.crc32()));
      out.writeBytes(frame.bytes());
    }
    segment = out.toByteArray();
  }

  private ReaderResult run(Compression compression, String... options) throws Exception {
    var day = Files.createDirectories(node.resolve("2026-11-22"));
    Files.write(day.resolve("seg-000001.wal." + compression.suffix()), segment);
    Files.writeString(day.resolve("seg-000001.wal.idx"), String.join("", index));
    var command = new ArrayList<>(List.of(READER.toString()));
    command.addAll(List.of(options));
    command.add(node.toString());
    var process = new ProcessBuilder(command).redirectErrorStream(true).start();
    var output = new String(process.getInputStream().readAllBytes(), UTF_8);
    assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
    return new ReaderResult(process.exitValue(), output);
  }

  @ParameterizedTest
  @CsvSource({"ZSTD", "GZIP"})
  void read_intactSegment_findsNoFault(Compression compression) throws Exception {
    write(compression);

    var readerResult = run(compression);

    assertThat(readerResult.output())
        .contains("seg-000001: 3 frames, 15 records, OK")
        .endsWith("1 segments, 3 frames, 15 records, 0 faults\n");
    assertThat(readerResult.exit()).isZero();
  }

  @Test
  void read_ids_printsEachOnce() throws Exception {
    var readerResult = run(Compression.GZIP, "--ids");

    assertThat(
            readerResult.output().lines().filter(line -> line.matches("[0-9a-f]{32}")).distinct())
        .hasSize(FRAMES * RECORDS);
  }

  @ParameterizedTest
  @CsvSource({"ZSTD", "GZIP"})
  void read_flippedBit_isAFault(Compression compression) throws Exception {
    write(compression);
    segment[segment.length / 2] ^= 4;

    assertFault(run(compression), "seg-000001.wal." + compression.suffix() + " frame 2: ");
  }

  static Stream<Arguments> wrongIndexFields() {
    return Stream.of(
        Arguments.of("\"crc32\":[0-9]+", "\"crc32\":1", "crc32 is"),
        Arguments.of("\"recs\":5", "\"recs\":4", "number of lines is 5, should be 4"),
        Arguments.of("\"off\":", "\"off\":1", "off is 1"),
        Arguments.of("\"len\":", "\"len\":1", "number of bytes there"),
        Arguments.of("\"frame\":2", "\"frame\":3", "frame is 3, should be 2"),
        Arguments.of("\"first_ts\":1", "\"first_ts\":2", "first_ts is"),
        Arguments.of("\"last_ts\":1", "\"last_ts\":2", "last_ts is"),
        Arguments.of("000001", "000002", "file is 'seg-000002.wal.gz'"),
        Arguments.of("\"recs\"", "\"records\"", "fields of the index"));
  }

  @ParameterizedTest
  @MethodSource("wrongIndexFields")
  void read_wrongIndexField_isAFault(String pattern, String wrongValue, String fault)
      throws Exception {
    index.set(1, index.get(1).replaceFirst(pattern, wrongValue));

    assertFault(run(Compression.GZIP), fault);
  }

  @Test
  void read_bytesAfterTheLastFrame_areAFaultUnlessLive() throws Exception {
    index.removeLast();

    assertFault(run(Compression.GZIP), "its frames end at");
    assertThat(run(Compression.GZIP, "--live"))
        .satisfies(
            readerResult ->
                assertThat(readerResult.output()).endsWith("2 frames, 10 records, 0 faults\n"),
            readerResult -> assertThat(readerResult.exit()).isZero());
  }

  @Test
  void read_truncatedIndexLine_isAFaultUnlessLive() throws Exception {
    index.set(2, index.get(2).strip());

    assertFault(run(Compression.GZIP), "the last line of the index has no end");
    assertThat(run(Compression.GZIP, "--live").exit()).isZero();
  }

  @Test
  void read_otherLines_areAFault() throws Exception {
    writeChangedLines(line -> line.replaceFirst("\"v\":1", "\"v\":2"));
    assertFault(run(Compression.GZIP), "version is 2");

    writeChangedLines(line -> line.replace("\"received\"", "\"when\""));
    assertFault(run(Compression.GZIP), "fields is");

    writeChangedLines(line -> line.replaceFirst("\"id\":\"[0-9a-f]{8}", "\"id\":\"00000000"));
    assertFault(run(Compression.GZIP), "id is");

    writeChangedLines(line -> line.substring(1));
    assertFault(run(Compression.GZIP), "frame 1: ");
  }

  /** Writes one frame with changed lines, and an index line that matches them. */
  private void writeChangedLines(UnaryOperator<String> change) throws IOException {
    var frame =
        new FrameCodec(Compression.GZIP)
            .encode(new WalEntry(LogBatches.of(RECORDS, new Random(1)), false, null));
    var text = new String(FrameCodecTest.decompress(frame), UTF_8);
    var lines = text.lines().map(line -> change.apply(line) + "\n").toList();
    var payload = String.join("", lines).getBytes(UTF_8);
    segment = FrameCodecTest.compress(payload);
    index.clear();
    index.add(
        """
        {"file":"seg-000001.wal.gz","frame":1,"off":0,"len":%d,"recs":5,"first_ts":%d,\
        "last_ts":%d,"crc32":%d}
        """
            .formatted(
                segment.length,
                frame.firstNanos(),
                frame.lastNanos(),
                FrameCodecTest.crc32(payload)));
  }

  private static void assertFault(ReaderResult readerResult, String fault) {
    assertThat(readerResult.output()).contains(fault).endsWith(" 1 faults\n");
    assertThat(readerResult.exit()).isEqualTo(1);
  }
}
