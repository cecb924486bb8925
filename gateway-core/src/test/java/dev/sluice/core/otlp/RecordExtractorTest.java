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
import java.util.BitSet;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
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
    int records = FlatLog.of(request).size();
    if (records == 0) {
      return;
    }
    var batch = batch(request.toByteArray(), records);
    int index = random.nextInt(records);

    var extracted = RecordExtractor.extract(batch, index);

    // the bytes are equal too, because protobuf-java wrote the original in the same order
    assertThat(extracted.otlp())
        .isEqualTo(reduced(request, ordinal -> ordinal == index).toByteArray());
    assertThat(extracted.firstId()).isEqualTo(FIRST.plus(index));
    assertThat(extracted.tenant()).isEqualTo("t");
    assertThat(extracted.receivedNanos()).isEqualTo(17);
    assertThat(extracted.records()).isEqualTo(1);
    assertThat(extracted.appendId()).isNotEqualTo(batch.appendId());
    var walker = new OtlpWalker(Limits.DEFAULT);
    int length = extracted.otlp().length;
    walker.walk(extracted.otlp(), 0, length, new CopyingVisitor(0, length));
    assertThat(extracted.expandedBytes()).isEqualTo(walker.expandedBytes());
  }

  @Property(tries = 500, shrinking = ShrinkingMode.OFF)
  void extract_anySelection_equalsTheRequestReducedByProtobufJava(@ForAll long seed) {
    var random = new SplittableRandom(seed);
    var request = withUnknownFields(RandomOtlp.request(random));
    var selection = selection(random, FlatLog.of(request).size());
    var otlp = request.toByteArray();

    assertThat(RecordExtractor.extract(otlp, otlp.length, selection::get))
        .isEqualTo(reduced(request, selection::get).toByteArray());
  }

  /**
   * Concatenated requests in an encoding that protobuf-java does not produce, with other bytes
   * after them, are extracted with the same meaning.
   */
  @Property(tries = 500, shrinking = ShrinkingMode.OFF)
  void extract_anySelectionOfConcatenatedScrambledRequests_isEquivalent(@ForAll long seed)
      throws Exception {
    var random = new SplittableRandom(seed);
    var requests = new ByteOutput(100);
    for (int i = random.nextInt(4); i > 0; i--) {
      requests.write(
          new WireScrambler(random)
              .scramble(
                  RandomOtlp.request(random).toByteArray(),
                  ExportLogsServiceRequest.getDescriptor()));
    }
    int length = requests.size();
    var logs = FlatLog.parsed(requests.toByteArray());
    var selection = selection(random, logs.size());
    requests.writeLong(-1);

    var extracted = RecordExtractor.extract(requests.toByteArray(), length, selection::get);

    var visitor = CopyingVisitor.walk(Limits.DEFAULT, extracted);
    assertThat(visitor.rejected).isEmpty();
    assertThat(visitor.logs).isEqualTo(selection.stream().mapToObj(logs::get).toList());
    assertThat(extracted.length).isLessThanOrEqualTo(length);
  }

  /** As ingest does: the records that a walk rejects are left out. */
  @Property(tries = 500, shrinking = ShrinkingMode.OFF)
  void extract_validRecords_areThoseOfTheFirstWalk(@ForAll long seed) throws Exception {
    var random = new SplittableRandom(seed);
    var d = Limits.DEFAULT;
    var limits =
        new Limits(d.maxRequestBytes(), d.maxRecords(), d.maxExpandedBytes(), 20, 2, 10, 20, 10, 2);
    var otlp = RandomOtlp.request(random).toByteArray();
    var first = CopyingVisitor.walk(limits, otlp);
    var valid = Set.copyOf(first.ordinals);

    var second =
        CopyingVisitor.walk(limits, RecordExtractor.extract(otlp, otlp.length, valid::contains));

    assertThat(second.logs).isEqualTo(first.logs);
    assertThat(second.rejected).isEmpty();
  }

  @Test
  void extract_noRecord_isEmpty() {
    var otlp = OtlpRequests.of(LogRecord.getDefaultInstance()).toByteArray();

    assertThat(RecordExtractor.extract(otlp, otlp.length, _ -> false)).isEmpty();
  }

  @Test
  void extract_malformed_throws() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> RecordExtractor.extract(new byte[] {10, 100, 1}, 3, _ -> true));
  }

  @Test
  void extract_fewerRecordsThanTheBatchDeclares_throws() {
    var batch = batch(OtlpRequests.of(LogRecord.getDefaultInstance()).toByteArray(), 2);

    assertThatIllegalArgumentException().isThrownBy(() -> RecordExtractor.extract(batch, 1));
  }

  private static LogBatch batch(byte[] otlp, int records) {
    return new LogBatch(UUID.randomUUID(), "t", 17, FIRST, records, 1, otlp);
  }

  private static BitSet selection(SplittableRandom random, int records) {
    var selection = new BitSet();
    int share = random.nextInt(5);
    IntStream.range(0, records).forEach(i -> selection.set(i, random.nextInt(4) < share));
    return selection;
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

  /** Returns the request with the selected records, and with the messages that contain one. */
  private static ExportLogsServiceRequest reduced(
      ExportLogsServiceRequest request, IntPredicate selection) {
    var reduced = ExportLogsServiceRequest.newBuilder();
    int ordinal = 0;
    for (var resource : request.getResourceLogsList()) {
      var resourceLogs = resource.toBuilder().clearScopeLogs();
      for (var scope : resource.getScopeLogsList()) {
        var scopeLogs = scope.toBuilder().clearLogRecords();
        for (var log : scope.getLogRecordsList()) {
          if (selection.test(ordinal++)) {
            scopeLogs.addLogRecords(log);
          }
        }
        if (scopeLogs.getLogRecordsCount() > 0) {
          resourceLogs.addScopeLogs(scopeLogs);
        }
      }
      if (resourceLogs.getScopeLogsCount() > 0) {
        reduced.addResourceLogs(resourceLogs);
      }
    }
    return reduced.build();
  }
}
