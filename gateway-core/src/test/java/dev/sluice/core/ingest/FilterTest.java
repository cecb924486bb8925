package dev.sluice.core.ingest;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.Rejection;
import dev.sluice.core.ingest.IngestLogs.Choice;
import dev.sluice.core.ingest.IngestLogs.Coalescing;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceResponse;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.common.v1.ArrayValue;
import io.opentelemetry.proto.logs.v1.LogRecord;
import io.opentelemetry.proto.logs.v1.ResourceLogs;
import io.opentelemetry.proto.logs.v1.ScopeLogs;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What the allow list leaves out, and what is said and counted of it. */
class FilterTest {
  private final ScriptedSpool spool = new ScriptedSpool();
  private final HandTimer time = new HandTimer();
  private final CountingMeter meter = new CountingMeter();
  private AllowList list = AllowList.of(List.of("Order Placed", "Order shipped"));
  private final IngestLogs ingest =
      Logs.door(
          spool,
          Limits.DEFAULT,
          new Choice(() -> list, Mirror.OFF),
          new Coalescing(100_000, 1 << 20, Duration.ofMillis(5)),
          time,
          time,
          meter);

  private CompletableFuture<Ingested> accept(byte[] bytes) {
    return ingest.accept(Asked.NOTHING.at("otlp-http", bytes), OtlpPayload.of(bytes)).answer();
  }

  private static Ingested answer(int accepted, int filtered) {
    return new Ingested.Accepted(accepted, List.of(), 0, filtered, AckLevel.DURABLE, 0, false);
  }

  @Test
  void accept_notOnTheList_isLeftOutAndCounted() {
    var answer = accept(Logs.request("order placed", "cache miss", "ORDER SHIPPED", ""));
    spool.accept(0);

    assertThat(answer).isCompletedWithValue(answer(2, 2));
    assertThat(Logs.accepted(spool.batches().getFirst()))
        .containsExactly("order placed", "ORDER SHIPPED");
    assertThat(spool.batches().getFirst().records()).isEqualTo(2);
    assertThat(meter.filtered).hasValue(2);
    assertThat(meter.rejected).hasValue(0);
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void accept_nothingOnTheList_isAnsweredWithoutTheSpool() {
    assertThat(accept(Logs.request("a", "b"))).isCompletedWithValue(answer(0, 2));
    assertThat(spool.batches()).isEmpty();
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void accept_overALimit_isRefusedAndNotFiltered() {
    var answer = accept(Logs.request("bad one", "order placed", "other"));
    spool.accept(0);

    assertThat(answer)
        .isCompletedWithValue(
            new Ingested.Accepted(
                1,
                List.of(new Rejection(0, "severity_number", "is 99, known are 0 to 24")),
                1,
                1,
                AckLevel.DURABLE,
                0,
                false));
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void accept_bodyThatIsNoText_isLeftOut() {
    var text = AnyValue.newBuilder().setStringValue("order placed").build();
    var scope =
        ScopeLogs.newBuilder()
            .addLogRecords(LogRecord.newBuilder().setEventName("order placed"))
            .addLogRecords(LogRecord.newBuilder().setBody(AnyValue.newBuilder().setIntValue(1)))
            .addLogRecords(
                LogRecord.newBuilder()
                    .setBody(AnyValue.newBuilder().setBytesValue(text.getStringValueBytes())))
            .addLogRecords(
                LogRecord.newBuilder()
                    .setBody(
                        AnyValue.newBuilder()
                            .setArrayValue(ArrayValue.newBuilder().addValues(text))))
            .addLogRecords(LogRecord.newBuilder().setBody(text));
    var request =
        ExportLogsServiceRequest.newBuilder()
            .addResourceLogs(ResourceLogs.newBuilder().addScopeLogs(scope))
            .build();

    var answer = accept(request.toByteArray());
    spool.accept(0);

    assertThat(answer).isCompletedWithValue(answer(1, 4));
    assertThat(spool.batches().getFirst().refused().cardinality()).isEqualTo(4);
  }

  @Test
  void accept_leftOut_takesNoPartInTheSizeOfTheBatch() {
    list = AllowList.EVERYTHING;
    var _ = accept(Logs.request("order placed"));
    list = AllowList.of(List.of("order placed"));
    var _ = accept(Logs.request("a much longer message than that", "order placed", "x"));
    spool.accept(0);

    assertThat(spool.batches().get(1).expandedBytes())
        .isEqualTo(spool.batches().get(0).expandedBytes());
  }

  @Test
  void accept_anotherList_holdsFromTheNextRequestOn() {
    assertThat(accept(Logs.request("a"))).isCompletedWithValue(answer(0, 1));

    list = AllowList.of(List.of("A"));

    var answer = accept(Logs.request("a", "order placed"));
    spool.accept(0);
    assertThat(answer).isCompletedWithValue(answer(1, 1));
  }

  @Test
  void accept_sampleOfTenMessages_takesTheTenthThatIsListed() {
    list = AllowList.of(List.of("message 3"));
    var bodies =
        IntStream.range(0, 1_000).mapToObj(i -> "Message " + i % 10).toArray(String[]::new);

    var answer = accept(Logs.request(bodies));
    spool.accept(0);

    assertThat(answer).isCompletedWithValue(answer(100, 900));
    assertThat(spool.batches().getFirst().records()).isEqualTo(100);
  }

  @Test
  void response_filtered_isAWarningWithNothingRejected() throws Exception {
    var result = (Ingested.Accepted) answer(1, 2);

    var success = ExportLogsServiceResponse.parseFrom(OtlpAnswer.response(result));

    assertThat(success.getPartialSuccess().getRejectedLogRecords()).isZero();
    assertThat(success.getPartialSuccess().getErrorMessage())
        .isEqualTo("2 log records filtered: they are not on the allow list");
  }
}
