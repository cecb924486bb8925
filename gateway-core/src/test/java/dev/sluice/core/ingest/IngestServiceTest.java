package dev.sluice.core.ingest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.Rejection;
import dev.sluice.core.ingest.IngestService.BatchLimits;
import dev.sluice.core.ingest.ItemStatuses.ItemStatus;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Single requests: validation, results, metrics and the batches that reach the spool. */
class IngestServiceTest {
  private static final String PROTOCOL = "otlp-http";
  private static final String BAD_SEVERITY = "is 99, must be from 0 to 24";
  private static final Limits LIMITS =
      new Limits(1 << 20, 12_000, 1 << 20, 1 << 10, 8, 64, 64, 64, 4);

  private final ScriptedSpool spool = new ScriptedSpool();
  private final ManualScheduler time = new ManualScheduler();
  private final CountingMetrics meter = new CountingMetrics();
  private final IngestService ingest =
      IngestFixtures.ingestService(
          spool, LIMITS, new BatchLimits(100, 1 << 20, Duration.ofMillis(5)), time, time, meter);

  private CompletableFuture<IngestResult> accept(OtlpPayload payload) {
    return IngestFixtures.submit(ingest, IngestFixtures.context(PROTOCOL), payload).result();
  }

  @Test
  void accept_validRecords_completesOnceAppended() {
    var bytes = IngestFixtures.request("a", "b");

    var result = accept(OtlpPayload.of(bytes));

    assertThat(result).isNotDone();
    assertThat(meter.accepted).hasValue(0);
    time.advance(Duration.ofMillis(2));
    spool.accept(0);
    assertThat(result).isCompletedWithValue(IngestResult.Accepted.all(2, AckLevel.DURABLE));
    assertThat(meter.received).hasValue(2);
    assertThat(meter.bytes).hasValue(bytes.length);
    assertThat(meter.accepted).hasValue(2);
    assertThat(meter.duration).hasValue(Duration.ofMillis(2));
    assertThat(meter.protocol).hasValue(PROTOCOL);
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void accept_validRecords_appendsTheBytesUnchanged() {
    var bytes = IngestFixtures.request("a", "b");
    var received = time.instant();

    var _ = accept(OtlpPayload.of(bytes));

    var batch = spool.batches().getFirst();
    assertThat(batch.otlp()).isSameAs(bytes);
    assertThat(batch.tenant()).isEqualTo("default");
    assertThat(batch.records()).isEqualTo(2);
    assertThat(batch.expandedBytes()).isPositive();
    assertThat(batch.receivedNanos())
        .isEqualTo(received.getEpochSecond() * 1_000_000_000L + received.getNano());
    assertThat(batch.firstId().high() >>> 16).isEqualTo(received.toEpochMilli());
  }

  @Test
  void accept_lengthShorterThanTheArray_countsOnlyThoseBytes() {
    var bytes = IngestFixtures.request("a");
    var longer = Arrays.copyOf(bytes, bytes.length + 7);

    var _ = accept(new OtlpPayload(longer, bytes.length, null, List.of(), 0, 0, 0));

    assertThat(spool.batches().getFirst().otlp()).isEqualTo(bytes);
  }

  @Test
  void accept_someInvalid_isPartialSuccess() {
    var result = accept(OtlpPayload.of(IngestFixtures.request("a", "bad", "b", "bad")));
    spool.accept(0);

    assertThat(result)
        .isCompletedWithValue(
            IngestFixtures.partial(
                2,
                List.of(
                    new Rejection(1, "severity_number", BAD_SEVERITY),
                    new Rejection(3, "severity_number", BAD_SEVERITY))));
    assertThat(IngestFixtures.accepted(spool.batches().getFirst())).containsExactly("a", "b");
    assertThat(spool.batches().getFirst().records()).isEqualTo(2);
    assertThat(meter.rejected).hasValue(2);
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void accept_allInvalid_completesWithoutAppend() {
    var result = accept(OtlpPayload.of(IngestFixtures.request("bad", "bad")));

    assertThat(result)
        .isCompletedWithValueMatching(
            it ->
                it instanceof IngestResult.Accepted(var accepted, _, var rejected, _, _, _, _, _)
                    && accepted == 0
                    && rejected == 2);
    assertThat(spool.batches()).isEmpty();
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void accept_noRecords_isAcceptedWithZeroRecords() {
    var result = accept(OtlpPayload.of(new byte[0]));

    assertThat(result).isCompletedWithValue(IngestResult.Accepted.all(0, AckLevel.DURABLE));
    assertThat(spool.batches()).isEmpty();
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void accept_notOtlp_isMalformedAndCountsNoRecords() {
    var broken = IngestFixtures.request("a", "b");
    broken[broken.length - 2] = (byte) 0x80;
    broken[broken.length - 1] = (byte) 0x80;

    var result = accept(OtlpPayload.of(broken));

    assertThat(result)
        .isCompletedWithValueMatching(
            it -> it instanceof IngestResult.Malformed(var reason) && reason.contains("truncated"));
    assertThat(spool.batches()).isEmpty();
    assertThat(meter.malformed).hasValue(1);
    assertThat(meter.received).hasValue(0);
  }

  @Test
  void accept_afterMalformedRequest_validatesIndependently() {
    var _ = accept(OtlpPayload.of(new byte[] {0}));
    var _ = accept(OtlpPayload.of(IngestFixtures.request("bad")));

    var result = accept(OtlpPayload.of(IngestFixtures.request("a")));
    spool.accept(0);

    assertThat(result).isCompletedWithValue(IngestResult.Accepted.all(1, AckLevel.DURABLE));
  }

  @Test
  void accept_recordsAtTheLimitAndOneMore_areAcceptedAndTooLarge() {
    var atLimit = IntStream.range(0, 12_000).mapToObj(_ -> "x").toArray(String[]::new);
    var aboveLimit = IntStream.range(0, 12_001).mapToObj(_ -> "x").toArray(String[]::new);

    var _ = accept(OtlpPayload.of(IngestFixtures.request(atLimit)));
    var result = accept(OtlpPayload.of(IngestFixtures.request(aboveLimit)));

    assertThat(spool.batches()).hasSize(1);
    assertThat(result)
        .isCompletedWithValue(new IngestResult.TooLarge("12001 log records, limit 12000"));
    assertThat(meter.malformed).hasValue(1);
    assertThat(meter.received).hasValue(12_000);
  }

  @Test
  void accept_recordsRejectedByTheDecoder_countTowardsTheLimit() {
    var payload =
        new OtlpPayload(
            IngestFixtures.request("a"),
            IngestFixtures.request("a").length,
            null,
            List.of(),
            12_000,
            0,
            0);

    assertThat(accept(payload))
        .isCompletedWithValue(new IngestResult.TooLarge("12001 log records, limit 12000"));
  }

  @Test
  void accept_expandedBeyondTheLimit_isTooLarge() {
    var body = "x".repeat(1_000);
    var bodies = IntStream.range(0, 1_100).mapToObj(_ -> body).toArray(String[]::new);

    var result = accept(OtlpPayload.of(IngestFixtures.request(bodies)));

    assertThat(result)
        .isCompletedWithValueMatching(
            it ->
                it instanceof IngestResult.TooLarge(var reason)
                    && reason.endsWith(
                        "bytes when each record carries its resource and scope, limit 1048576"));
    assertThat(spool.batches()).isEmpty();
    assertThat(meter.received).hasValue(0);
  }

  @Test
  void accept_decoderRejectedSome_mergesRejectionsByRowIndex() {
    // the decoder rejected rows 1 and 4, and wrote the record of row 3 before that of row 0
    var decoderRejections = List.of(new Rejection(4, "body", "no"), new Rejection(1, "time", "no"));
    var bytes = IngestFixtures.request("bad 3", "bad 0", "fine");
    var payload =
        new OtlpPayload(bytes, bytes.length, new int[] {3, 0, 2}, decoderRejections, 2, 7, 3);

    var result = accept(payload);
    spool.accept(0);

    assertThat(result)
        .isCompletedWithValue(
            IngestFixtures.partial(
                1,
                List.of(
                    new Rejection(0, "severity_number", BAD_SEVERITY),
                    new Rejection(1, "time", "no"),
                    new Rejection(3, "severity_number", BAD_SEVERITY),
                    new Rejection(4, "body", "no"))));
    assertThat(meter.received).hasValue(5);
    assertThat(meter.rejected).hasValue(4);
    assertThat(meter.unknownFields).hasValue(7);
    assertThat(meter.unknownTimestamps).hasValue(3);
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void statusOf_mixedRequest_namesEachItemOfTheClient() {
    // the decoder rejected rows 1 and 4, and wrote the record of row 3 before that of row 0
    var bytes = IngestFixtures.request("bad 3", "bad 0", "fine");
    var payload =
        new OtlpPayload(
            bytes,
            bytes.length,
            new int[] {3, 0, 2},
            List.of(new Rejection(1, "time", "no")),
            2,
            0,
            0);

    var result = accept(payload);
    spool.accept(0);

    var accepted = (IngestResult.Accepted) result.join();
    assertThat(IntStream.range(0, 5).mapToObj(accepted::statusOf))
        .containsExactly(
            ItemStatus.REJECTED,
            ItemStatus.REJECTED,
            ItemStatus.ACCEPTED,
            ItemStatus.REJECTED,
            ItemStatus.REJECTED);
    assertThat(accepted.rejectionOf(0))
        .isEqualTo(new Rejection(0, "severity_number", BAD_SEVERITY));
    assertThat(accepted.rejectionOf(1)).isEqualTo(new Rejection(1, "time", "no"));
    assertThat(accepted.rejectionOf(2)).isNull();
    assertThat(accepted.rejectionOf(4)).as("only counted").isNull();
  }

  @Test
  void statusOf_allAccepted_sharesOneObject() {
    var first = accept(OtlpPayload.of(IngestFixtures.request("a")));
    spool.accept(0);

    assertThat(((IngestResult.Accepted) first.join()).items()).isSameAs(ItemStatuses.ALL_ACCEPTED);
  }

  @Test
  void accept_rowsOutOfOrderWithoutDecoderRejections_sortsByRowIndex() {
    var bytes = IngestFixtures.request("bad", "bad");
    var payload = new OtlpPayload(bytes, bytes.length, new int[] {1, 0}, List.of(), 0, 0, 0);

    assertThat(rejections(payload)).extracting(Rejection::index).containsExactly(0, 1);
  }

  @Test
  void accept_moreRejectionsThanReported_countsAllAndReportsTheFirst() {
    var bodies = IntStream.range(0, 11_000).mapToObj(_ -> "bad").toArray(String[]::new);
    var bytes = IngestFixtures.request(bodies);
    var before = new ArrayList<Rejection>();
    for (int i = 0; i < 500; i++) {
      before.add(new Rejection(20_000 + i, "body", "no"));
    }

    var rejections =
        rejections(new OtlpPayload(bytes, bytes.length, null, before, before.size(), 0, 0));

    assertThat(rejections).hasSize(IngestService.MAX_REJECTIONS);
    assertThat(rejections.getLast().index()).isEqualTo(9_999);
    assertThat(rejections(OtlpPayload.of(bytes))).hasSize(IngestService.MAX_REJECTIONS);
    assertThat(meter.rejected).hasValue(22_500);
  }

  private List<Rejection> rejections(OtlpPayload payload) {
    var result = accept(payload).join();
    return result instanceof IngestResult.Accepted(_, var rejected, _, _, _, _, _, _)
        ? rejected
        : List.of();
  }

  @Test
  void batchLimits_notPositive_throw() {
    assertThatIllegalArgumentException().isThrownBy(() -> new BatchLimits(0, 1, Duration.ZERO));
    assertThatIllegalArgumentException().isThrownBy(() -> new BatchLimits(1, 0, Duration.ZERO));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new BatchLimits(1, 1, Duration.ofNanos(-1)));
  }
}
