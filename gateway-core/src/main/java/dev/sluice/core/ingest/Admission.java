package dev.sluice.core.ingest;

import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.Condition;
import dev.sluice.core.port.Timer;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Says of a request, before any of its body is read, whether its logs can be made safe; and of one
 * that is turned away, when it should come again, by the speed at which things drain.
 *
 * <p>It asks the spool once a second, and goes by its last answer: a spool that has just become
 * unavailable says so itself when logs come. Before the first answer nobody is promised that logs
 * are durable. Safe for use by many threads; nothing blocks.
 */
public final class Admission {
  private static final System.Logger LOG = System.getLogger(Admission.class.getName());
  private static final Duration INTERVAL = Duration.ofSeconds(1);

  private static final double SHORTEST = 1;
  private static final double LONGEST = 60;

  /** Seconds, when nothing drains and nobody knows when it will. */
  private static final double STANDSTILL = 30;

  /** Of a delay, so that those who were turned away together do not come back together. */
  private static final double SPREAD = 0.25;

  /** Where the backlog must be before it is worth trying again. */
  private static final double BACKLOG_GOAL = 0.9;

  /** Of what waits in a spool that takes nothing, what must be gone before it has room. */
  private static final double ROOM = 0.05;

  private final Spool spool;
  private final MemoryBudget budget;
  private final long maxBacklog;
  private final InstantSource clock;
  private final Timer timer;
  private final RandomGenerator random;
  private final AtomicBoolean asking = new AtomicBoolean();
  private final Rate draining = new Rate();
  private final Rate freeing = new Rate();
  private final CompletableFuture<Void> firstAnswer = new CompletableFuture<>();
  private volatile State last = new State(null, Double.NaN, Double.NaN);
  private volatile boolean ended;

  /** What is known, all of one moment. */
  private record State(@Nullable Condition spool, double draining, double freeing) {}

  /**
   * @param maxBacklog log records that may wait in the spool; 0 for as many as it has room for
   * @param random spreads the delays
   */
  public Admission(
      Spool spool,
      MemoryBudget budget,
      long maxBacklog,
      InstantSource clock,
      Timer timer,
      RandomGenerator random) {
    this.spool = spool;
    this.budget = budget;
    this.maxBacklog = maxBacklog;
    this.clock = clock;
    this.timer = timer;
    this.random = random;
  }

  /**
   * Begins to ask; once.
   *
   * @return completes with the spool's first answer, which may be that it is away; never fails
   */
  public CompletionStage<Void> start() {
    ask();
    return firstAnswer.minimalCompletionStage();
  }

  /** Asks no more. */
  public void stop() {
    ended = true;
  }

  private void ask() {
    if (ended) {
      return;
    }
    if (asking.compareAndSet(false, true)) { // one that takes longer than a second is not doubled
      CompletionStage<Condition> condition;
      try {
        condition = spool.condition();
      } catch (Throwable e) { // such as no memory: to ask no more would keep the last answer
        condition = CompletableFuture.failedStage(e);
      }
      var _ =
          condition
              .exceptionally(e -> new Condition(String.valueOf(e), null, 0, 0))
              .thenAccept(this::answered)
              .whenComplete((_, _) -> asking.set(false));
    }
    try {
      timer.after(INTERVAL, this::ask);
    } catch (RuntimeException _) {
      ended = true; // the timer is shutting down, and so are we
    }
  }

  private void answered(Condition now) {
    var before = last.spool();
    long nanos = nanos(clock.instant());
    // one out of reach knows no counts
    boolean counted = now.unavailable() == null || now.settled() > 0;
    if (counted) {
      draining.sample(nanos, now.settled(), now.waiting() > 0);
    }
    freeing.sample(nanos, budget.released(), budget.used() > 0);
    var known =
        counted || before == null
            ? now
            : new Condition(
                now.unavailable(), now.notDurable(), before.waiting(), before.settled());
    last = new State(known, draining.perSecond(), freeing.perSecond());
    firstAnswer.complete(null);
    tell(before == null ? null : before.obstacle(), known.obstacle());
  }

  /** To operators; clients are told no reasons. The same again is not news. */
  private static void tell(@Nullable String before, @Nullable String now) {
    if (Objects.equals(before, now)) {
      return;
    }
    if (now == null) {
      LOG.log(System.Logger.Level.INFO, "the spool takes durable logs again");
    } else if (before == null) {
      LOG.log(System.Logger.Level.WARNING, "durable logs are turned away: {0}", now);
    } else {
      LOG.log(System.Logger.Level.DEBUG, "durable logs are still turned away: {0}", now);
    }
  }

  private static long nanos(Instant instant) {
    return TimeUnit.SECONDS.toNanos(instant.getEpochSecond()) + instant.getNano();
  }

  /** Why a request cannot be taken now and when to come again; null when it may be tried. */
  public Ingested.@Nullable Busy refusal(AckLevel level) {
    var state = last;
    var condition = state.spool();
    if (condition == null) { // also a spool that keeps nothing would take them
      return level == AckLevel.ACCEPTED ? null : new Ingested.Busy(delay(SHORTEST));
    }
    if (maxBacklog > 0 && condition.waiting() > maxBacklog) {
      return new Ingested.Busy(
          delay((condition.waiting() - maxBacklog * BACKLOG_GOAL) / drained(state)));
    }
    // what is only accepted waits in memory until the spool takes it
    return level != AckLevel.ACCEPTED && condition.obstacle() != null
        ? new Ingested.Busy(afterTrouble())
        : null;
  }

  /** When to come again because all requests together hold too much. */
  public Duration afterMemory() {
    double rate = last.freeing();
    return delay(Double.isNaN(rate) ? SHORTEST : budget.used() / rate);
  }

  /** When to come again because the spool did not take the logs, or not in time. */
  public Duration afterTrouble() {
    return afterTrouble(Duration.ZERO);
  }

  /**
   * @param least what the spool itself said
   */
  Duration afterTrouble(Duration least) {
    var state = last;
    var condition = state.spool();
    double waiting = condition == null ? 0 : condition.waiting();
    double room = waiting == 0 ? SHORTEST : waiting * ROOM / drained(state);
    return delay(Math.max(seconds(least), room));
  }

  /** When to come again because the same request is under way: soon. */
  Duration afterConflict() {
    return delay(SHORTEST);
  }

  private static double drained(State state) {
    return Double.isNaN(state.draining()) ? 0 : state.draining();
  }

  private static double seconds(Duration duration) {
    return duration.toNanos() / 1e9;
  }

  private Duration delay(double seconds) {
    double wanted = Double.isFinite(seconds) ? seconds : STANDSTILL;
    double bounded = Math.clamp(wanted, SHORTEST, LONGEST);
    double spread = bounded * SPREAD * random.nextDouble();
    double spreaded = bounded + spread > LONGEST ? bounded - spread : bounded + spread;
    return Duration.ofMillis(Math.round(spreaded * 1000));
  }
}
