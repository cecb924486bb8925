package dev.sluice.core.ingest;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.ingest.IngestLogs.Coalescing;
import dev.sluice.core.ingest.IngestLogs.Request;
import dev.sluice.core.port.Spool.Appended;
import dev.sluice.core.port.Spool.Fate;
import dev.sluice.core.port.Spool.Manner;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** When a client of each level is answered, what it is told, and when its memory is free. */
@Timeout(30)
class AckLevelTest {
  private static final Duration BEAT = Duration.ofMillis(100);
  private static final Appended BUSY = new Appended.Busy(Duration.ofSeconds(2), "away");

  private final ScriptedSpool spool = new ScriptedSpool();
  private final HandTimer time = new HandTimer();
  private final CountingMeter meter = new CountingMeter();
  private final IngestLogs ingest =
      Logs.door(
          spool,
          Limits.DEFAULT,
          new Coalescing(100, 1 << 20, Duration.ofMillis(5)),
          time,
          time,
          meter);

  private InHand send(AckLevel level, String... bodies) {
    return ingest.accept(new Request("otlp", level, null), OtlpPayload.of(Logs.request(bodies)));
  }

  private static Ingested answer(int accepted, AckLevel level) {
    return new Ingested.Accepted(accepted, List.of(), 0, level);
  }

  private List<List<String>> entries() {
    return spool.batches().stream().map(Logs::accepted).toList();
  }

  // ---- accepted

