package dev.sluice.core.ingest;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.port.Spool.Condition;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Who is turned away by what the spool said last, and when they should come again. */
class AdmissionTest {
  private static final Duration SECOND = Duration.ofSeconds(1);

  private final ScriptedSpool spool = new ScriptedSpool();
  private final HandTimer time = new HandTimer();
  private final MemoryBudget budget = new MemoryBudget(1_000_000);
  private final Admission admission = admission(0, 0);
  private long settled;

  private Admission admission(long maxBacklog, double random) {
    var made =
        new Admission(
            spool, budget, maxBacklog, time, time, () -> (long) (random * (1L << 53)) << 11);
    made.start();
    return made;
  }

  /** The spool says this from now on, and is asked. */
  private void says(@Nullable String unavailable, @Nullable String notDurable, long... counts) {
    spool.condition(
        new Condition(
            unavailable,
            notDurable,
            counts.length > 0 ? counts[0] : 0,
            counts.length > 0 ? counts[1] : 0));
    time.advance(SECOND);
  }

  /** So many records wait, and each second so many are settled. */
  private void drains(long waiting, long perSecond) {
    for (int i = 0; i < 3; i++) {
      settled += perSecond;
      says(null, null, waiting, settled);
    }
  }

  private static double seconds(Ingested.@Nullable Busy busy) {
    return Objects.requireNonNull(busy).retryAfter().toMillis() / 1000.0;
  }

  @Test
  void refusal_nothingKnownYet_durableShallComeAgainSoon() {
    var first = new CompletableFuture<Condition>();
    spool.condition(first);
    var fresh = admission(1, 0);

    assertThat(seconds(fresh.refusal(AckLevel.DURABLE))).isEqualTo(1.0);
    assertThat(seconds(fresh.refusal(AckLevel.STORED))).isEqualTo(1.0);
    assertThat(fresh.refusal(AckLevel.ACCEPTED)).isNull();
    first.complete(new Condition(null, null, 0, 0));
    assertThat(fresh.refusal(AckLevel.DURABLE)).isNull();
  }

  @Test
  void start_spoolAnswers_isKnownAlsoWhenItIsAway() {
    var first = new CompletableFuture<Condition>();
    spool.condition(first);
    var fresh = new Admission(spool, budget, 0, time, time, () -> 0);

    var known = fresh.start().toCompletableFuture();

    assertThat(known).isNotDone();
    first.completeExceptionally(new IllegalStateException("broken"));
    assertThat(known).isCompleted();
  }

  @Test
  void refusal_spoolAway_onlyWhatMayWaitInMemoryIsAdmitted() {
    says("connection refused", null);

    assertThat(admission.refusal(AckLevel.DURABLE)).isNotNull();
    assertThat(admission.refusal(AckLevel.STORED)).isNotNull();
    assertThat(admission.refusal(AckLevel.ACCEPTED)).isNull();
    says(null, null);
    assertThat(admission.refusal(AckLevel.DURABLE)).isNull();
  }

  @Test
  void refusal_spoolNotDurable_acceptedIsAdmittedAndTheRestIsNot() {
    says(null, "keeps no append-only file");

    assertThat(admission.refusal(AckLevel.DURABLE)).isNotNull();
    assertThat(admission.refusal(AckLevel.STORED)).isNotNull();
    assertThat(admission.refusal(AckLevel.ACCEPTED)).isNull();
  }

  @Test
  void refusal_questionFails_isAsIfTheSpoolWereAway() {
    spool.condition(CompletableFuture.failedFuture(new IllegalStateException("broken")));
    time.advance(SECOND);

    assertThat(admission.refusal(AckLevel.DURABLE)).isNotNull();
  }

  @Test
  void refusal_backlogAtTheBoundAndOneMore_isAdmittedAndRefusedAtEveryLevel() {
    var bounded = admission(1_000, 0);
    drains(1_000, 10);
    assertThat(bounded.refusal(AckLevel.DURABLE)).isNull();

    drains(1_001, 10);

    for (var level : AckLevel.values()) {
      // 101 records above nine tenths of the bound, at ten a second
      assertThat(seconds(bounded.refusal(level))).isEqualTo(10.1);
    }
  }

  @Test
  void refusal_backlogWithoutABound_isAdmitted() {
    drains(1_000_000_000, 10);

    assertThat(admission.refusal(AckLevel.DURABLE)).isNull();
  }

  @Test
  void retryAfter_fullSpool_isTheTimeToDrainATwentiethOfIt() {
    drains(100_000, 500);
    says("full", null, 100_000, settled + 500);

    assertThat(seconds(admission.refusal(AckLevel.DURABLE))).isEqualTo(10.0);
  }

