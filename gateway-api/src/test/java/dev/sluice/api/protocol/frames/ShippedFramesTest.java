package dev.sluice.api.protocol.frames;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.sluice.api.WalFile;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.DecodeException;
import dev.sluice.core.ingest.DecodeException.ErrorKind;
import dev.sluice.core.ingest.OtlpPayload;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.logs.v1.LogRecord;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ShippedFramesTest {
  private static final Map<String, String> SENDER = Map.of("service.name", "memlogger");
  private static final String LINE =
      "{\"ts\":\"2026-01-02T03:04:05.000000006Z\",\"level\":\"warn\",\"_msg\":\"m\",\"n\":7}";
  private static final String OTLP_LINE =
      "{\"v\":1,\"tenant\":\"default\",\"id\":\"00\",\"resourceLogs\":[{\"resource\":{\"attributes\":"
          + "[{\"key\":\"service.name\",\"value\":{\"stringValue\":\"own\"}}]},\"scopeLogs\":[{\"logRecords\":"
          + "[{\"timeUnixNano\":\"5\",\"body\":{\"stringValue\":\"o\"}}]}]}]}";

  private static OtlpPayload read(WalFile file, Limits limits, LongConsumer memory) {
    return ShippedFrames.read(
        ByteBuffer.wrap(file.manifest()), ByteBuffer.wrap(file.frames()), SENDER, limits, memory);
  }

  private static OtlpPayload read(WalFile file) {
    return read(file, Limits.DEFAULT, _ -> {});
  }

  private static DecodeException failure(byte[] manifest, byte[] frames) {
    return catchThrowableOfType(
        DecodeException.class,
        () ->
            ShippedFrames.read(
                ByteBuffer.wrap(manifest),
                ByteBuffer.wrap(frames),
                SENDER,
                Limits.DEFAULT,
                _ -> {}));
  }

  private static void assertDamaged(WalFile file, String reason) {
    var failure = failure(file.manifest(), file.frames());
    assertThat(failure).isNotNull();
    assertThat(failure.detail()).contains(reason);
    assertThat(failure.kind()).isEqualTo(ErrorKind.DAMAGED);
  }

  private static List<LogRecord> records(OtlpPayload payload)
      throws InvalidProtocolBufferException {
    return request(payload).getResourceLogsList().stream()
        .flatMap(resource -> resource.getScopeLogsList().stream())
        .flatMap(scope -> scope.getLogRecordsList().stream())
        .toList();
  }

  private static ExportLogsServiceRequest request(OtlpPayload payload)
      throws InvalidProtocolBufferException {
    return ExportLogsServiceRequest.parseFrom(
        ByteBuffer.wrap(payload.bytes(), 0, payload.length()));
  }

  @Test
  void read_flatLinesOfBothCompressions_areRecordsInOrder() throws Exception {
    var payload = read(new WalFile().gzip(LINE, "{\"_msg\":\"second\"}").zstd("{\"k\":true}"));

    var records = records(payload);
    assertThat(records).hasSize(3);
    var first = records.getFirst();
    assertThat(first.getTimeUnixNano()).isEqualTo(1_767_323_045_000_000_006L);
    assertThat(first.getSeverityNumberValue()).isEqualTo(13);
    assertThat(first.getSeverityText()).isEqualTo("warn");
    assertThat(first.getBody().getStringValue()).isEqualTo("m");
    assertThat(first.getAttributesList()).extracting(KeyValue::getKey).containsExactly("n");
    assertThat(records.get(1).getBody().getStringValue()).isEqualTo("second");
    assertThat(records.get(2).getAttributes(0).getValue().getBoolValue()).isTrue();
    assertThat(request(payload).getResourceLogs(0).getResource().getAttributes(0).getValue())
        .satisfies(value -> assertThat(value.getStringValue()).isEqualTo("memlogger"));
    assertThat(payload.rejectedCount()).isZero();
  }

  @Test
  void read_otlpLinesBetweenFlatOnes_keepTheirResourceAndOrder() throws Exception {
    var payload = read(new WalFile().zstd(LINE, OTLP_LINE, "{\"_msg\":\"last\"}"));

    assertThat(records(payload))
        .extracting(r -> r.getBody().getStringValue())
        .containsExactly("m", "o", "last");
    assertThat(request(payload).getResourceLogsList())
        .extracting(r -> r.getResource().getAttributes(0).getValue().getStringValue())
        .containsExactly("memlogger", "own", "memlogger");
    assertThat(Arrays.copyOf(payload.rowIndexes(), 3)).containsExactly(0, 1, 2);
  }

  @Test
  void read_duplicateReservedNames_keepsBothValues() throws Exception {
    var record =
        records(
                read(
                    new WalFile()
                        .gzip(
                            "{\"ts\":1700000000000000001,\"level\":\"loud\",\"_msg\":\"m\",\"ts\":\"mine\",\"level\":3}")))
            .getFirst();

    assertThat(record.getTimeUnixNano()).isEqualTo(1_700_000_000_000_000_001L);
    assertThat(record.getSeverityNumberValue()).isZero();
    assertThat(record.getSeverityText()).isEqualTo("loud");
    assertThat(record.getAttributesList())
        .extracting(KeyValue::getKey)
        .containsExactly("ts", "level");
  }

  @Test
  void read_invalidTimestamp_rejectsOnlyThatLog() throws Exception {
    var payload = read(new WalFile().gzip("{\"ts\":\"soon\",\"_msg\":\"m\"}", LINE));

    assertThat(payload.rejections().getFirst().field()).isEqualTo("ts");
    assertThat(payload.rejections().getFirst().index()).isZero();
    assertThat(records(payload)).hasSize(1);
  }

  @Test
  void read_noFrames_hasNoRecords() throws Exception {
    assertThat(records(read(new WalFile()))).isEmpty();
  }

  @Test
  void read_unknownCrc_isNotChecked() throws Exception {
    assertThat(records(read(new WalFile().frame(WalFile.gzip(WalFile.payload(LINE)), 1, 0))))
        .hasSize(1);
  }

  @Test
  void read_anotherChecksum_namesTheFrame() {
    assertDamaged(
        new WalFile().gzip(LINE).frame(WalFile.gzip(WalFile.payload(LINE)), 1, 4711),
        "frame 2 of seg-000001.wal.gz: crc32 is ");
  }

  @Test
  void read_anotherCount_namesTheFrame() {
    var payload = WalFile.payload(LINE, LINE);
    assertDamaged(
        new WalFile().frame(WalFile.gzip(payload), 3, WalFile.crc32(payload)),
        "frame 1 of seg-000001.wal.gz: has 2 records instead of 3");
  }

  @Test
  void read_flippedBit_isDamaged() {
    var member = WalFile.gzip(WalFile.payload(LINE));
    member[member.length / 2] ^= 4;
    assertDamaged(
        new WalFile().frame(member, 1, WalFile.crc32(WalFile.payload(LINE))), "frame 1 of");
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void read_truncatedMember_isDamaged(boolean zstd) {
    var payload = WalFile.payload(LINE);
    var member = zstd ? com.github.luben.zstd.Zstd.compress(payload) : WalFile.gzip(payload);
    assertDamaged(
        new WalFile().frame(Arrays.copyOf(member, member.length - 1), 1, WalFile.crc32(payload)),
        "frame 1 of seg-000001.wal.gz: is not a complete gzip or zstd member");
  }

  @Test
  void read_truncatedFrames_areDamaged() {
    var file = new WalFile().gzip(LINE).gzip(LINE);
    var frames = file.frames();
    var failure = failure(file.manifest(), Arrays.copyOf(frames, frames.length - 3));
    assertThat(failure.kind()).isEqualTo(ErrorKind.DAMAGED);
    assertThat(failure.detail()).contains("frame 2 of seg-000001.wal.gz: is cut off");
  }

  @Test
  void read_bytesAfterTheLastFrame_areDamaged() {
    var file = new WalFile().gzip(LINE);
    var failure = failure(file.manifest(), Arrays.copyOf(file.frames(), file.frames().length + 2));
    assertThat(failure.kind()).isEqualTo(ErrorKind.DAMAGED);
    assertThat(failure.detail()).contains("2 bytes follow the last frame");
  }

  @Test
  void read_neitherGzipNorZstd_isDamaged() {
    assertDamaged(new WalFile().frame(WalFile.payload(LINE), 1, 0), "is neither gzip nor zstd");
  }

  @ParameterizedTest
  @ValueSource(strings = {"{\"_msg\":", "[]", "7", "{} {}", "{\"resourceLogs\":[]}"})
  void read_lineThatIsNotALog_namesFrameAndLine(String line) {
    assertDamaged(
        new WalFile().gzip(LINE).zstd(LINE, line), "frame 2 of seg-000001.wal.gz: line 2: ");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "{}",
        "[7]",
        "[",
        "[] []",
        "[{\"file\":\"f\",\"frame\":1,\"len\":1,\"recs\":1}]",
        "[{\"file\":7,\"frame\":1,\"len\":1,\"recs\":1,\"crc32\":1}]",
        "[{\"file\":\"f\",\"frame\":1,\"len\":-1,\"recs\":1,\"crc32\":1}]",
        "[{\"file\":\"f\",\"frame\":1,\"len\":1,\"recs\":1.5,\"crc32\":1}]",
        "[{\"file\":\"f\",\"frame\":1,\"len\":1,\"recs\":1,\"crc32\":4294967296}]"
      })
  void read_invalidManifest_isMalformed(String manifest) {
    var failure = failure(manifest.getBytes(UTF_8), new byte[0]);
    assertThat(failure).isNotNull();
    assertThat(failure.kind()).isEqualTo(ErrorKind.MALFORMED);
  }

  @Test
  void read_decompressesToMoreThanTheLimit_isTooLargeAndNotBuffered() {
    var limits = limits(1 << 16, 1_000);
    var long_ = "{\"_msg\":\"" + "x".repeat(1 << 20) + "\"}";
    var held = new AtomicLong();

    assertThatExceptionOfType(DecodeException.class)
        .isThrownBy(() -> read(new WalFile().zstd(long_), limits, held::addAndGet))
        .matches(DecodeException::tooLarge);

    assertThat(held.get()).isLessThan((1 << 16) + 4096);
  }

  @Test
  void read_moreRecordsThanTheLimit_isTooLarge() {
    assertThatExceptionOfType(DecodeException.class)
        .isThrownBy(() -> read(new WalFile().zstd(LINE, LINE, LINE), limits(1 << 16, 2), _ -> {}))
        .matches(DecodeException::tooLarge);
  }

  private static Limits limits(int bytes, int records) {
    var usual = Limits.DEFAULT;
    return new Limits(
        bytes,
        records,
        usual.maxExpandedBytes(),
        usual.maxBodyBytes(),
        usual.maxAttributes(),
        usual.maxKeyBytes(),
        usual.maxValueBytes(),
        usual.maxNameBytes(),
        usual.maxNesting());
  }
}
