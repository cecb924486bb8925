package dev.sluice.core.ingest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.IngestService.BatchLimits;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.core.port.Spool.DeliveryStatus;
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

  private IngestHandle send(String key, String... bodies) {
    return send(IngestOptions.parse(null, key), bodies);
  }

  private IngestHandle send(IngestOptions ingestOptions, String... bodies) {
    var bytes = IngestFixtures.request(bodies);
    return ingest.accept(ingestOptions.toContext("otlp", bytes), OtlpPayload.of(bytes));
  }

  private static IngestResult durable(int records) {
    return new IngestResult.Accepted(records, List.of(), 0, AckLevel.DURABLE);
  }

  private static IngestResult replayed(int records) {
    return new IngestResult.Accepted(records, List.of(), 0, 0, AckLevel.DURABLE, 0, true);
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
    var _ = send(IngestOptions.DEFAULT, "first");
    var _ = send("k", "keyed");
    var _ = send(IngestOptions.DEFAULT, "other");
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
        ingest.accept(
            IngestOptions.parse(null, "k").toContext("http", bytes), OtlpPayload.of(bytes));

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
    var first = send(IngestOptions.parse("stored", "k"), "a");
    spool.accept(0);
    assertThat(first.released()).isCompleted();
    spool.setDeliveryStatus(new DeliveryStatus.Delivered());
    time.advance(Duration.ofMillis(100));

    assertThat(first.result())
        .isCompletedWithValue(new IngestResult.Accepted(1, List.of(), 0, AckLevel.STORED));
    assertThat(send(IngestOptions.parse("stored", "k"), "a").result())
        .isCompletedWithValue(replayed(1));
  }

  @Test
  void accepted_withKey_isDurable() {
    var first = send(IngestOptions.parse("accepted", "k"), "a");

    assertThat(first.result()).isNotDone();
    spool.accept(0);
    assertThat(first.result()).isCompletedWithValue(durable(1));
  }

  @Test
  void parse_keysAndLevels_areParsedOrThrow() {
    assertThat(IngestOptions.parse(null, null)).isEqualTo(IngestOptions.DEFAULT);
    assertThat(IngestOptions.parse("accepted", null))
        .isEqualTo(new IngestOptions(AckLevel.ACCEPTED, null));
    assertThat(IngestOptions.parse("stored", "!~" + "x".repeat(253)).key()).hasSize(255);
    for (var key : List.of("", "x".repeat(256), "a b", "ä", "tab\t", "\u007f")) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> IngestOptions.parse(null, key))
          .withMessage("idempotency-key is not 1 to 255 visible ASCII characters");
    }
    for (var level : List.of("", "Durable", "never")) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> IngestOptions.parse(level, null))
          .withMessage("sluice-ack is not one of accepted, durable, stored");
    }
  }
}
