package dev.sluice.api.ops;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.api.decode.OtlpJsonDecoder;
import dev.sluice.api.ops.DeadLettersEndpoint.DeadLetterDetail;
import dev.sluice.api.ops.DeadLettersEndpoint.DeadLetterPage;
import dev.sluice.api.ops.DeadLettersEndpoint.ErrorResponse;
import dev.sluice.core.delivery.DeadLetterReplayer;
import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.ReplayId;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.core.port.SpoolConsumer.Delivery;
import dev.sluice.core.port.WriteResult;
import dev.sluice.testkit.InMemoryDeadLetterStore;
import dev.sluice.testkit.InMemorySpool;
import dev.sluice.testkit.LogBatches;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import reactor.core.publisher.Mono;

class DeadLettersEndpointTest {
  private static final Instant AT = Instant.parse("2026-08-24T10:00:00Z");

  private final InMemoryDeadLetterStore store = new InMemoryDeadLetterStore();
  private final InMemorySpool spool = new InMemorySpool();
  private final DeadLettersEndpoint endpoint =
      new DeadLettersEndpoint(store, new DeadLetterReplayer(spool, store), Limits.DEFAULT);

  /** Adds a dead letter; returns its id. */
  private String add(LogBatch log) {
    assertThat(
            store.write(
                new Delivery("1-0", List.of(log), false),
                List.of(new DeadLetter(log, "too large", 131, AT))))
        .isEqualTo(new WriteResult.Written());
    return log.firstId().toHex();
  }

  private LogBatch replayed() throws InterruptedException {
    var delivery = spool.consumer().poll(Duration.ZERO, Duration.ZERO).orElseThrow();
    assertThat(delivery.redelivered()).isTrue();
    assertThat(delivery.batches()).hasSize(1);
    return delivery.batches().getFirst();
  }

  private static WebEndpointResponse<Object> call(Mono<WebEndpointResponse<Object>> operation) {
    return operation.blockOptional().orElseThrow();
  }

  private static <T> T body(Class<T> type, Mono<WebEndpointResponse<Object>> operation) {
    return type.cast(Optional.ofNullable(call(operation).getBody()).orElseThrow());
  }

  private static LogBatch log(String json) {
    var payload = OtlpJsonDecoder.read(json.getBytes(UTF_8), Limits.DEFAULT);
    return LogBatches.of(Arrays.copyOf(payload.bytes(), payload.length()));
  }

