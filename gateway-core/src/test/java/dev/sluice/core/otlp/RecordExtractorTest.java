package dev.sluice.core.otlp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.logs.v1.LogRecord;
import io.opentelemetry.proto.logs.v1.ResourceLogs;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.SplittableRandom;
import java.util.UUID;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import org.junit.jupiter.api.Test;

class RecordExtractorTest {
  private static final LogId FIRST = new LogId(7, 100);

  @Property(tries = 500, shrinking = ShrinkingMode.OFF)
  void extract_anyRecord_equalsTheRequestReducedByProtobufJava(@ForAll long seed) throws Exception {
    var random = new SplittableRandom(seed);
    var request = withUnknownFields(RandomOtlp.request(random));
    var singles = singleRecordRequests(request);
    var rejected = new BitSet();
    for (int i = 0; i < singles.size(); i++) {
      rejected.set(i, random.nextInt(3) == 0);
    }
    int records = singles.size() - rejected.cardinality();
    if (records == 0) {
      return;
    }
    var batch = batch(request.toByteArray(), records, rejected);
    int index = random.nextInt(records);
    int ordinal = -1;
    for (int i = 0; i <= index; i++) {
      ordinal = rejected.nextClearBit(ordinal + 1);
    }

    var cut = RecordExtractor.extract(batch, index);

    // the bytes are equal too, because protobuf-java wrote the original in the same order
    assertThat(cut.otlp()).isEqualTo(singles.get(ordinal).toByteArray());
    assertThat(cut.firstId()).isEqualTo(FIRST.plus(index));
    assertThat(cut.tenant()).isEqualTo("t");
    assertThat(cut.receivedNanos()).isEqualTo(17);
    assertThat(cut.records()).isEqualTo(1);
    assertThat(cut.excludedOrdinals().isEmpty()).isTrue();
    assertThat(cut.appendId()).isNotEqualTo(batch.appendId());
    var walker = new OtlpWalker(Limits.DEFAULT);
    walker.walk(cut.otlp(), 0, cut.otlp().length, new CopyingVisitor(0, cut.otlp().length));
    assertThat(cut.expandedBytes()).isEqualTo(walker.expandedBytes());
  }

  /** An encoding that protobuf-java does not produce is extracted with the same meaning. */
  @Property(tries = 500, shrinking = ShrinkingMode.OFF)
  void extract_anyRecordOfAScrambledWire_isEquivalent(@ForAll long seed) throws Exception {
    var random = new SplittableRandom(seed);
    var bytes =
        new WireScrambler(random)
            .scramble(
                RandomOtlp.request(random).toByteArray(), ExportLogsServiceRequest.getDescriptor());
    var logs = FlatLog.parsed(bytes);
    var batch = batch(bytes, Math.max(1, logs.size()), new BitSet());
    for (int i = 0; i < logs.size(); i++) {
      var sink = CopyingVisitor.walk(Limits.DEFAULT, RecordExtractor.extract(batch, i).otlp());

      assertThat(sink.logs).containsExactly(logs.get(i));
    }
  }

  @Test
  void extract_fewerRecordsThanTheBatchDeclares_throws() {
    var batch =
        batch(OtlpRequests.of(LogRecord.getDefaultInstance()).toByteArray(), 2, new BitSet());

    assertThatIllegalArgumentException().isThrownBy(() -> RecordExtractor.extract(batch, 1));
  }

  private static LogBatch batch(byte[] otlp, int records, BitSet rejected) {
    return new LogBatch(UUID.randomUUID(), "t", 17, FIRST, records, 1, rejected, otlp);
  }

  /** Adds unknown fields to a request. */
  private static ExportLogsServiceRequest withUnknownFields(ExportLogsServiceRequest request) {
    var unknown =
        UnknownFieldSet.newBuilder()
            .addField(
                1000,
                UnknownFieldSet.Field.newBuilder()
                    .addLengthDelimited(ByteString.copyFromUtf8("tomorrow's"))
                    .build())
            .build();
    var extended = request.toBuilder();
    extended
        .getResourceLogsBuilderList()
        .forEach(
            resource -> {
              resource.setUnknownFields(unknown);
              resource
                  .getScopeLogsBuilderList()
                  .forEach(
                      scope -> {
                        scope.setUnknownFields(unknown);
                        scope
                            .getLogRecordsBuilderList()
                            .forEach(log -> log.setUnknownFields(unknown));
                      });
            });
    return extended.build();
  }

  /** Returns, for each record, the request without the other records. */
  private static List<ExportLogsServiceRequest> singleRecordRequests(
      ExportLogsServiceRequest request) {
    var singles = new ArrayList<ExportLogsServiceRequest>();
    for (var resource : request.getResourceLogsList()) {
      for (var scope : resource.getScopeLogsList()) {
        for (var log : scope.getLogRecordsList()) {
          var logs =
              ResourceLogs.newBuilder(resource)
                  .clearScopeLogs()
                  .addScopeLogs(scope.toBuilder().clearLogRecords().addLogRecords(log));
          singles.add(ExportLogsServiceRequest.newBuilder().addResourceLogs(logs).build());
        }
      }
    }
    return singles;
  }
}
