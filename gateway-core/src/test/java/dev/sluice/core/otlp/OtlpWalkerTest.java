package dev.sluice.core.otlp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.sluice.core.domain.Limits;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.logs.v1.LogRecord;
import io.opentelemetry.proto.logs.v1.ResourceLogs;
import io.opentelemetry.proto.logs.v1.ScopeLogs;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.SplittableRandom;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Compares the walker's parsing with protobuf-java's; OtlpLimitsTest covers the limits. */
class OtlpWalkerTest {
  private static final int END_GROUP = 4;

  /** A field number that neither {@code ResourceLogs} nor {@code ScopeLogs} uses. */
  private static final int UNKNOWN_FIELD = 9;

  private static final int UNKNOWN_TAG = UNKNOWN_FIELD << 3 | ProtobufInput.VARINT;

  @Property(shrinking = ShrinkingMode.OFF)
  void walk_anyRequest_agreesWithProtobufJava(@ForAll long seed) throws Exception {
    var request = RandomOtlp.request(new SplittableRandom(seed));

    var sink = CopyingVisitor.walk(Limits.DEFAULT, request.toByteArray());

    assertThat(sink.rejected).isEmpty();
    assertThat(sink.logs).isEqualTo(FlatLog.of(request));
  }

  @Property(shrinking = ShrinkingMode.OFF)
  void walk_scrambledWire_agreesWithProtobufJava(@ForAll long seed) throws Exception {
    var bytes = scrambled(new SplittableRandom(seed));

    var sink = CopyingVisitor.walk(Limits.DEFAULT, bytes);

    assertThat(sink.rejected).isEmpty();
    assertThat(sink.logs).isEqualTo(FlatLog.parsed(bytes));
  }

  @Property(tries = 300, shrinking = ShrinkingMode.OFF)
  void walk_concatenatedMessages_isTheirUnion(@ForAll long seed) throws Exception {
    var random = new SplittableRandom(seed);
    var first = RandomOtlp.request(random);
    var second = RandomOtlp.request(random);
    var both = new ArrayList<>(FlatLog.of(first));
    both.addAll(FlatLog.of(second));

    var sink =
        CopyingVisitor.walk(
            Limits.DEFAULT, first.toByteString().concat(second.toByteString()).toByteArray());

    assertThat(sink.logs).isEqualTo(both);
  }

  @Property(tries = 300, shrinking = ShrinkingMode.OFF)
  void walk_reusedOnARangeOfAnArray_isTheSame(@ForAll long seed) throws Exception {
    var random = new SplittableRandom(seed);
    var walker = new OtlpWalker(Limits.DEFAULT);
    for (int i = 0; i < 3; i++) {
      var request = RandomOtlp.request(random);
      var bytes = request.toByteArray();
      var around = new byte[bytes.length + 40];
      new Random(seed).nextBytes(around);
      System.arraycopy(bytes, 0, around, 17, bytes.length);
      var sink = new CopyingVisitor(17, 17 + bytes.length);

      walker.walk(around, 17, bytes.length, sink);

      assertThat(sink.logs).isEqualTo(FlatLog.of(request));
      assertThat(walker.records()).isEqualTo(sink.logs.size());
    }
  }

  @Property(tries = 20_000, shrinking = ShrinkingMode.OFF)
  void walk_mutatedBytes_rejectsAllThatProtobufJavaRejects(@ForAll long seed) throws Exception {
    var random = new SplittableRandom(seed);
    var bytes = mutated(random.nextBoolean() ? plain(random) : scrambled(random), random);
    CopyingVisitor sink = null;
    try {
      sink = CopyingVisitor.walk(Limits.DEFAULT, bytes);
    } catch (MalformedOtlpException e) {
      if (StructureOracle.parses(bytes)) {
        // the walker is stricter only for groups, for tags and lengths that protobuf-java truncates
        // to 32 bits, and for a varint whose tenth byte has the continuation bit
        assertThat(e.getMessage())
            .containsAnyOf(
                "unsupported wire type 3",
                "invalid field number",
                "length beyond the end",
                "varint of more than ten bytes");
      }
      return;
    }

    assertThat(StructureOracle.parses(bytes)).isTrue();
    if (sink.rejected.isEmpty()) {
      assertSameUnlessListsInParts(sink, bytes);
    }
  }

