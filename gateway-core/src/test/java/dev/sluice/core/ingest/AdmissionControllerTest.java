package dev.sluice.core.ingest;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.port.Spool.SpoolStatus;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The admission of requests by the latest status of the spool, and the retry delays. */
class AdmissionControllerTest {
  private static final Duration SECOND = Duration.ofSeconds(1);

  private final ScriptedSpool spool = new ScriptedSpool();
  private final ManualScheduler time = new ManualScheduler();
  private final MemoryBudget budget = new MemoryBudget(1_000_000);
  private final AdmissionController admission = admission(0, 0);
  private long delivered;

  private AdmissionController admission(long maxBacklog, double random) {
    var controller =
        new AdmissionController(
            spool, budget, maxBacklog, time, time, () -> (long) (random * (1L << 53)) << 11);
    controller.start();
    return controller;
  }

  /** Sets the status of the spool and lets the controller poll it. */
  private void reportStatus(
      @Nullable String unavailable, @Nullable String notDurable, long... counts) {
    spool.setSpoolStatus(
        new SpoolStatus(
            unavailable,
            notDurable,
            counts.length > 0 ? counts[0] : 0,
            counts.length > 0 ? counts[1] : 0));
    time.advance(SECOND);
  }

  /** Reports pending records and a rate of delivered records for three seconds. */
  private void reportDraining(long pending, long perSecond) {
    for (int i = 0; i < 3; i++) {
      delivered += perSecond;
      reportStatus(null, null, pending, delivered);
    }
  }

  private static double seconds(IngestResult.@Nullable Unavailable unavailable) {
    return Objects.requireNonNull(unavailable).retryAfter().toMillis() / 1000.0;
  }

  @Test
  void check_statusUnknown_durableIsUnavailableWithShortRetry() {
    var first = new CompletableFuture<SpoolStatus>();
    spool.setSpoolStatus(first);
    var controller = admission(1, 0);

    assertThat(seconds(controller.check(AckLevel.DURABLE))).isEqualTo(1.0);
    assertThat(seconds(controller.check(AckLevel.STORED))).isEqualTo(1.0);
    assertThat(controller.check(AckLevel.ACCEPTED)).isNull();
    first.complete(new SpoolStatus(null, null, 0, 0));
    assertThat(controller.check(AckLevel.DURABLE)).isNull();
  }

  @Test
  void start_firstStatus_completesAlsoWhenUnavailable() {
    var first = new CompletableFuture<SpoolStatus>();
    spool.setSpoolStatus(first);
    var controller = new AdmissionController(spool, budget, 0, time, time, () -> 0);

    var known = controller.start().toCompletableFuture();

    assertThat(known).isNotDone();
    first.completeExceptionally(new IllegalStateException("broken"));
    assertThat(known).isCompleted();
  }

  @Test
  void check_spoolUnavailable_admitsOnlyLevelAccepted() {
    reportStatus("connection refused", null);

    assertThat(admission.check(AckLevel.DURABLE)).isNotNull();
    assertThat(admission.check(AckLevel.STORED)).isNotNull();
    assertThat(admission.check(AckLevel.ACCEPTED)).isNull();
    reportStatus(null, null);
    assertThat(admission.check(AckLevel.DURABLE)).isNull();
  }

  @Test
  void check_spoolNotDurable_admitsOnlyLevelAccepted() {
    reportStatus(null, "keeps no append-only file");

    assertThat(admission.check(AckLevel.DURABLE)).isNotNull();
    assertThat(admission.check(AckLevel.STORED)).isNotNull();
    assertThat(admission.check(AckLevel.ACCEPTED)).isNull();
  }

  @Test
  void check_statusPollFails_isAsIfSpoolUnavailable() {
    spool.setSpoolStatus(CompletableFuture.failedFuture(new IllegalStateException("broken")));
    time.advance(SECOND);

    assertThat(admission.check(AckLevel.DURABLE)).isNotNull();
  }

  @Test
  void check_backlogAtLimitAndOneMore_admitsAndRejectsEveryLevel() {
    var bounded = admission(1_000, 0);
    reportDraining(1_000, 10);
    assertThat(bounded.check(AckLevel.DURABLE)).isNull();

    reportDraining(1_001, 10);

    for (var level : AckLevel.values()) {
      // 101 records above 90 percent of the limit, at ten per second
      assertThat(seconds(bounded.check(level))).isEqualTo(10.1);
    }
  }

  @Test
  void check_unlimitedBacklog_isAdmitted() {
    reportDraining(1_000_000_000, 10);

    assertThat(admission.check(AckLevel.DURABLE)).isNull();
  }

  @Test
  void retryAfter_fullSpool_isTheTimeToDrainATwentiethOfIt() {
    reportDraining(100_000, 500);
    reportStatus("full", null, 100_000, delivered + 500);

    assertThat(seconds(admission.check(AckLevel.DURABLE))).isEqualTo(10.0);
  }