  @Test
  void list_several_returnsOldestFirstWithTheNextCursor() {
    var logs = List.of(LogBatches.of(1), LogBatches.of(1), LogBatches.of(1));
    logs.forEach(this::add);
    var ids = logs.stream().map(log -> log.firstId().toHex()).sorted().toList();

    var page = body(DeadLetterPage.class, endpoint.list(null, 2));

    assertThat(page.count()).isEqualTo(3);
    assertThat(page.next()).isEqualTo(ids.get(1));
    assertThat(page.deadLetters()).extracting("id").containsExactly(ids.get(0), ids.get(1));
    var first = page.deadLetters().getFirst();
    assertThat(first.logId()).isEqualTo(ids.getFirst());
    assertThat(first.service()).isNotEmpty();
    assertThat(first.tenant()).isEqualTo("default");
    assertThat(first.reason()).isEqualTo("too large");
    assertThat(first.code()).isEqualTo(131);
    assertThat(first.replayStarted()).isFalse();
    assertThat(first.at()).isEqualTo(AT);
    assertThat(first.bytes()).isEqualTo(logs.getFirst().otlp().length);
    assertThat(body(DeadLetterPage.class, endpoint.list(ids.get(1), null)).deadLetters())
        .hasSize(1);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, -1, 1001})
  void list_limitOutOfRange_is400(int limit) {
    assertThat(call(endpoint.list(null, limit)).getStatus()).isEqualTo(400);
  }

  @Test
  void list_invalidCursor_is400WithTheReason() {
    assertThat(call(endpoint.list("none", null)).getStatus()).isEqualTo(400);

    var only = body(ErrorResponse.class, endpoint.list("none", null)).reasons().getFirst();
    assertThat(only.field()).isEqualTo("after");
    assertThat(only.reason()).isEqualTo("is not the id of a dead letter");
  }

  @Test
  void show_existing_returnsTheLogAsOtlpJson() throws Exception {
    var log = LogBatches.of(1);
    var id = add(log);

    var deadLetterDetail = body(DeadLetterDetail.class, endpoint.show(id));

    assertThat(parsed(log(deadLetterDetail.log()))).isEqualTo(parsed(log));
  }

  @Test
  void replay_uncorrected_keepsEverythingButTheAppendId() throws Exception {
    var log = LogBatches.of(1);
    var id = add(log);

    assertThat(call(endpoint.replay(id, null)).getStatus()).isEqualTo(200);

    var replayed = replayed();
    assertThat(replayed.otlp()).isEqualTo(log.otlp());
    assertIdentityOf(log, replayed);
    assertThat(replayed.expandedBytes()).isEqualTo(log.expandedBytes());
    assertThat(replayed.appendId()).isEqualTo(ReplayId.of(log.firstId(), 1));
    assertThat(store.list(null, 1)).isEmpty();
  }

  @Test
  void replay_corrected_keepsIdentityReceiptAndTenant() throws Exception {
    var log = LogBatches.of(1);
    var id = add(log);

    var response = call(endpoint.replay(id, records("{\"body\":{\"stringValue\":\"better\"}}")));

    assertThat(response.getStatus()).isEqualTo(200);
    var replayed = replayed();
    assertIdentityOf(log, replayed);
    var records = parsed(replayed).getResourceLogs(0).getScopeLogs(0).getLogRecordsList();
    assertThat(records).hasSize(1);
    assertThat(records.getFirst().getBody().getStringValue()).isEqualTo("better");
  }

  private static void assertIdentityOf(LogBatch log, LogBatch replayed) {
    assertThat(replayed.firstId()).isEqualTo(log.firstId());
    assertThat(replayed.receivedNanos()).isEqualTo(log.receivedNanos());
    assertThat(replayed.tenant()).isEqualTo(log.tenant());
    assertThat(replayed.records()).isEqualTo(1);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{}, {} | log | has 2 log records, must have one",
        "{\"severityNumber\":99} | severity_number | is 99, must be from 0 to 24",
        "{\"severityNumber\":99}, {} | severity_number | is 99, must be from 0 to 24",
        "7 | log | malformed OTLP at line 1, column 47: an object is expected",
      })
  void replay_invalidCorrection_is400WithTheReasonAndKeepsTheDeadLetter(
      String records, String field, String reason) {
    var id = add(LogBatches.of(1));

    assertThat(call(endpoint.replay(id, records(records))).getStatus()).isEqualTo(400);
    var only =
        body(ErrorResponse.class, endpoint.replay(id, records(records))).reasons().getFirst();
    assertThat(only.field()).isEqualTo(field);
    assertThat(only.reason()).isEqualTo(reason);
    assertThat(store.list(null, 2)).hasSize(1);
    assertThat(spool.depth().entries()).isZero();
  }

  @Test
  void replay_emptyCorrection_is400() {
    var id = add(LogBatches.of(1));

    assertThat(call(endpoint.replay(id, "{}")).getStatus()).isEqualTo(400);
    assertThat(call(endpoint.replay(id, "")).getStatus()).isEqualTo(400);
    assertThat(call(endpoint.replay(id, "{\"resourceLogs\":")).getStatus()).isEqualTo(400);
  }

  @Test
  void purge_existing_isRemoved() {
    var id = add(LogBatches.of(1));

    assertThat(call(endpoint.purge(id)).getStatus()).isEqualTo(200);

    assertThat(store.list(null, 1)).isEmpty();
    assertThat(store.counts().purged()).isEqualTo(1);
  }

  @Test
  void anyOperation_unknownId_is404() {
    assertThat(call(endpoint.show("b")).getStatus()).isEqualTo(404);
    assertThat(call(endpoint.replay("b", null)).getStatus()).isEqualTo(404);
    assertThat(call(endpoint.purge("b")).getStatus()).isEqualTo(404);
  }

  @Test
  void purge_replayStarted_is409AndItCanBeReplayedAgain() {
    var id = add(LogBatches.of(1));
    store.startReplay(store.list(null, 1).getFirst().letter());

    assertThat(call(endpoint.purge(id)).getStatus()).isEqualTo(409);
    assertThat(body(DeadLetterDetail.class, endpoint.show(id)).replayStarted()).isTrue();
    assertThat(call(endpoint.replay(id, null)).getStatus()).isEqualTo(200);

    assertThat(call(endpoint.show(id)).getStatus()).isEqualTo(404);
  }

  @Test
  void replay_spoolUnavailable_is503AndTheDeadLetterStays() {
    var id = add(LogBatches.of(1));
    spool.setUnavailable(new AppendResult.Unavailable(Duration.ofSeconds(1), "full"));

    assertThat(call(endpoint.replay(id, null)).getStatus()).isEqualTo(503);

    var only = body(ErrorResponse.class, endpoint.replay(id, null)).reasons().getFirst();
    assertThat(only.field()).isEqualTo("spool");
    assertThat(store.list(null, 1)).hasSize(1);
  }

  @Test
  void anyOperation_storeUnavailable_is503() {
    var id = add(LogBatches.of(1));
    store.setUnavailable(true);

    assertThat(call(endpoint.list(null, null)).getStatus()).isEqualTo(503);
    assertThat(call(endpoint.show(id)).getStatus()).isEqualTo(503);
    assertThat(call(endpoint.replay(id, null)).getStatus()).isEqualTo(503);
    assertThat(call(endpoint.purge(id)).getStatus()).isEqualTo(503);
  }

  private static String records(String records) {
    return "{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[" + records + "]}]}]}";
  }

  private static ExportLogsServiceRequest parsed(LogBatch log) throws Exception {
    return ExportLogsServiceRequest.parseFrom(log.otlp());
  }
}