  /**
   * Compares the records, unless a list was sent in parts. The walker is more lenient in two cases:
   * protobuf-java also fails for text that is not UTF-8 in a request without records, and for
   * errors within an entity reference.
   */
  private static void assertSameUnlessListsInParts(CopyingVisitor sink, byte[] bytes) {
    try {
      var expected = FlatLog.parsed(bytes);
      assertThat(sink.logs).hasSameSizeAs(expected);
      for (int i = 0; i < expected.size(); i++) {
        var log = sink.logs.get(i);
        assertThat(log.time()).isEqualTo(expected.get(i).time());
        assertThat(log.attributes().keySet()).isEqualTo(expected.get(i).attributes().keySet());
        assertThat(log.scopeName()).isEqualTo(expected.get(i).scopeName());
        assertThat(log.body().getValueCase())
            .isIn(
                expected.get(i).body().getValueCase(), indexed(expected.get(i).body(), log.body()));
      }
    } catch (InvalidProtocolBufferException e) {
      if (StructureOracle.parsesWithEntities(bytes)) {
        assertThat(e).hasMessageContaining("UTF-8");
      }
    }
  }

  /** A field of the profiles signal in a shared message; it is unknown to the walker. */
  private static AnyValue.ValueCase indexed(AnyValue expected, AnyValue seen) {
    return expected.hasStringValueStrindex() ? seen.getValueCase() : expected.getValueCase();
  }

  @Property(tries = 300, shrinking = ShrinkingMode.OFF)
  void walk_truncatedAnywhere_rejectsWhereverProtobufJavaDoes(@ForAll long seed) throws Exception {
    var bytes = plain(new SplittableRandom(seed));
    for (int cut = 0; cut < bytes.length; cut++) {
      boolean walked = true;
      try {
        new OtlpWalker(Limits.DEFAULT).walk(bytes, 0, cut, new CopyingVisitor(0, cut));
      } catch (MalformedOtlpException _) {
        walked = false;
      }

      assertThat(walked)
          .as("cut at %d", cut)
          .isEqualTo(StructureOracle.parses(Arrays.copyOf(bytes, cut)));
    }
  }

  @Property(tries = 5_000)
  void walk_anyBytes_throwsOnlyMalformedOtlpException(@ForAll byte[] bytes) {
    try {
      CopyingVisitor.walk(Limits.DEFAULT, bytes);
    } catch (MalformedOtlpException e) {
      assertThat(e).hasMessageContaining(" at byte ");
    }
  }

  @Test
  void walk_noBytes_visitsNothing() throws Exception {
    var walker = new OtlpWalker(Limits.DEFAULT);
    walker.walk(new byte[5], 3, 0, new CopyingVisitor(3, 3));

    assertThat(walker.records()).isZero();
    assertThat(walker.expandedBytes()).isZero();
  }

  @Test
  void walk_emptyRecord_isARecordWithoutFields() throws Exception {
    var sink = CopyingVisitor.walk(Limits.DEFAULT, OtlpRequests.ofRecord(new byte[0]));

    assertThat(sink.logs).isEqualTo(FlatLog.of(OtlpRequests.of(LogRecord.getDefaultInstance())));
  }

  @Test
  void walk_zeroEnumOnTheWire_isNotSent() throws Exception {
    var sink =
        CopyingVisitor.walk(
            Limits.DEFAULT,
            OtlpRequests.ofRecord(new byte[] {OtlpFields.LOG_RECORD_SEVERITY_NUMBER_TAG, 0}));

    assertThat(sink.logs.getFirst().severityNumber()).isZero();
  }

  @Test
  void walk_repeatedScalars_lastWins() throws Exception {
    var out = new ByteOutput(64);
    var writer = new OtlpWriter(out);
    for (int i = 1; i <= 2; i++) {
      writer.writeFixed64(OtlpFields.LOG_RECORD_TIME_UNIX_NANO, i);
      writer.writeVarint(OtlpFields.LOG_RECORD_SEVERITY_NUMBER, i);
      writer.writeString(OtlpFields.LOG_RECORD_SEVERITY_TEXT, "s" + i);
      writer.writeVarint(OtlpFields.LOG_RECORD_DROPPED_ATTRIBUTES_COUNT, i);
      writer.writeFixed32(OtlpFields.LOG_RECORD_FLAGS, i);
      writer.writeString(OtlpFields.LOG_RECORD_EVENT_NAME, "e" + i);
    }

    var log =
        CopyingVisitor.walk(Limits.DEFAULT, OtlpRequests.ofRecord(out.toByteArray()))
            .logs
            .getFirst();

    assertThat(log.time()).isEqualTo(2);
    assertThat(log.severityNumber()).isEqualTo(2);
    assertThat(log.severityText()).isEqualTo("s2");
    assertThat(log.droppedAttributes()).isEqualTo(2);
    assertThat(log.flags()).isEqualTo(2);
    assertThat(log.eventName()).isEqualTo("e2");
  }

