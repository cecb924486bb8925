package dev.sluice.core.ingest;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.IngestService.BatchLimits;
import dev.sluice.core.port.DeliveryStatusReader.DeliveryStatus;
import dev.sluice.core.port.IdempotencyStore.IdempotencyKey;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The steps around ingest that all transports share: memory, decode, deadline, release. */
class IngestPipelineTest {
  private static final Duration ACK_TIMEOUT = Duration.ofSeconds(9);

  private final ScriptedSpool spool = new ScriptedSpool();
  private final ManualScheduler time = new ManualScheduler();
  private final CountingMetrics meter = new CountingMetrics();
  private final MemoryBudget budget = new MemoryBudget(4 << 20);
  private final Queue<Runnable> decodes = new ArrayDeque<>();
  private final IngestPipeline pipeline =
      new IngestPipeline(
          IngestFixtures.ingestService(
              spool,
              Limits.DEFAULT,
              new BatchLimits(100, 1 << 20, Duration.ofMillis(5)),
              time,
              time,
              meter),
          budget,
          new AdmissionController(spool, budget, 0, time, time, () -> 0),
          Limits.DEFAULT,
          meter,
          decodes::add,
          time,
          ACK_TIMEOUT);

  private CompletableFuture<IngestResult> ingest(
      @Nullable String ack, byte[] body, PayloadDecoder decoder) {
    var memory = pipeline.newReservation(0);
    memory.add(body.length);
    return pipeline.ingest(
        IngestFixtures.context("otlp", ack, null), memory, body, BodyEncoding.IDENTITY, decoder);
  }

  private CompletableFuture<IngestResult> ingest(@Nullable String ack, String... bodies) {
    return ingest(ack, IngestFixtures.request(bodies), PayloadDecoder.OTLP);
  }

  @Test
  void ingest_appended_completesAndReleasesItsMemory() {
    var result = ingest("durable", "a");
    assertThat(budget.used()).isPositive();

    spool.accept(0);

    assertThat(result).isCompletedWithValue(IngestResult.Accepted.all(1, AckLevel.DURABLE));
    assertThat(budget.used()).isZero();
  }

  @Test
  void ingest_levelAccepted_holdsItsMemoryUntilTheAppend() {
    var result = ingest("accepted", "a");

    assertThat(result).isCompletedWithValue(IngestResult.Accepted.all(1, AckLevel.ACCEPTED));
    assertThat(budget.used()).isGreaterThan(IngestService.REQUEST_OVERHEAD_BYTES);
    time.advance(Duration.ofMillis(5));
    spool.accept(0);
    assertThat(budget.used()).isZero();
  }

  @Test
  void ingest_levelStored_releasesItsMemoryBeforeItsResult() {
    var result = ingest("stored", "a");
    spool.accept(0);

    assertThat(result).isNotDone();
    assertThat(budget.used()).isZero();
    time.advance(ACK_TIMEOUT);
    assertThat(result).as("the ack timeout ends with the append").isNotDone();
    spool.setDeliveryStatus(new DeliveryStatus.Delivered());
    time.advance(Duration.ofMillis(100));
    assertThat(result).isCompletedWithValue(IngestResult.Accepted.all(1, AckLevel.STORED));
  }

  @Test
  void ingest_appendExceedsTimeout_isUnavailableAndAppendContinues() {
    var result = ingest("durable", "a");
    time.advance(ACK_TIMEOUT.minusSeconds(1));
    assertThat(result).isNotDone();

    time.advance(Duration.ofSeconds(1));

    assertThat(result).isCompletedWithValueMatching(it -> it instanceof IngestResult.Unavailable);
    assertThat(budget.used()).isPositive();
    spool.accept(0);
    assertThat(budget.used()).isZero();
    assertThat(meter.accepted).hasValue(1);
  }

  @Test
  void ingest_inTime_cancelsItsTimeout() {
    var result = ingest("durable", "a");
    time.advance(Duration.ofMillis(5));
    assertThat(time.isIdle()).isFalse();

    spool.accept(0);

    assertThat(result).isCompleted();
    assertThat(time.isIdle()).isTrue();
  }

  @Test
  void ingest_decoderFails_isItsResultAndReleasesItsMemory() {
    var body = new byte[] {1};

    assertThat(
            ingest(
                null,
                body,
                (_, _, _) -> {
                  throw DecodeException.malformed("no");
                }))
        .isCompletedWithValue(new IngestResult.DecodeFailure("no", false));
    assertThat(
            ingest(
                null,
                body,
                (_, _, _) -> {
                  throw DecodeException.damaged("no");
                }))
        .isCompletedWithValue(new IngestResult.DecodeFailure("no", true));
    assertThat(
            ingest(
                null,
                body,
                (_, _, _) -> {
                  throw DecodeException.tooLarge("no");
                }))
        .isCompletedWithValue(new IngestResult.TooLarge("no"));
    assertThat(meter.malformed).hasValue(3);

    assertThat(
            ingest(
                null,
                body,
                (_, _, _) -> {
                  throw new OutOfMemoryError("test");
                }))
        .isCompletedWithValueMatching(it -> it instanceof IngestResult.Unavailable);
    assertThat(
            ingest(
                null,
                body,
                (_, _, memory) -> {
                  memory.add(1L << 40);
                  return OtlpPayload.of(body);
                }))
        .isCompletedWithValueMatching(it -> it instanceof IngestResult.Unavailable);
    assertThat(meter.malformed).hasValue(3);
    assertThat(budget.used()).isZero();
    assertThat(spool.batches()).isEmpty();
  }

