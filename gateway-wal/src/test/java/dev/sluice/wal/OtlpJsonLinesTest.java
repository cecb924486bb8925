package dev.sluice.wal;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.testkit.LogBatches;
import dev.sluice.testkit.RandomOtlp;
import dev.sluice.testkit.SpoolContract;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import tools.jackson.databind.json.JsonMapper;

/** The public format of a frame: OTLP JSON lines that standard tools can read. */
class OtlpJsonLinesTest {
  private static final JsonMapper JSON = new JsonMapper();

  /** A request with every field. */
  private static final String ALL_FIELDS =
      """
      resource_logs {
        resource {
          attributes { key: "service.name" value { string_value: "checkout" } }
          dropped_attributes_count: 1
        }
        schema_url: "https://opentelemetry.io/schemas/1.37.0"
        scope_logs {
          scope {
            name: "com.example.Orders"
            version: "1.2"
            attributes { key: "" value { } }
            dropped_attributes_count: 4294967295
          }
          schema_url: "s"
          log_records {
            time_unix_nano: 1795310000123456789
            observed_time_unix_nano: 9223372036854775807
            severity_number: SEVERITY_NUMBER_WARN
            severity_text: "WARN"
            body { string_value: "a \\"quoted\\" \\\\ line\\nand\\ttab \\001 \\177 \\303\\251 \\360\\237\\232\\200" }
            attributes { key: "empty" value { string_value: "" } }
            attributes { key: "true" value { bool_value: true } }
            attributes { key: "false" value { bool_value: false } }
            attributes { key: "least" value { int_value: -9223372036854775808 } }
            attributes { key: "most" value { int_value: 9223372036854775807 } }
            attributes { key: "zero" value { int_value: 0 } }
            attributes { key: "pi" value { double_value: 3.141592653589793 } }
            attributes { key: "minus zero" value { double_value: -0.0 } }
            attributes { key: "tiny" value { double_value: 4.9e-324 } }
            attributes { key: "huge" value { double_value: 1.7976931348623157e308 } }
            attributes { key: "nan" value { double_value: nan } }
            attributes { key: "inf" value { double_value: inf } }
            attributes { key: "-inf" value { double_value: -inf } }
            attributes { key: "bytes" value { bytes_value: "\\000\\377\\376" } }
            attributes { key: "no bytes" value { bytes_value: "" } }
            attributes { key: "twice" value { int_value: 1 } }
            attributes { key: "twice" value { int_value: 2 } }
            attributes { key: "no value" }
            attributes { value { array_value { } } }
            attributes { key: "list" value { array_value {
              values { int_value: 1 } values { } values { array_value { values { } } } } } }
            attributes { key: "map" value { kvlist_value {
              values { key: "k" value { kvlist_value { } } } values { key: "k" } values { } } } }
            dropped_attributes_count: 7
            flags: 4294967295
            trace_id: "\\000\\001\\002\\003\\004\\005\\006\\007\\010\\011\\012\\013\\014\\015\\016\\377"
            span_id: "\\370\\371\\372\\373\\374\\375\\376\\377"
            event_name: "order.placed"
          }
          log_records { }
        }
      }
      resource_logs { scope_logs { log_records { body { } } } }
      resource_logs { resource { } scope_logs { scope { } log_records { body { int_value: 5 } } } }
      """;

  private static WalEntry entryWithAllFields() {
    var otlp = OtlpTextFormat.of(ALL_FIELDS);
    var batch =
        new LogBatch(
            UUID.fromString("0d9f5a3e-58a1-4a0b-8f0e-2f6f3c1f9a11"),
            "tenant \u00e9",
            1_795_310_000_000_000_000L,
            LogId.ofHex("01a2030405060708090a0b0c0000000e"),
            4,
            LogBatches.of(otlp).expandedBytes(),
            otlp);
    var key =
        new IdempotencyStore.IdempotencyKey(
            "tenant \u00e9", "key/1", UUID.fromString("7d444840-9dc0-11d1-b245-5ffdce74fad2"));
    return new WalEntry(batch, true, key);
  }

  private static Frame encode(WalEntry entry, Compression compression) {
    return new FrameCodec(compression).encode(entry);
  }