  /** Protobuf merges the parts of a message: a part that sets nothing removes nothing. */
  @Test
  void walk_bodyAndValueInParts_lastThatIsSetWins() throws Exception {
    var out = new ByteOutput(64);
    var writer = new OtlpWriter(out);
    string(writer, OtlpFields.LOG_RECORD_BODY, "first");
    string(writer, OtlpFields.LOG_RECORD_BODY, "second");
    writer.endMessage(writer.beginMessage(OtlpFields.LOG_RECORD_BODY));
    int pair = writer.beginMessage(OtlpFields.LOG_RECORD_ATTRIBUTES);
    writer.writeString(OtlpFields.KEY_VALUE_KEY, "key");
    string(writer, OtlpFields.KEY_VALUE_VALUE, "value");
    writer.endMessage(writer.beginMessage(OtlpFields.KEY_VALUE_VALUE));
    writer.endMessage(pair);
    var bytes = OtlpRequests.ofRecord(out.toByteArray());

    var sink = CopyingVisitor.walk(Limits.DEFAULT, bytes);

    assertThat(sink.logs).isEqualTo(FlatLog.parsed(bytes));
    assertThat(sink.logs.getFirst().body().getStringValue()).isEqualTo("second");
  }

  private static void string(OtlpWriter writer, int field, String text) {
    int any = writer.beginMessage(field);
    writer.writeString(OtlpFields.ANY_VALUE_STRING_VALUE, text);
    writer.endMessage(any);
  }

  @ParameterizedTest
  @CsvSource({"3, start of a group", "4, end of a group", "6, undefined", "7, undefined"})
  void walk_unsupportedWireTypes_areMalformedEverywhere(int wireType, String what) {
    // unknown in a request, known in a record
    byte[] field = {
      (byte) (OtlpFields.LOG_RECORD_TRACE_ID << 3 | wireType),
      OtlpFields.LOG_RECORD_TRACE_ID << 3 | END_GROUP
    };

    assertThatThrownBy(() -> CopyingVisitor.walk(Limits.DEFAULT, field))
        .as(what)
        .isInstanceOf(MalformedOtlpException.class)
        .hasMessage("unsupported wire type " + wireType + " at byte 1");
    assertThatExceptionOfType(MalformedOtlpException.class)
        .isThrownBy(() -> CopyingVisitor.walk(Limits.DEFAULT, OtlpRequests.ofRecord(field)));
  }

  @ParameterizedTest
  @CsvSource({
    "00, invalid field number at byte 0",
    "0200, invalid field number at byte 0",
    "8080808010, invalid field number at byte 0",
    "80, truncated varint at byte 0",
    "18ffffffffffffffffffff01, varint of more than ten bytes at byte 1",
    "0a01, length beyond the end of its message at byte 1",
    "0affffffffffffffffff01, length beyond the end of its message at byte 1",
    "0a8080808008, length beyond the end of its message at byte 1",
    "0d000000, truncated field at byte 1",
    "0900000000000000, truncated field at byte 1",
    "0a0412020a01, length beyond the end of its message at byte 5"
  })
  void walk_brokenWire_reportsReasonAndPosition(String hex, String message) {
    var bytes = HexFormat.of().parseHex(hex);

    assertThatThrownBy(() -> CopyingVisitor.walk(Limits.DEFAULT, bytes))
        .isInstanceOf(MalformedOtlpException.class)
        .hasMessage(message);
  }

  /** A length must not exceed its message, even if the array continues. */
  @Test
  void walk_innerLengthBeyondItsParent_isMalformed() {
    byte[] bytes = {
      OtlpFields.EXPORT_LOGS_SERVICE_REQUEST_RESOURCE_LOGS_TAG,
      2,
      OtlpFields.RESOURCE_LOGS_SCOPE_LOGS_TAG,
      4,
      UNKNOWN_TAG,
      1,
      UNKNOWN_TAG,
      1
    };

    assertThatExceptionOfType(MalformedOtlpException.class)
        .isThrownBy(() -> CopyingVisitor.walk(Limits.DEFAULT, bytes));
  }

