package dev.sluice.core.ingest;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.IngestFixtures.Submission;
import dev.sluice.core.ingest.IngestService.BatchLimits;
import dev.sluice.core.port.DeliveryStatusReader.DeliveryStatus;
import dev.sluice.core.port.Spool.AppendResult;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Requests with an idempotency key: accepted once, with the same result for a replay. */
class IdempotencyTest {
  private final ScriptedSpool spool = new ScriptedSpool();
  private final FakeIdempotencyStore keys = new FakeIdempotencyStore(spool);
  private final ManualScheduler time = new ManualScheduler();
  private final CountingMetrics meter = new CountingMetrics();
  private final IngestService ingest =
      new IngestService(
          spool,
          spool,
          keys,
          (_, _) -> CompletableFuture.completedStage(List.of()),
          new AdmissionController(spool, new MemoryBudget(1 << 20), 0, time, time, () -> 0),
          Limits.DEFAULT,
          IngestService.RecordPolicy.ACCEPT_ALL,
          new BatchLimits(100, 1 << 20, Duration.ofMillis(5)),
          Duration.ofSeconds(10),
          time,
          time,
          meter);

  private Submission send(String key, String... bodies) {
    return send(IngestFixtures.context("otlp", null, key), bodies);
  }

  private Submission send(RequestContext context, String... bodies) {
    return IngestFixtures.submit(ingest, context, OtlpPayload.of(IngestFixtures.request(bodies)));
  }

  private static IngestResult durable(int records) {
    return IngestResult.Accepted.all(records, AckLevel.DURABLE);
  }

  private static IngestResult replayed(int records) {
    return new IngestResult.Accepted(
        records, List.of(), 0, 0, ItemStatuses.ALL_ACCEPTED, AckLevel.DURABLE, 0, true);
  }

  @Test
  void replay_completedKey_hasTheSameResultAndNoAppend() {
    var first = send("k", "a", "bad", "b");
    spool.accept(0);

    var retry = send("k", "a", "bad", "b");

    assertThat(spool.batches()).hasSize(1);
    assertThat(retry.released()).isCompleted();
    var before = (IngestResult.Accepted) first.result().join();
    var after = (IngestResult.Accepted) retry.result().join();
    assertThat(before.replayed()).isFalse();
    assertThat(after.replayed()).isTrue();
    assertThat(after.accepted()).isEqualTo(before.accepted()).isEqualTo(2);
    assertThat(after.rejections()).isEqualTo(before.rejections()).hasSize(1);
    assertThat(meter.replayed).hasValue(2);
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void keyed_concurrentRequests_hasItsOwnEntry() {
    var _ = send(IngestFixtures.context("otlp"), "first");
    var _ = send("k", "keyed");
    var _ = send(IngestFixtures.context("otlp"), "other");
    spool.accept(0);
    spool.accept(1);

    assertThat(spool.batches())
        .extracting(IngestFixtures::accepted)
        .containsExactly(List.of("first"), List.of("keyed"), List.of("other"));
  }

  @Test
  void replay_firstInProgress_isInProgressAndReleased() {
    var first = send("k", "a");

    var retry = send("k", "a");

    assertThat(retry.result())
        .isCompletedWithValue(new IngestResult.InProgress(Duration.ofSeconds(1)));
    assertThat(retry.released()).isCompleted();
    spool.accept(0);
    assertThat(first.result()).isCompletedWithValue(durable(1));
    assertThat(meter.conflicting).hasValue(1);
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void otherRequest_usedKey_isKeyReused() {
    var _ = send("k", "a");
    spool.accept(0);

    assertThat(send("k", "b").result())
        .isCompletedWithValue(new IngestResult.IdempotencyKeyReused());
    assertThat(send("other", "b").result()).isNotDone();
  }

  @Test
  void otherRequest_sameBytesByAnotherProtocol_isKeyReused() {
    var _ = send("k", "a");
    spool.accept(0);
    var bytes = IngestFixtures.request("a");

    var other =
        IngestFixtures.submit(
            ingest, IngestFixtures.context("http", null, "k"), OtlpPayload.of(bytes));

    assertThat(other.result()).isCompletedWithValue(new IngestResult.IdempotencyKeyReused());
  }

  @Test
  void retry_afterUnavailable_isAccepted() {
    var first = send("k", "a");
    spool.appendFuture(0).complete(new AppendResult.Unavailable(Duration.ofSeconds(3), "full"));
    assertThat(first.result())
        .isCompletedWithValue(new IngestResult.Unavailable(Duration.ofSeconds(3)));
    assertThat(first.released()).isCompleted();

    var retry = send("k", "a");
    spool.accept(1);

    assertThat(retry.result()).isCompletedWithValue(durable(1));
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void retry_afterFailedAppend_isAccepted() {
    var first = send("k", "a");
    spool.appendFuture(0).completeExceptionally(new IllegalStateException("connection reset"));
    assertThat(first.result())
        .isCompletedWithValueMatching(it -> it instanceof IngestResult.Unavailable);

    var retry = send("k", "a");
    spool.accept(1);

    assertThat(retry.result()).isCompletedWithValue(durable(1));
  }

  @Test
  void acceptedNone_withKey_doesNotClaimIt() {
    assertThat(send("k", "bad").result())
        .isCompletedWithValueMatching(
            it -> it instanceof IngestResult.Accepted accepted && accepted.accepted() == 0);

    var other = send("k", "good");
    spool.accept(0);

    assertThat(other.result()).isCompletedWithValue(durable(1));
  }

  @Test
  void claimLost_duringAppend_isUnavailableAndDoesNotRelease() {
    keys.loseClaims();

    var first = send("k", "a");

    assertThat(first.result())
        .isCompletedWithValue(new IngestResult.Unavailable(Duration.ofSeconds(1)));
    assertThat(first.released()).isCompleted();
    assertThat(send("k", "a").result())
        .isCompletedWithValueMatching(it -> it instanceof IngestResult.InProgress);
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void claim_storeUnavailable_isUnavailable() {
    keys.setUnavailable("connection refused");

    var first = send("k", "a");

    assertThat(first.result())
        .isCompletedWithValue(new IngestResult.Unavailable(Duration.ofSeconds(1)));
    assertThat(first.released()).isCompleted();
    assertThat(spool.batches()).isEmpty();
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void stored_withKey_isConfirmed() {
    var first = send(IngestFixtures.context("otlp", "stored", "k"), "a");
    spool.accept(0);
    assertThat(first.released()).isCompleted();
    spool.setDeliveryStatus(new DeliveryStatus.Delivered());
    time.advance(Duration.ofMillis(100));

    assertThat(first.result()).isCompletedWithValue(IngestResult.Accepted.all(1, AckLevel.STORED));
    assertThat(send(IngestFixtures.context("otlp", "stored", "k"), "a").result())
        .isCompletedWithValue(replayed(1));
  }

  @Test
  void accepted_withKey_isDurable() {
    var first = send(IngestFixtures.context("otlp", "accepted", "k"), "a");

    assertThat(first.result()).isNotDone();
    spool.accept(0);
    assertThat(first.result()).isCompletedWithValue(durable(1));
  }
}