  @Test
  void accepted_spoolHasNotAnswered_isAnsweredAndHoldsItsMemory() {
    var a = send(AckLevel.ACCEPTED, "a");

    assertThat(a.answer()).isCompletedWithValue(answer(1, AckLevel.ACCEPTED));
    assertThat(a.free()).isNotDone();
    assertThat(meter.accepted).hasValue(0);
    spool.accept(0);
    assertThat(a.free()).isCompleted();
    assertThat(meter.accepted).hasValue(1);
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void accepted_spoolBusy_isTriedAgainAsTheSameBatchUntilItIsTaken() {
    var a = send(AckLevel.ACCEPTED, "a");
    spool.answer(0).complete(BUSY);
    time.advance(Duration.ofSeconds(2).minusNanos(1));
    assertThat(spool.batches()).hasSize(1);
    time.advance(Duration.ofNanos(1));
    spool.answer(1).completeExceptionally(new IllegalStateException("connection reset"));
    time.advance(Duration.ofSeconds(1));

    assertThat(spool.batches()).hasSize(3);
    assertThat(spool.batches()).extracting(LogBatch::appendId).containsOnly(appendId(0));
    assertThat(a.free()).isNotDone();
    spool.accept(2);
    assertThat(a.free()).isCompleted();
    time.advance(Duration.ofMinutes(1));
    assertThat(spool.batches()).hasSize(3);
    assertThat(meter.accepted).hasValue(1);
    assertThat(meter.balances()).isTrue();
  }

  private UUID appendId(int append) {
    return spool.batches().get(append).appendId();
  }

  /** However many others there are meanwhile: nobody but the entry itself has to remember. */
  @Test
  void accepted_spoolBusyAndInDoubt_isTriedAsAgainFromThenOn() {
    send(AckLevel.ACCEPTED, "a");
    spool.answer(0).complete(BUSY);
    time.advance(Duration.ofSeconds(2));
    spool.answer(1).complete(new Appended.Busy(Duration.ofSeconds(2), "away", true));
    time.advance(Duration.ofSeconds(2));
    spool.answer(2).complete(BUSY);
    time.advance(Duration.ofSeconds(2));

    assertThat(spool.manners())
        .containsExactly(Manner.UNHURRIED, Manner.AWAITED, Manner.AGAIN, Manner.AGAIN);
  }

  /** Whoever comes next waits for the end of one of them, and they would end when it suits them. */
  @Test
  void accepted_takesTheLastPlace_isNotUnhurried() {
    for (int i = 0; i < 8; i++) {
      send(AckLevel.ACCEPTED, "a" + i);
      time.advance(Duration.ofMillis(5));
    }

    assertThat(spool.manners().subList(0, 7)).containsOnly(Manner.UNHURRIED);
    assertThat(spool.manners().subList(7, 8)).containsExactly(Manner.AWAITED);
  }

  /** Else those who were turned away would find their logs stored when they come again. */
  @Test
  void accepted_besideDurable_hasAnEntryOfItsOwn() {
    send(AckLevel.DURABLE, "first");
    var a = send(AckLevel.ACCEPTED, "a");
    var b = send(AckLevel.DURABLE, "b");
    var c = send(AckLevel.ACCEPTED, "c");
    spool.accept(0);

    assertThat(entries()).containsExactly(List.of("first"), List.of("a", "c"), List.of("b"));
    spool.answer(1).complete(BUSY);
    spool.answer(2).complete(BUSY);
    assertThat(b.answer()).isCompletedWithValueMatching(it -> it instanceof Ingested.Busy);
    time.advance(Duration.ofSeconds(2));
    assertThat(entries()).hasSize(4).last().isEqualTo(List.of("a", "c"));
    spool.accept(3);
    assertThat(a.free()).isCompleted();
    assertThat(c.free()).isCompleted();
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void accepted_beingTriedAgain_othersDoNotWaitForIt() {
    var _ = send(AckLevel.ACCEPTED, "a");
    spool.answer(0).complete(BUSY);

    var _ = send(AckLevel.DURABLE, "b");

    assertThat(entries()).containsExactly(List.of("a"), List.of("b"));
  }

  @Test
  void close_spoolTakesItNow_losesNothing() {
    var a = send(AckLevel.ACCEPTED, "a");
    spool.answer(0).complete(BUSY);
    spool.answerAtOnce();

    assertThat(ingest.close(Duration.ofSeconds(20))).isZero();

    assertThat(entries()).containsExactly(List.of("a"), List.of("a"));
    assertThat(a.free()).isCompleted();
    assertThat(meter.lost).hasValue(0);
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void close_spoolStaysAway_countsWhatIsLostAndFreesIt() {
    var a = send(AckLevel.ACCEPTED, "a1", "a2");
    spool.answer(0).complete(BUSY);
    var b = send(AckLevel.ACCEPTED, "b");

    assertThat(ingest.close(Duration.ZERO)).isEqualTo(3);

    assertThat(a.free()).isCompleted();
    assertThat(b.free()).isCompleted();
    assertThat(meter.lost).hasValue(3);
    assertThat(meter.balances()).isTrue();
  }

  // ---- durable

  @Test
  void durable_appended_isAnsweredAndFree() {
    var a = send(AckLevel.DURABLE, "a");
    assertThat(a.answer()).isNotDone();
    assertThat(a.free()).isNotDone();

    spool.accept(0);

    assertThat(a.answer()).isCompletedWithValue(answer(1, AckLevel.DURABLE));
    assertThat(a.free()).isCompleted();
  }

  @Test
  void answer_spoolTakesTooLong_isBusyAndStaysOnItsWay() {
    var a = send(AckLevel.DURABLE, "a");

    var answer = a.answer(time, Duration.ofSeconds(9), () -> Duration.ofSeconds(4));

    time.advance(Duration.ofSeconds(8));
    assertThat(answer).isNotDone();
    time.advance(Duration.ofSeconds(1));

    assertThat(answer).isCompletedWithValue(new Ingested.Busy(Duration.ofSeconds(4)));

    assertThat(a.free()).isNotDone();
    spool.accept(0);
    assertThat(meter.accepted).hasValue(1);
  }

  @Test
  void answer_inTime_takesItsDeadlineBack() {
    var a = send(AckLevel.DURABLE, "a");
    var answer = a.answer(time, Duration.ofSeconds(9), () -> Duration.ofSeconds(4));
    assertThat(time.idle()).isFalse();

    spool.accept(0);

    assertThat(answer).isCompletedWithValue(answer(1, AckLevel.DURABLE));
    assertThat(time.idle()).isTrue();
  }

  // ---- stored

  @Test
  void stored_appended_isFreeAndAnsweredOnceTheStoreHasIt() {
    var a = send(AckLevel.STORED, "a");
    spool.accept(0);
    assertThat(a.free()).isCompleted();
    for (int i = 0; i < 3; i++) {
      time.advance(BEAT);
    }
    assertThat(a.answer()).isNotDone();

    spool.settle(new Fate.Settled(0));
    assertThat(a.answer()).isNotDone();
    time.advance(BEAT);

    assertThat(a.answer()).isCompletedWithValue(answer(1, AckLevel.STORED));
    assertThat(spool.questions()).hasSize(4);
    time.advance(BEAT.multipliedBy(10));
    assertThat(spool.questions()).hasSize(4);
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void stored_sharedEntry_asksForItsOwnRecords() {
    var _ = send(AckLevel.DURABLE, "first");
    var _ = send(AckLevel.DURABLE, "b1", "b2", "bad");
    var _ = send(AckLevel.STORED, "c1", "bad", "c2", "c3");
    spool.accept(0);
    spool.accept(1);

    time.advance(BEAT);

    var third = spool.batches().get(1).firstId().plus(2);
    assertThat(spool.questions()).containsExactly("1 " + third.toHex() + " 3");
  }

  @Test
  void stored_someBecameDeadLetters_areCounted() {
    var a = send(AckLevel.STORED, "a1", "a2", "a3");
    spool.accept(0);
    spool.settle(new Fate.Settled(2));
    time.advance(BEAT);

    assertThat(a.answer())
        .isCompletedWithValue(new Ingested.Accepted(3, List.of(), 0, 0, AckLevel.STORED, 2, false));
  }

  @Test
  void stored_notInTime_isDurable() {
    var a = send(AckLevel.STORED, "a");
    spool.accept(0);
    spool.settle(new Fate.Unknown("away"));
    time.advance(Duration.ofSeconds(10).minus(BEAT));
    assertThat(a.answer()).isNotDone();

    time.advance(BEAT);

    assertThat(a.answer()).isCompletedWithValue(answer(1, AckLevel.DURABLE));
  }

  @Test
  void stored_spoolBusy_isTurnedAwayAtOnce() {
    var a = send(AckLevel.STORED, "a");
    spool.answer(0).complete(BUSY);

    assertThat(a.answer()).isCompletedWithValue(new Ingested.Busy(Duration.ofSeconds(2)));
  }

  @Test
  void stored_timerBreaks_nobodyWaitsForIt() {
    var a = send(AckLevel.STORED, "a");
    time.breakDown();
    spool.accept(0);

    assertThat(a.answer()).isCompletedWithValue(answer(1, AckLevel.DURABLE));
  }

  @Test
  void anyLevel_nothingGood_isAnsweredWithTheLevelAskedFor() {
    for (var level : AckLevel.values()) {
      assertThat(send(level).answer()).isCompletedWithValue(answer(0, level));
    }
    assertThat(spool.batches()).isEmpty();
  }
}
