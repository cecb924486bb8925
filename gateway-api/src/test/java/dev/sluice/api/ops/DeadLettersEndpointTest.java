package dev.sluice.api.ops;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.api.decode.OtlpJsonDecoder;
import dev.sluice.api.ops.DeadLettersEndpoint.DeadLetterDetail;
import dev.sluice.api.ops.DeadLettersEndpoint.DeadLetterPage;
import dev.sluice.api.ops.DeadLettersEndpoint.ErrorResponse;
import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.DeadLetterQueue;
import dev.sluice.testkit.LogBatches;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import reactor.core.publisher.Mono;

class DeadLettersEndpointTest {
  private static final Instant AT = Instant.parse("2026-08-24T10:00:00Z");

  private final FakeDeadLetterQueue fakeDeadLetterQueue = new FakeDeadLetterQueue();
  private final DeadLettersEndpoint endpoint =
      new DeadLettersEndpoint(fakeDeadLetterQueue, Limits.DEFAULT);

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
    for (int i = 0; i < 3; i++) {
      fakeDeadLetterQueue.deadLetters.put(
          Integer.toString(i), new DeadLetter(logs.get(i), "too large", AT));
    }

    var page = body(DeadLetterPage.class, endpoint.list(null, 2));

    assertThat(page.count()).isEqualTo(3);
    assertThat(page.capacity()).isEqualTo(10);
    assertThat(page.next()).isEqualTo("1");
    assertThat(page.deadLetters()).extracting("id").containsExactly("0", "1");
    var first = page.deadLetters().getFirst();
    assertThat(first.logId()).isEqualTo(logs.getFirst().firstId().toHex());
    assertThat(first.service()).isNotEmpty();
    assertThat(first.tenant()).isEqualTo("default");
    assertThat(first.reason()).isEqualTo("too large");
    assertThat(first.at()).isEqualTo(AT);
    assertThat(first.bytes()).isEqualTo(logs.getFirst().otlp().length);
    assertThat(body(DeadLetterPage.class, endpoint.list("1", null)).deadLetters()).hasSize(1);
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
    fakeDeadLetterQueue.deadLetters.put("a", new DeadLetter(log, "too large", AT));

    var deadLetterDetail = body(DeadLetterDetail.class, endpoint.show("a"));

