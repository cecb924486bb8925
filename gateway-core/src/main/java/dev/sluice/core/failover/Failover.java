package dev.sluice.core.failover;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.DeadLetterQueue;
import dev.sluice.core.port.FallbackSpoolConsumer;
import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.Scheduler;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.SpoolConsumer;
import dev.sluice.core.port.TimeoutScheduler;
import java.time.Duration;
import java.time.InstantSource;
import java.time.LocalDate;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Two spools that are one: the second takes what the first cannot, and gives it back when the first
 * is well again.
 *
 * <p>Nothing waits for the first longer than its patience. At its first failure, or when it says of
 * itself that nothing durable can be appended, it is left alone until it has been well twice in a
 * row; meanwhile everything goes to the second at once.
 *
 * <p>What the first has not answered goes to the second as {@link
 * Spool.AppendMode#POSSIBLE_DUPLICATE}: it may be in both. Who is told that neither took it is told
 * that too. Such batches are not delivered from here while the first is away, where another gateway
 * may be delivering the very same; they wait until they can be given back under the identity by
 * which the first knows them, if it has them.
 *
 * <p>Idempotency keys that were used through this process are known whichever spool they are in.
 * What cannot be known while the first is away are keys that were taken through another process;
 * nor those of a request which the first took after both had been given up on.
 *
 * <p>Safe for use by many threads.
 */
public final class Failover implements Spool, IdempotencyStore, Backlog, AutoCloseable {

  /**
   * One of the two.
   *
   * @param name what people call it, as in "Redis"; it is in the middle of sentences
   */
  public record Side(
      String name,
      Spool spool,
      IdempotencyStore keys,
      Backlog backlog,
      DeadLetterQueue deadLetterQueue) {}

  /**
   * @param patience how long the first may take with an append before the second takes it
   * @param probe how often the first is asked whether it is well again
   * @param delivers whether a worker of this process delivers what the second has while the first
   *     is away
   * @param keys idempotency keys remembered at most, 100,000 of them if it is more; those used
   *     longest ago go first
   * @param keyRetention how long a key is remembered
   * @param longestInsert longer than the store works at one insert: how long what was begun before
   *     the start is left alone where no worker is
   */
  public record Settings(
      Duration patience,
      Duration probe,
      boolean delivers,
      int keys,
      Duration keyRetention,
      Duration longestInsert) {
    public Settings {
      if (patience.toMillis() < 1 || probe.toMillis() < 1) {
        throw new IllegalArgumentException(
            "failover has patience %s and probe %s, each at least 1 ms".formatted(patience, probe));
      }
    }
  }

  /**
   * How it is, for those who look after it.
   *
   * @param reason why the first does not take logs; empty when it does
   * @param waitingInSecond log records
   */
  public record Status(boolean firstTakesLogs, String reason, long waitingInSecond) {}

  /** What the second has to take over must not keep the threads busy that say so. */
  private static final Executor DIVERTED = task -> Thread.ofVirtual().name("failover").start(task);

  private static final Duration SOON = Duration.ofSeconds(1);

  private final Side first;
  private final Side second;
  private final Breaker breaker;
  private final StandIn standIn;
  private final Scheduler scheduler;
  private final Receipts receipts;
  private final KnownKeys known;
  private final GiveBack giveBack;

  /**
   * @param returns the second's other end; this alone uses it from now on
   */
  public Failover(
      Side first,
      Side second,
      FallbackSpoolConsumer returns,
      Settings settings,
      Scheduler scheduler,
      TimeoutScheduler timeoutScheduler,
      InstantSource clock) {
    this.first = first;
    this.second = second;
    this.breaker = new Breaker(first, second, settings, scheduler, timeoutScheduler);
    this.standIn = new StandIn(returns, breaker, settings.delivers(), settings.longestInsert());
    this.scheduler = scheduler;
    this.receipts = new Receipts(first, second);
    this.known = new KnownKeys(settings.keys(), settings.keyRetention(), clock);
    this.giveBack =
        new GiveBack(first, returns, standIn, breaker, receipts, known, settings.patience());
  }

  /** Begins to watch the first, and to give back; once. */
  public void start() {
    breaker.start();
    standIn.start(scheduler);
    giveBack.start();
  }

  /**
   * What the second has, handed out while the first is away, for one delivery worker; always the
   * same. A delivery that was begun is finished there, even when the first is well again meanwhile.
   */
  public SpoolConsumer deliveries() {
    return standIn;
  }

  /**
   * Of both. A list has what can be had while one is out of reach; everything else throws when the
   * spool that it concerns is.
   *
   * @param prefix of the ids of the second's, which none of the first's begins with
   */
  public DeadLetterQueue deadLetters(String prefix) {
    return new BothDeadLetters(
        first.deadLetterQueue(), second.deadLetterQueue(), prefix, breaker::requireClosed);
  }

  /** Asks the second how many wait there; blocks for that. */
  public Status status() {
    var reason = breaker.reason();
    return new Status(
        reason == null,
        reason == null ? "" : reason,
        second.spool().spoolStatus().toCompletableFuture().join().pendingRecords());
  }

  /**
   * Gives back what can be given back within that time, then no more; before the end. Blocks. Call
   * when {@link #deliveries} are closed: what a worker has begun is not given back before.
   */
  public void drain(Duration patience) {
    giveBack.drain(patience);
  }

  @Override
  public CompletionStage<AppendResult> append(LogBatch batch, AppendMode manner) {
    if (!breaker.closed()) {
      return appendToSecond(batch, manner);
    }
    return breaker
        .append(() -> first.spool().append(batch, manner))
        .thenCompose(
            answer ->
                answer instanceof AppendResult.Unavailable
                    ? diverted(() -> appendToSecond(batch, AppendMode.POSSIBLE_DUPLICATE))
                    : CompletableFuture.completedStage(answer));
  }

  private CompletionStage<AppendResult> appendToSecond(LogBatch batch, AppendMode manner) {
    return inSecond(batch, manner, () -> second.spool().append(batch, manner));
  }

  /**
   * Never fails; the answer as others see it. What the second does not take is not there, and in
   * doubt only when it came so.
   */
  private CompletionStage<AppendResult> inSecond(
      LogBatch batch, AppendMode manner, Supplier<CompletionStage<AppendResult>> step) {
    return calmly(step)
        .exceptionally(failure -> new AppendResult.Unavailable(SOON, failure.toString()))
        .thenApply(
            answer ->
                switch (answer) {
                  case AppendResult.Accepted(var receipt) ->
                      new AppendResult.Accepted(receipts.ofSecond(batch.appendId(), receipt));
                  case AppendResult.Unavailable(var retryAfter, var reason, _) ->
                      busy(retryAfter, reason, manner);
                  case AppendResult.ClaimLost() -> answer;
                });
  }

  private AppendResult busy(Duration retryAfter, String ofSecond, AppendMode manner) {
    var ofFirst = breaker.reason();
    return new AppendResult.Unavailable(
        retryAfter,
        reasons(ofFirst == null ? "well again" : ofFirst, ofSecond),
        manner == AppendMode.POSSIBLE_DUPLICATE);
  }

  private String reasons(String ofFirst, @Nullable String ofSecond) {
    return "%s: %s; %s: %s".formatted(first.name(), ofFirst, second.name(), ofSecond);
  }

  private static <T> CompletionStage<T> diverted(Supplier<CompletionStage<T>> step) {
    return CompletableFuture.supplyAsync(step, DIVERTED).thenCompose(stage -> stage);
  }

  private static <T> CompletionStage<T> calmly(Supplier<CompletionStage<T>> step) {
    try {
      return step.get();
    } catch (Throwable e) { // such as no memory: those who wait are answered
      return CompletableFuture.failedStage(e);
    }
  }

  @Override
  public CompletionStage<DeliveryStatus> statusOf(Receipt receipt, LogId first, int records) {
    return receipts.fate(receipt, first, records);
  }

  /**
   * {@inheritDoc}
   *
   * <p>Counts are of both. An obstacle is one of both: as long as either takes logs there is none.
   */
  @Override
  public CompletionStage<SpoolStatus> spoolStatus() {
    return breaker.condition().thenCombine(second.spool().spoolStatus(), this::both);
  }

  private SpoolStatus both(SpoolStatus one, SpoolStatus other) {
    long waiting = one.pendingRecords() + other.pendingRecords();
    long settled = one.deliveredRecords() + other.deliveredRecords();
    var reason = breaker.reason(); // what counts is where logs go, and not only how the first is
    if (reason == null || other.unavailableReason() == null) {
      return new SpoolStatus(null, null, waiting, settled);
    }
    var both = reasons(reason, other.unavailableReason());
    return other.outageReason() != null
        ? new SpoolStatus(both, null, waiting, settled)
        : new SpoolStatus(null, both, waiting, settled);
  }

  /** The second first: what moves between the two looks is in the first by then, or in both. */
  @Override
  public SortedMap<LocalDate, RecordCounts> recordCounts(LocalDate from) {
    var days = new TreeMap<>(second.spool().recordCounts(from));
    first
        .spool()
        .recordCounts(from)
        .forEach((day, recordCounts) -> days.merge(day, recordCounts, RecordCounts::plus));
    return days;
  }

  /**
   * The later of both: on the days before it one of them may have taken logs it knows nothing of.
   */
  @Override
  public LocalDate countsCompleteSince() {
    var one = first.spool().countsCompleteSince();
    var other = second.spool().countsCompleteSince();
    return one.isAfter(other) ? one : other;
  }

  @Override
  public CompletionStage<ClaimResult> claim(IdempotencyKey key) {
    var before = known.reserve(key);
    if (before != null) {
      return CompletableFuture.completedStage(before);
    }
    if (!breaker.closed()) {
      return claimInSecond(key);
    }
    var taken =
        second.keys().cachedResult(key); // before a restart, perhaps, and not given back yet
    if (taken.isPresent()) {
      return CompletableFuture.completedStage(learnt(key, taken.get(), true));
    }
    return breaker
        .claim(() -> first.keys().claim(key))
        .thenCompose(
            claimResult ->
                claimResult instanceof ClaimResult.Unavailable
                    ? claimInSecond(key)
                    : CompletableFuture.completedStage(learnt(key, claimResult, false)));
  }

  private CompletionStage<ClaimResult> claimInSecond(IdempotencyKey key) {
    return calmly(() -> second.keys().claim(key))
        .exceptionally(failure -> new ClaimResult.Unavailable(SOON, failure.toString()))
        .thenApply(claimResult -> learnt(key, claimResult, true));
  }

  private ClaimResult learnt(IdempotencyKey key, ClaimResult claimResult, boolean inSecond) {
    switch (claimResult) {
      case ClaimResult.Granted(var claim) -> known.claimed(claim, inSecond);
      case ClaimResult.Completed() -> known.taken(key);
      case ClaimResult.InProgress(), ClaimResult.KeyReused(), ClaimResult.Unavailable(_, _) ->
          known.free(key);
    }
    return claimResult;
  }

  @Override
  public CompletionStage<AppendResult> append(LogBatch batch, Claim claim, AppendMode manner) {
    return appendUnder(batch, claim, manner)
        .thenApply(
            answer -> {
              switch (answer) {
                case AppendResult.Accepted(_) -> known.taken(claim.key());
                case AppendResult.ClaimLost() -> known.free(claim);
                case AppendResult.Unavailable _ -> {} // released by whoever has it
              }
              return answer;
            });
  }

  private CompletionStage<AppendResult> appendUnder(
      LogBatch batch, Claim claim, AppendMode manner) {
    if (known.inSecond(claim)) {
      return inSecond(batch, manner, () -> second.keys().append(batch, claim, manner));
    }
    if (!breaker.closed()) {
      return claimAndAppend(batch, claim, manner);
    }
    return breaker
        .append(() -> first.keys().append(batch, claim, manner))
        .thenCompose(
            answer ->
                answer instanceof AppendResult.Unavailable
                    ? diverted(() -> claimAndAppend(batch, claim, AppendMode.POSSIBLE_DUPLICATE))
                    : CompletableFuture.completedStage(answer));
  }

  /**
   * The spool that granted the claim is away: the second takes the logs under a claim of its own.
   */
  private CompletionStage<AppendResult> claimAndAppend(
      LogBatch batch, Claim granted, AppendMode manner) {
    known.diverted(batch.appendId(), granted);
    return calmly(() -> second.keys().claim(granted.key()))
        .exceptionally(failure -> new ClaimResult.Unavailable(SOON, failure.toString()))
        .thenCompose(
            claimResult ->
                switch (claimResult) {
                  case ClaimResult.Granted(var own) ->
                      inSecond(batch, manner, () -> second.keys().append(batch, own, manner))
                          .thenCompose(answer -> releasedUnlessTaken(own, answer));
                  case ClaimResult.Unavailable(var retryAfter, var reason) ->
                      CompletableFuture.completedStage(busy(retryAfter, reason, manner));
                  case ClaimResult.Completed(), ClaimResult.InProgress(), ClaimResult.KeyReused() ->
                      CompletableFuture.completedStage(new AppendResult.ClaimLost());
                });
  }

  private CompletionStage<AppendResult> releasedUnlessTaken(Claim own, AppendResult answer) {
    return answer instanceof AppendResult.Unavailable
        ? calmly(() -> second.keys().release(own)).handle((_, _) -> answer)
        : CompletableFuture.completedStage(answer);
  }

  /** A claim in a spool that is away ends there by itself. */
  @Override
  public CompletionStage<Void> release(Claim claim) {
    boolean inSecond = known.inSecond(claim);
    known.free(claim);
    if (inSecond) {
      return second.keys().release(claim);
    }
    return breaker.closed() ? first.keys().release(claim) : CompletableFuture.completedStage(null);
  }

  /**
   * {@inheritDoc}
   *
   * @throws IllegalStateException at once while the first is in trouble
   */
  @Override
  public Depth depth() {
    breaker.requireClosed();
    var one = first.backlog().depth();
    var other = second.backlog().depth();
    return new Depth(
        one.entries() + other.entries(),
        one.oldestAge().compareTo(other.oldestAge()) > 0 ? one.oldestAge() : other.oldestAge());
  }

  /** Ends its own threads; the two spools stay open. */
  @Override
  public void close() {
    breaker.end();
    giveBack.end();
  }
}
