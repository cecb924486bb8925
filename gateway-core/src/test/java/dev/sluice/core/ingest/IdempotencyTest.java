package dev.sluice.core.ingest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.IngestLogs.Coalescing;
import dev.sluice.core.port.Spool.Appended;
import dev.sluice.core.port.Spool.Fate;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Requests under a key: taken once, answered the same again. */
class IdempotencyTest {
  private final ScriptedSpool spool = new ScriptedSpool();
  private final HandKeys keys = new HandKeys(spool);
  private final HandTimer time = new HandTimer();
  private final CountingMeter meter = new CountingMeter();
  private final IngestLogs ingest =
      new IngestLogs(
          spool,
          keys,
          new Admission(spool, new MemoryBudget(1 << 20), 0, time, time, () -> 0),
          Limits.DEFAULT,
          IngestLogs.Choice.NONE,
          new Coalescing(100, 1 << 20, Duration.ofMillis(5)),
          Duration.ofSeconds(10),
          time,
          time,
          meter);

  private InHand send(String key, String... bodies) {
    return send(Asked.of(null, key), bodies);
  }

  private InHand send(Asked asked, String... bodies) {
    var bytes = Logs.request(bodies);
    return ingest.accept(asked.at("otlp", bytes), OtlpPayload.of(bytes));
  }

  private static Ingested durable(int records) {
    return new Ingested.Accepted(records, List.of(), 0, AckLevel.DURABLE);
  }

  private static Ingested replayed(int records) {
    return new Ingested.Accepted(records, List.of(), 0, 0, AckLevel.DURABLE, 0, true);
  }

  @Test
  void again_takenBefore_isAnsweredTheSameAndNotAppended() {
    var first = send("k", "a", "bad", "b");
    spool.accept(0);

    var again = send("k", "a", "bad", "b");

    assertThat(spool.batches()).hasSize(1);
    assertThat(again.free()).isCompleted();
    var before = (Ingested.Accepted) first.answer().join();
    var after = (Ingested.Accepted) again.answer().join();
    assertThat(before.replayed()).isFalse();
    assertThat(after.replayed()).isTrue();
    assertThat(after.accepted()).isEqualTo(before.accepted()).isEqualTo(2);
    assertThat(after.rejected()).isEqualTo(before.rejected()).hasSize(1);
    assertThat(meter.replayed).hasValue(2);
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void keyed_whileOthersComeAlong_isAnEntryByItself() {
    var _ = send(Asked.NOTHING, "first");
    var _ = send("k", "keyed");
    var _ = send(Asked.NOTHING, "other");
    spool.accept(0);
    spool.accept(1);

    assertThat(spool.batches())
        .extracting(Logs::accepted)
        .containsExactly(List.of("first"), List.of("keyed"), List.of("other"));
  }

  @Test
  void again_firstIsUnderWay_isToldSoAndHoldsNoMemory() {
    var first = send("k", "a");

    var again = send("k", "a");

    assertThat(again.answer()).isCompletedWithValue(new Ingested.UnderWay(Duration.ofSeconds(1)));
    assertThat(again.free()).isCompleted();
    spool.accept(0);
    assertThat(first.answer()).isCompletedWithValue(durable(1));
    assertThat(meter.conflicting).hasValue(1);
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void other_underAUsedKey_isRefused() {
    var _ = send("k", "a");
    spool.accept(0);

    assertThat(send("k", "b").answer()).isCompletedWithValue(new Ingested.KeyReused());
    assertThat(send("other", "b").answer()).isNotDone();
  }

  @Test
  void other_sameBytesByAnotherEntrance_isAnotherRequest() {
    var _ = send("k", "a");
    spool.accept(0);
    var bytes = Logs.request("a");

    var other = ingest.accept(Asked.of(null, "k").at("http", bytes), OtlpPayload.of(bytes));

    assertThat(other.answer()).isCompletedWithValue(new Ingested.KeyReused());
  }

  @Test
  void failed_busyAndComesAgain_isTaken() {
    var first = send("k", "a");
    spool.answer(0).complete(new Appended.Busy(Duration.ofSeconds(3), "full"));
    assertThat(first.answer()).isCompletedWithValue(new Ingested.Busy(Duration.ofSeconds(3)));
    assertThat(first.free()).isCompleted();

    var again = send("k", "a");
    spool.accept(1);

    assertThat(again.answer()).isCompletedWithValue(durable(1));
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void failed_appendBreaksAndComesAgain_isTaken() {
    var first = send("k", "a");
    spool.answer(0).completeExceptionally(new IllegalStateException("connection reset"));
    assertThat(first.answer()).isCompletedWithValueMatching(it -> it instanceof Ingested.Busy);

    var again = send("k", "a");
    spool.accept(1);

    assertThat(again.answer()).isCompletedWithValue(durable(1));
  }

  @Test
  void nothingGood_underAKey_doesNotTakeIt() {
    assertThat(send("k", "bad").answer())
        .isCompletedWithValueMatching(
            it -> it instanceof Ingested.Accepted accepted && accepted.accepted() == 0);

    var other = send("k", "good");
    spool.accept(0);

    assertThat(other.answer()).isCompletedWithValue(durable(1));
  }

  @Test
  void superseded_claimTakenOver_isBusyAndLeavesTheClaimAlone() {
    keys.takeOver();

    var first = send("k", "a");

    assertThat(first.answer()).isCompletedWithValue(new Ingested.Busy(Duration.ofSeconds(1)));
    assertThat(first.free()).isCompleted();
    assertThat(send("k", "a").answer())
        .isCompletedWithValueMatching(it -> it instanceof Ingested.UnderWay);
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void claim_nobodyCanTell_isBusy() {
    keys.away("connection refused");

    var first = send("k", "a");

    assertThat(first.answer()).isCompletedWithValue(new Ingested.Busy(Duration.ofSeconds(1)));
    assertThat(first.free()).isCompleted();
    assertThat(spool.batches()).isEmpty();
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void stored_underAKey_isConfirmed() {
    var first = send(Asked.of("stored", "k"), "a");
    spool.accept(0);
    assertThat(first.free()).isCompleted();
    spool.settle(new Fate.Settled(0));
    time.advance(Duration.ofMillis(100));

    assertThat(first.answer())
        .isCompletedWithValue(new Ingested.Accepted(1, List.of(), 0, AckLevel.STORED));
    assertThat(send(Asked.of("stored", "k"), "a").answer()).isCompletedWithValue(replayed(1));
  }

  @Test
  void accepted_underAKey_isDurable() {
    var first = send(Asked.of("accepted", "k"), "a");

    assertThat(first.answer()).isNotDone();
    spool.accept(0);
    assertThat(first.answer()).isCompletedWithValue(durable(1));
  }

  @Test
  void asked_keysAndLevels_areReadOrRefused() {
    assertThat(Asked.of(null, null)).isEqualTo(Asked.NOTHING);
    assertThat(Asked.of("accepted", null)).isEqualTo(new Asked(AckLevel.ACCEPTED, null));
    assertThat(Asked.of("stored", "!~" + "x".repeat(253)).key()).hasSize(255);
    for (var key : List.of("", "x".repeat(256), "a b", "ä", "tab\t", "\u007f")) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> Asked.of(null, key))
          .withMessage("idempotency-key is not 1 to 255 visible ASCII characters");
    }
    for (var level : List.of("", "Durable", "never")) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> Asked.of(level, null))
          .withMessage("sluice-ack is not one of accepted, durable, stored");
    }
  }
}