  /** A retry of the request would fail again, so it must not be answered as unavailable. */
  @Test
  void ingest_decoderFailsUnexpectedly_isADecodeFailureAndCounted() {
    var body = new byte[] {1};
    var expected =
        new IngestResult.DecodeFailure("the gateway failed to decode the request", false);

    assertThat(
            ingest(
                null,
                body,
                (_, _, _) -> {
                  throw new StringIndexOutOfBoundsException("test");
                }))
        .isCompletedWithValue(expected);
    assertThat(
            ingest(
                null,
                body,
                (_, _, _) -> {
                  throw new StackOverflowError("test");
                }))
        .isCompletedWithValue(expected);
    assertThat(
            ingest(
                null,
                body,
                new PayloadDecoder() {
                  @Override
                  public IdempotencyKey idempotencyKey(RequestContext context, byte[] bytes) {
                    throw new IllegalStateException("test");
                  }

                  @Override
                  public OtlpPayload decode(byte[] bytes, Limits limits, MemoryReservation memory) {
                    return OtlpPayload.of(bytes);
                  }
                }))
        .isCompletedWithValue(expected);
    assertThat(
            ingest(
                null,
                body,
                // the walk of the records fails
                (bytes, _, _) -> OtlpPayload.of(bytes, 2)))
        .isCompletedWithValue(expected);

    assertThat(meter.decodeErrors).hasValue(4);
    assertThat(meter.malformed).hasValue(4);
    assertThat(budget.used()).isZero();
    assertThat(spool.batches()).isEmpty();
  }

  @Test
  void ingest_payloadOverBudget_isUnavailable() {
    var converted = new byte[5 << 20];

    var result = ingest(null, new byte[] {1}, (_, _, _) -> OtlpPayload.of(converted, 0));

    assertThat(result).isCompletedWithValueMatching(it -> it instanceof IngestResult.Unavailable);
    assertThat(budget.used()).isZero();
  }

  @Test
  void ingest_recordExcluded_reservesTheCopyOfTheOthers() {
    var body = IngestFixtures.request("a", "bad");

    var result = ingest("durable", body, PayloadDecoder.OTLP);

    assertThat(budget.used()).isEqualTo(2L * body.length);
    spool.accept(0);
    assertThat(result).isCompletedWithValueMatching(it -> it instanceof IngestResult.Accepted);
    assertThat(budget.used()).isZero();
  }

  @Test
  void ingest_copyOfTheOthersOverBudget_isUnavailableAndAppendsNothing() {
    var body = IngestFixtures.request("a", "bad " + "x".repeat(3 << 20));

    var result = ingest("durable", body, PayloadDecoder.OTLP);
    decodes.forEach(Runnable::run);

    assertThat(result).isCompletedWithValueMatching(it -> it instanceof IngestResult.Unavailable);
    assertThat(spool.batches()).isEmpty();
    assertThat(budget.used()).isZero();
  }

  @Test
  void ingest_longBody_isDecodedByTheExecutor() {
    var result = ingest("durable", "x".repeat(BodyEncoding.MAX_INLINE_BYTES));
    assertThat(spool.batches()).isEmpty();
    assertThat(decodes).hasSize(1);

    decodes.remove().run();
    spool.accept(0);

    assertThat(result)
        .isCompletedWithValueMatching(
            it -> it instanceof IngestResult.Accepted accepted && accepted.rejectedCount() == 0);
    assertThat(budget.used()).isZero();
  }

  @Test
  void ingest_shortBodyThatTheDecoderDecompresses_isDecodedByTheExecutor() {
    var decompressing =
        new PayloadDecoder() {
          @Override
          public OtlpPayload decode(byte[] body, Limits limits, MemoryReservation memory) {
            return OtlpPayload.of(IngestFixtures.request("a"));
          }

          @Override
          public boolean decompresses() {
            return true;
          }
        };

    var _ = ingest(null, new byte[300], decompressing);

    assertThat(decodes).hasSize(1);
  }

  @Test
  void ingest_executorIsShutDown_isUnavailable() {
    var stopped =
        new IngestPipeline(
            IngestFixtures.ingestService(
                spool,
                Limits.DEFAULT,
                new BatchLimits(100, 1 << 20, Duration.ofMillis(5)),
                time,
                time,
                meter),
            budget,
            new AdmissionController(spool, budget, 0, time, time, () -> 0),
            Limits.DEFAULT,
            meter,
            _ -> {
              throw new RejectedExecutionException("shut down");
            },
            time,
            ACK_TIMEOUT);
    var body = new byte[2 << 20];

    var result =
        stopped.ingest(
            IngestFixtures.context("otlp"),
            stopped.newReservation(0),
            body,
            BodyEncoding.IDENTITY,
            PayloadDecoder.OTLP);

    assertThat(result).isCompletedWithValueMatching(it -> it instanceof IngestResult.Unavailable);
    assertThat(budget.used()).isZero();
  }
}