    assertThat(parsed(log(deadLetterDetail.log()))).isEqualTo(parsed(log));
  }

  @Test
  void replay_uncorrected_keepsEverythingButTheAppendId() {
    var log = LogBatches.of(1);
    fakeDeadLetterQueue.deadLetters.put("a", new DeadLetter(log, "too large", AT));

    assertThat(call(endpoint.replay("a", null)).getStatus()).isEqualTo(200);

    var replayed = fakeDeadLetterQueue.replayed();
    assertThat(replayed.otlp()).isEqualTo(log.otlp());
    assertIdentityOf(log, replayed);
    assertThat(replayed.expandedBytes()).isEqualTo(log.expandedBytes());
    assertThat(replayed.appendId()).isNotEqualTo(log.appendId());
    assertThat(fakeDeadLetterQueue.deadLetters).isEmpty();
  }

  @Test
  void replay_corrected_keepsIdentityReceiptAndTenant() throws Exception {
    var log = LogBatches.of(1);
    fakeDeadLetterQueue.deadLetters.put("a", new DeadLetter(log, "too large", AT));

    var response = call(endpoint.replay("a", records("{\"body\":{\"stringValue\":\"better\"}}")));

    assertThat(response.getStatus()).isEqualTo(200);
    var replayed = fakeDeadLetterQueue.replayed();
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
    assertThat(replayed.excludedOrdinals().isEmpty()).isTrue();
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
    fakeDeadLetterQueue.deadLetters.put("a", new DeadLetter(LogBatches.of(1), "too large", AT));

    assertThat(call(endpoint.replay("a", records(records))).getStatus()).isEqualTo(400);
    var only =
        body(ErrorResponse.class, endpoint.replay("a", records(records))).reasons().getFirst();
    assertThat(only.field()).isEqualTo(field);
    assertThat(only.reason()).isEqualTo(reason);
    assertThat(fakeDeadLetterQueue.deadLetters).containsKey("a");
  }

  @Test
  void replay_emptyCorrection_is400() {
    fakeDeadLetterQueue.deadLetters.put("a", new DeadLetter(LogBatches.of(1), "too large", AT));

    assertThat(call(endpoint.replay("a", "{}")).getStatus()).isEqualTo(400);
    assertThat(call(endpoint.replay("a", "")).getStatus()).isEqualTo(400);
    assertThat(call(endpoint.replay("a", "{\"resourceLogs\":")).getStatus()).isEqualTo(400);
  }

  @Test
  void purge_existing_isRemoved() {
    fakeDeadLetterQueue.deadLetters.put("a", new DeadLetter(LogBatches.of(1), "too large", AT));

    assertThat(call(endpoint.purge("a")).getStatus()).isEqualTo(200);

    assertThat(fakeDeadLetterQueue.deadLetters).isEmpty();
  }

  @Test
  void anyOperation_unknownId_is404() {
    assertThat(call(endpoint.show("b")).getStatus()).isEqualTo(404);
    assertThat(call(endpoint.replay("b", null)).getStatus()).isEqualTo(404);
    assertThat(call(endpoint.purge("b")).getStatus()).isEqualTo(404);
  }

  @Test
  void anyOperation_spoolUnavailable_is503() {
    fakeDeadLetterQueue.unavailable = true;

    assertThat(call(endpoint.list(null, null)).getStatus()).isEqualTo(503);
    assertThat(call(endpoint.show("a")).getStatus()).isEqualTo(503);
    assertThat(call(endpoint.replay("a", null)).getStatus()).isEqualTo(503);
    assertThat(call(endpoint.purge("a")).getStatus()).isEqualTo(503);
  }

  private static String records(String records) {
    return "{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[" + records + "]}]}]}";
  }

  private static ExportLogsServiceRequest parsed(LogBatch log) throws Exception {
    return ExportLogsServiceRequest.parseFrom(log.otlp());
  }

  /** A dead letter queue in memory. */
  private static final class FakeDeadLetterQueue implements DeadLetterQueue {
    private final TreeMap<String, DeadLetter> deadLetters = new TreeMap<>();
    private @Nullable LogBatch replayed;
    private boolean unavailable;

    LogBatch replayed() {
      return Optional.ofNullable(replayed).orElseThrow();
    }

    private void requireAvailable() {
      if (unavailable) {
        throw new IllegalStateException("spool unavailable");
      }
    }

    @Override
    public List<DeadLetterQueue.DeadLetterItem> list(@Nullable String after, int limit) {
      requireAvailable();
      if ("none".equals(after)) {
        throw new IllegalArgumentException("not an id: none");
      }
      return deadLetters.entrySet().stream()
          .filter(entry -> after == null || entry.getKey().compareTo(after) > 0)
          .limit(limit)
          .map(entry -> new DeadLetterQueue.DeadLetterItem(entry.getKey(), entry.getValue()))
          .toList();
    }

    @Override
    public Optional<DeadLetterQueue.DeadLetterItem> find(String id) {
      requireAvailable();
      return Optional.ofNullable(deadLetters.get(id))
          .map(letter -> new DeadLetterQueue.DeadLetterItem(id, letter));
    }

    @Override
    public boolean replay(String id, LogBatch log) {
      requireAvailable();
      replayed = log;
      return deadLetters.remove(id) != null;
    }

    @Override
    public boolean purge(String id) {
      requireAvailable();
      return deadLetters.remove(id) != null;
    }

    @Override
    public Capacity capacity() {
      requireAvailable();
      return new Capacity(deadLetters.size(), 10);
    }
  }
}