  @Test
  void walk_fixedFieldsBeyondTheirRecord_areMalformed() {
    for (var field :
        List.of(
            OtlpFields.LOG_RECORD_TIME_UNIX_NANO_TAG,
            OtlpFields.LOG_RECORD_OBSERVED_TIME_UNIX_NANO_TAG,
            OtlpFields.LOG_RECORD_FLAGS_TAG)) {
      var record = new byte[] {field.byteValue(), 0, 0, 0};
      var request =
          ByteString.copyFrom(OtlpRequests.ofRecord(record)).concat(ByteString.copyFrom(tail()));

      assertThatExceptionOfType(MalformedOtlpException.class)
          .isThrownBy(() -> CopyingVisitor.walk(Limits.DEFAULT, request.toByteArray()));
    }
  }

  private static byte[] tail() {
    return OtlpRequests.of(LogRecord.newBuilder().setFlags(1).build()).toByteArray();
  }

  @Test
  void walk_rangeOutsideTheArray_throwsBeforeReading() {
    var walker = new OtlpWalker(Limits.DEFAULT);

    assertThatExceptionOfType(IndexOutOfBoundsException.class)
        .isThrownBy(() -> walker.walk(new byte[3], 2, 2, new CopyingVisitor(0, 3)));
  }

  @Test
  void walk_anotherResourceOrScope_changesTheGeneration() throws Exception {
    var scopes =
        ResourceLogs.newBuilder()
            .addScopeLogs(ScopeLogs.newBuilder().addLogRecords(LogRecord.getDefaultInstance()))
            .addScopeLogs(
                ScopeLogs.newBuilder()
                    .addLogRecords(LogRecord.getDefaultInstance())
                    .addLogRecords(LogRecord.getDefaultInstance()));
    var bytes =
        ExportLogsServiceRequest.newBuilder()
            .addResourceLogs(scopes)
            .addResourceLogs(scopes)
            .build()
            .toByteArray();
    var resources = new ArrayList<Integer>();
    var scopesSeen = new ArrayList<Integer>();
    var walker = new OtlpWalker(Limits.DEFAULT);
    var sink =
        new OtlpRecordVisitor() {
          @Override
          public void visitRecord(OtlpRecord log) {
            resources.add(log.resource().generation());
            scopesSeen.add(log.scope().generation());
          }

          @Override
          public void visitRejected(int ordinal, String field, String reason) {
            throw new AssertionError(reason);
          }
        };

    walker.walk(bytes, 0, bytes.length, sink);
    walker.walk(bytes, 0, bytes.length, sink);

    assertThat(new HashSet<>(resources)).hasSize(4);
    assertThat(new HashSet<>(scopesSeen)).hasSize(8);
    assertThat(resources.get(0)).isEqualTo(resources.get(2)).isNotEqualTo(resources.get(3));
    assertThat(scopesSeen.get(1)).isEqualTo(scopesSeen.get(2)).isNotEqualTo(scopesSeen.get(0));
  }

  @Test
  void walk_completed_retainsNoRequest() throws Exception {
    var log = new OtlpRecord[1];
    var bytes = OtlpRequests.ofRecord(new byte[0]);
    var walker = new OtlpWalker(Limits.DEFAULT);

    walker.walk(
        bytes,
        0,
        bytes.length,
        new OtlpRecordVisitor() {
          @Override
          public void visitRecord(OtlpRecord seen) {
            log[0] = seen;
          }

          @Override
          public void visitRejected(int ordinal, String field, String reason) {}
        });

    assertThat(log[0].bytes()).isEmpty();
  }

  private static byte[] plain(SplittableRandom random) {
    return RandomOtlp.request(random).toByteArray();
  }

  private static byte[] scrambled(SplittableRandom random) throws IOException {
    return new WireScrambler(random)
        .scramble(plain(random), ExportLogsServiceRequest.getDescriptor());
  }

  private static byte[] mutated(byte[] bytes, SplittableRandom random) {
    var out = new ByteArrayOutputStream();
    int rate = 4 + random.nextInt(Math.max(1, bytes.length));
    for (byte b : bytes) {
      switch (random.nextInt(rate)) {
        case 0 -> out.write(b ^ 1 << random.nextInt(8));
        case 1 -> out.write(random.nextInt());
        case 2 -> {}
        case 3 -> {
          out.write(b);
          out.write(random.nextInt());
        }
        default -> out.write(b);
      }
    }
    return out.toByteArray();
  }
}