  @ParameterizedTest
  @EnumSource
  void encode_allFields_equalsVersion1Fixture(Compression compression) throws Exception {
    var lines =
        new String(FrameCodecTest.decompress(encode(entryWithAllFields(), compression)), UTF_8);

    assertThat(lines).isEqualTo(new String(resource("version-1.jsonl"), UTF_8));
  }

  /** Frames of this version must stay readable in all later releases. */
  @ParameterizedTest
  @CsvSource({"version-1.wal.zst", "version-1.wal.gz"})
  void decode_version1Fixture_hasAllFields(String name) throws Exception {
    var decoded = FrameCodec.decode(resource(name));

    var entryWithAllFields = entryWithAllFields();
    SpoolContract.assertSameBatches(List.of(decoded.batch()), List.of(entryWithAllFields.batch()));
    assertThat(decoded.possibleDuplicate()).isTrue();
    assertThat(decoded.key()).isEqualTo(entryWithAllFields.key());
  }

  private static byte[] resource(String name) throws IOException {
    try (var in = requireNonNull(OtlpJsonLinesTest.class.getResourceAsStream("/frames/" + name))) {
      return in.readAllBytes();
    }
  }

  @Test
  void encode_everyLine_isOtlpJson() throws Exception {
    var random = new Random(6);
    for (int i = 0; i < 300; i++) {
      var otlp =
          ExportLogsServiceRequest.parseFrom(LogBatches.request(2, random)).toBuilder()
              .mergeFrom(RandomOtlp.request(random))
              .build();
      var batch = LogBatches.of(otlp.toByteArray());
      var frame = encode(new WalEntry(batch, false, null), Compression.ZSTD);
      var read = ExportLogsServiceRequest.newBuilder();
      int records = 0;

      for (var text : new String(FrameCodecTest.decompress(frame), UTF_8).lines().toList()) {
        var line = JSON.readTree(text);
        read.mergeFrom(JsonLineToProtobuf.of(line));
        assertThat(line.properties().stream().map(member -> member.getKey()))
            .containsExactly(
                "v",
                "append",
                "tenant",
                "received",
                "first",
                "records",
                "bytes",
                "id",
                "resourceLogs");
        assertThat(line.get("v").intValue()).isEqualTo(1);
        assertThat(line.get("append").stringValue()).isEqualTo(batch.appendId().toString());
        assertThat(line.get("received").stringValue())
            .isEqualTo(Long.toString(batch.receivedNanos()));
        assertThat(line.get("first").stringValue()).isEqualTo(batch.firstId().toHex());
        assertThat(line.get("records").intValue()).isEqualTo(batch.records());
        assertThat(line.get("bytes").intValue()).isEqualTo(batch.expandedBytes());
        assertThat(line.get("id").stringValue()).isEqualTo(batch.firstId().plus(records++).toHex());
      }

      assertThat(records).isEqualTo(batch.records()).isEqualTo(frame.records());
      SpoolContract.assertSameBatches(
          List.of(withOtlp(batch, read.build().toByteArray())), List.of(batch));
    }
  }

  private static LogBatch withOtlp(LogBatch batch, byte[] otlp) {
    return new LogBatch(
        batch.appendId(),
        batch.tenant(),
        batch.receivedNanos(),
        batch.firstId(),
        batch.records(),
        batch.expandedBytes(),
        otlp);
  }

  @ParameterizedTest
  @CsvSource({"ZSTD,zstd -dc", "GZIP,gzip -dc"})
  void frames_concatenated_areReadableByStandardTools(
      Compression compression, String command, @TempDir Path folder) throws Exception {
    var frames = folder.resolve("seg-000001.wal." + compression.suffix());
    var lines = folder.resolve("lines");
    try (var out = Files.newOutputStream(frames)) {
      for (int i = 0; i < 3; i++) {
        out.write(encode(entryWithAllFields(), compression).bytes());
      }
    }
    var process =
        new ProcessBuilder(List.of(command.split(" ", -1)))
            .redirectInput(frames.toFile())
            .redirectOutput(lines.toFile())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();

    assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
    assertThat(process.exitValue()).isZero();
    assertThat(Files.readString(lines))
        .isEqualTo(new String(resource("version-1.jsonl"), UTF_8).repeat(3));
  }
}