  @Test
  void retryAfter_nothingDrains_isHalfAMinute() {
    drains(100_000, 0);
    says("full", null, 100_000, settled);

    assertThat(seconds(admission.refusal(AckLevel.DURABLE))).isEqualTo(30.0);
  }

  @Test
  void retryAfter_drainsSlowly_isAMinuteAtMost() {
    drains(100_000, 1);
    says("full", null, 100_000, settled + 1);

    assertThat(seconds(admission.refusal(AckLevel.DURABLE))).isEqualTo(60.0);
  }

  @Test
  void retryAfter_drainsAtOnceOrNothingWaits_isASecond() {
    says("full", null);
    assertThat(seconds(admission.refusal(AckLevel.DURABLE))).isEqualTo(1.0);

    drains(10, 100_000);

    assertThat(admission.afterTrouble()).isEqualTo(SECOND);
  }

  @Test
  void retryAfter_spoolSaysMore_isWhatTheSpoolSays() {
    assertThat(admission.afterTrouble(Duration.ofSeconds(7))).isEqualTo(Duration.ofSeconds(7));
  }

  @Test
  void retryAfter_outOfReach_isMeasuredByWhatWasKnownBefore() {
    drains(100_000, 500);
    says("connection refused", null);

    assertThat(seconds(admission.refusal(AckLevel.DURABLE))).isEqualTo(10.0);
  }

  @Test
  void retryAfter_rateChanges_followsOverSomeTenSeconds() {
    drains(100_000, 1_000);
    for (int i = 0; i < 10; i++) {
      settled += 100;
      says(null, null, 100_000, settled);
    }
    // between 5 s, at the rate of before, and 50 s, at that of now
    assertThat(admission.afterTrouble()).isBetween(Duration.ofSeconds(9), Duration.ofSeconds(16));
    for (int i = 0; i < 60; i++) {
      settled += 100;
      says(null, null, 100_000, settled);
    }
    assertThat(admission.afterTrouble()).isBetween(Duration.ofSeconds(45), Duration.ofSeconds(50));
  }

  @Test
  void retryAfter_idleForLong_doesNotForgetTheRate() {
    drains(100_000, 500);
    for (int i = 0; i < 100; i++) {
      says(null, null, 0, settled);
    }
    says("full", null, 100_000, settled + 500);

    assertThat(seconds(admission.refusal(AckLevel.DURABLE))).isEqualTo(10.0);
  }

  @Test
  void retryAfter_spread_staysWithinAQuarterAndTheBounds() {
    var late = admission(0, 0.999);
    drains(100_000, 500);
    assertThat(late.afterTrouble()).isBetween(Duration.ofMillis(12_400), Duration.ofMillis(12_500));
    assertThat(late.afterTrouble(Duration.ofSeconds(600)))
        .isBetween(Duration.ofSeconds(45), Duration.ofSeconds(46));
  }

  @Test
  void afterMemory_measured_isTheTimeToGiveBackWhatIsUsed() {
    assertThat(admission.afterMemory()).isEqualTo(SECOND);
    for (int i = 0; i < 3; i++) {
      assertThat(budget.reserve(100_000)).isTrue();
      budget.release(100_000);
      time.advance(SECOND);
    }
    assertThat(budget.reserve(800_000)).isTrue();

    assertThat(admission.afterMemory()).isEqualTo(Duration.ofSeconds(8));
  }

  @Test
  void afterMemory_nothingIsGivenBack_isHalfAMinute() {
    assertThat(budget.reserve(800_000)).isTrue();
    time.advance(SECOND);
    time.advance(SECOND);

    assertThat(admission.afterMemory()).isEqualTo(Duration.ofSeconds(30));
  }

  @Test
  void ask_answerTakesLong_isNotAskedTwiceAtATime() {
    int before = spool.asked();
    var late = new CompletableFuture<Condition>();
    spool.condition(late);
    for (int i = 0; i < 5; i++) {
      time.advance(SECOND);
    }
    assertThat(spool.asked()).isEqualTo(before + 1);

    late.complete(new Condition("full", null, 0, 0));
    time.advance(SECOND);

    assertThat(spool.asked()).isEqualTo(before + 2);
  }

  @Test
  void stop_afterwards_asksNoMore() {
    admission.stop();
    int before = spool.asked();

    time.advance(Duration.ofSeconds(5));

    assertThat(spool.asked()).isEqualTo(before);
  }
}