  @Test
  void retryAfter_nothingDrains_isHalfAMinute() {
    reportDraining(100_000, 0);
    reportStatus("full", null, 100_000, delivered);

    assertThat(seconds(admission.check(AckLevel.DURABLE))).isEqualTo(30.0);
  }

  @Test
  void retryAfter_drainsSlowly_isAMinuteAtMost() {
    reportDraining(100_000, 1);
    reportStatus("full", null, 100_000, delivered + 1);

    assertThat(seconds(admission.check(AckLevel.DURABLE))).isEqualTo(60.0);
  }

  @Test
  void retryAfter_drainsImmediatelyOrNothingPending_isASecond() {
    reportStatus("full", null);
    assertThat(seconds(admission.check(AckLevel.DURABLE))).isEqualTo(1.0);

    reportDraining(10, 100_000);

    assertThat(admission.retryAfterSpoolFailure()).isEqualTo(SECOND);
  }

  @Test
  void retryAfter_spoolRequestsLonger_isTheSpoolsValue() {
    assertThat(admission.retryAfterSpoolFailure(Duration.ofSeconds(7)))
        .isEqualTo(Duration.ofSeconds(7));
  }

  @Test
  void retryAfter_spoolUnreachable_usesLastKnownCounts() {
    reportDraining(100_000, 500);
    reportStatus("connection refused", null);

    assertThat(seconds(admission.check(AckLevel.DURABLE))).isEqualTo(10.0);
  }

  @Test
  void retryAfter_rateChanges_followsOverSomeTenSeconds() {
    reportDraining(100_000, 1_000);
    for (int i = 0; i < 10; i++) {
      delivered += 100;
      reportStatus(null, null, 100_000, delivered);
    }
    // between 5 s, from the previous rate, and 50 s, from the current rate
    assertThat(admission.retryAfterSpoolFailure())
        .isBetween(Duration.ofSeconds(9), Duration.ofSeconds(16));
    for (int i = 0; i < 60; i++) {
      delivered += 100;
      reportStatus(null, null, 100_000, delivered);
    }
    assertThat(admission.retryAfterSpoolFailure())
        .isBetween(Duration.ofSeconds(45), Duration.ofSeconds(50));
  }

  @Test
  void retryAfter_idleForLong_keepsTheRate() {
    reportDraining(100_000, 500);
    for (int i = 0; i < 100; i++) {
      reportStatus(null, null, 0, delivered);
    }
    reportStatus("full", null, 100_000, delivered + 500);

    assertThat(seconds(admission.check(AckLevel.DURABLE))).isEqualTo(10.0);
  }

  @Test
  void retryAfter_jitter_staysWithinAQuarterAndTheBounds() {
    var withJitter = admission(0, 0.999);
    reportDraining(100_000, 500);
    assertThat(withJitter.retryAfterSpoolFailure())
        .isBetween(Duration.ofMillis(12_400), Duration.ofMillis(12_500));
    assertThat(withJitter.retryAfterSpoolFailure(Duration.ofSeconds(600)))
        .isBetween(Duration.ofSeconds(45), Duration.ofSeconds(46));
  }

  @Test
  void retryAfterMemoryPressure_measured_isTheTimeToReleaseUsedBytes() {
    assertThat(admission.retryAfterMemoryPressure()).isEqualTo(SECOND);
    for (int i = 0; i < 3; i++) {
      assertThat(budget.reserve(100_000)).isTrue();
      budget.release(100_000);
      time.advance(SECOND);
    }
    assertThat(budget.reserve(800_000)).isTrue();

    assertThat(admission.retryAfterMemoryPressure()).isEqualTo(Duration.ofSeconds(8));
  }

  @Test
  void retryAfterMemoryPressure_nothingReleased_isHalfAMinute() {
    assertThat(budget.reserve(800_000)).isTrue();
    time.advance(SECOND);
    time.advance(SECOND);

    assertThat(admission.retryAfterMemoryPressure()).isEqualTo(Duration.ofSeconds(30));
  }

  @Test
  void pollSpool_pollPending_startsNoSecondPoll() {
    int before = spool.spoolStatusPolls();
    var late = new CompletableFuture<SpoolStatus>();
    spool.setSpoolStatus(late);
    for (int i = 0; i < 5; i++) {
      time.advance(SECOND);
    }
    assertThat(spool.spoolStatusPolls()).isEqualTo(before + 1);

    late.complete(new SpoolStatus("full", null, 0, 0));
    time.advance(SECOND);

    assertThat(spool.spoolStatusPolls()).isEqualTo(before + 2);
  }

  @Test
  void stop_afterwards_pollsNoMore() {
    admission.stop();
    int before = spool.spoolStatusPolls();

    time.advance(Duration.ofSeconds(5));

    assertThat(spool.spoolStatusPolls()).isEqualTo(before);
  }
}
