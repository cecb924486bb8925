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
public final class FailoverSpool implements Spool, IdempotencyStore, Backlog, AutoCloseable {

  /**
   * One of the two.
   *
   * @param name what people call it, as in "Redis"; it is in the middle of sentences
   */
  public record SpoolTarget(
      String name,
      Spool spool,
      IdempotencyStore keys,
      Backlog backlog,
      DeadLetterQueue deadLetterQueue) {}

  /**
   * @param primaryTimeout how long the first may take with an append before the second takes it
   * @param probeInterval how often the first is asked whether it is well again
   * @param deliversFallback whether a worker of this process delivers what the second has while the
   *     first is away
   * @param maxKeys idempotency keys remembered at most, 100,000 of them if it is more; those used
   *     longest ago go first
   * @param keyRetention how long a key is remembered
   * @param maxInsertDuration longer than the store works at one insert: how long what was begun
   *     before the start is left alone where no worker is
   */
  public record FailoverSettings(
      Duration primaryTimeout,
      Duration probeInterval,
      boolean deliversFallback,
      int maxKeys,
      Duration keyRetention,
      Duration maxInsertDuration) {
    public FailoverSettings {
      if (primaryTimeout.toMillis() < 1 || probeInterval.toMillis() < 1) {
        throw new IllegalArgumentException(
            "failover has patience %s and probe %s, each at least 1 ms"
                .formatted(primaryTimeout, probeInterval));
      }
    }
  }

  /**
   * How it is, for those who look after it.
   *
   * @param reason why the first does not take logs; empty when it does
   * @param waitingInSecond log records
   */
  public record FailoverStatus(boolean firstTakesLogs, String reason, long waitingInSecond) {}

  /** What the second has to take over must not keep the threads busy that say so. */
  private static final Executor FALLBACK_EXECUTOR =
      task -> Thread.ofVirtual().name("failover").start(task);

  private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

  private final SpoolTarget primary;
  private final SpoolTarget fallback;
  private final CircuitBreaker breaker;
  private final FallbackConsumer fallbackConsumer;
  private final Scheduler scheduler;
  private final ReceiptTranslator receiptTranslator;
  private final IdempotencyKeyIndex keyIndex;
  private final FallbackDrainer drainer;

  /**
   * @param fallbackSpoolConsumer the second's other end; this alone uses it from now on
   */
  public FailoverSpool(
      SpoolTarget primary,
      SpoolTarget fallback,
      FallbackSpoolConsumer fallbackSpoolConsumer,
      FailoverSettings settings,
      Scheduler scheduler,
      TimeoutScheduler timeoutScheduler,
      InstantSource clock) {
    this.primary = primary;
    this.fallback = fallback;
    this.breaker = new CircuitBreaker(primary, fallback, settings, scheduler, timeoutScheduler);
    this.fallbackConsumer =
        new FallbackConsumer(
            fallbackSpoolConsumer,
            breaker,
            settings.deliversFallback(),
            settings.maxInsertDuration());
    this.scheduler = scheduler;
    this.receiptTranslator = new ReceiptTranslator(primary, fallback);
    this.keyIndex = new IdempotencyKeyIndex(settings.maxKeys(), settings.keyRetention(), clock);
    this.drainer =
        new FallbackDrainer(
            primary,
            fallbackSpoolConsumer,
            fallbackConsumer,
            breaker,
            receiptTranslator,
            keyIndex,
            settings.primaryTimeout());
  }

  /** Begins to watch the first, and to give back; once. */
  public void start() {
    breaker.start();
    fallbackConsumer.start(scheduler);
    drainer.start();
  }

  /**
   * What the second has, handed out while the first is away, for one delivery worker; always the
   * same. A delivery that was begun is finished there, even when the first is well again meanwhile.
   */
  public SpoolConsumer fallbackConsumer() {
    return fallbackConsumer;
  }

  /**
   * Of both. A list has what can be had while one is out of reach; everything else throws when the
   * spool that it concerns is.
   *
   * @param prefix of the ids of the second's, which none of the first's begins with
   */
  public DeadLetterQueue deadLetters(String prefix) {
    return new CompositeDeadLetterQueue(
        primary.deadLetterQueue(), fallback.deadLetterQueue(), prefix, breaker::requireClosed);
  }

  /** Asks the second how many wait there; blocks for that. */
  public FailoverStatus failoverStatus() {
    var reason = breaker.reason();
    return new FailoverStatus(
        reason == null,
        reason == null ? "" : reason,
        fallback.spool().spoolStatus().toCompletableFuture().join().pendingRecords());
  }

  /**
   * Gives back what can be given back within that time, then no more; before the end. Blocks. Call
   * when {@link #fallbackConsumer} are closed: what a worker has begun is not given back before.
   */
  public void drain(Duration timeout) {
    drainer.drain(timeout);
  }

  @Override
  public CompletionStage<AppendResult> append(LogBatch batch, AppendMode mode) {
    if (!breaker.isClosed()) {
      return appendToFallback(batch, mode);
    }
    return breaker
        .append(() -> primary.spool().append(batch, mode))
        .thenCompose(
            result ->
                result instanceof AppendResult.Unavailable
                    ? runOnFallbackExecutor(
                        () -> appendToFallback(batch, AppendMode.POSSIBLE_DUPLICATE))
                    : CompletableFuture.completedStage(result));
  }

  private CompletionStage<AppendResult> appendToFallback(LogBatch batch, AppendMode mode) {
    return translateFallbackResult(batch, mode, () -> fallback.spool().append(batch, mode));
  }

  /**
   * Never fails; the answer as others see it. What the second does not take is not there, and in
   * doubt only when it came so.
   */
  private CompletionStage<AppendResult> translateFallbackResult(
      LogBatch batch, AppendMode mode, Supplier<CompletionStage<AppendResult>> step) {
    return callSafely(step)
        .exceptionally(failure -> new AppendResult.Unavailable(RETRY_AFTER, failure.toString()))
        .thenApply(
            result ->
                switch (result) {
                  case AppendResult.Accepted(var receipt) ->
                      new AppendResult.Accepted(
                          receiptTranslator.toExternal(batch.appendId(), receipt));
                  case AppendResult.Unavailable(var retryAfter, var reason, _) ->
                      unavailableResult(retryAfter, reason, mode);
                  case AppendResult.ClaimLost() -> result;
                });
  }

  private AppendResult unavailableResult(
      Duration retryAfter, String fallbackReason, AppendMode mode) {
    var primaryReason = breaker.reason();
    return new AppendResult.Unavailable(
        retryAfter,
        combinedReason(primaryReason == null ? "well again" : primaryReason, fallbackReason),
        mode == AppendMode.POSSIBLE_DUPLICATE);
  }

  private String combinedReason(String primaryReason, @Nullable String fallbackReason) {
    return "%s: %s; %s: %s"
        .formatted(primary.name(), primaryReason, fallback.name(), fallbackReason);
  }

  private static <T> CompletionStage<T> runOnFallbackExecutor(Supplier<CompletionStage<T>> step) {
    return CompletableFuture.supplyAsync(step, FALLBACK_EXECUTOR).thenCompose(stage -> stage);
  }

  private static <T> CompletionStage<T> callSafely(Supplier<CompletionStage<T>> step) {
    try {
      return step.get();
    } catch (Throwable e) { // such as no memory: those who wait are answered
      return CompletableFuture.failedStage(e);
    }
  }

  @Override
  public CompletionStage<DeliveryStatus> statusOf(Receipt receipt, LogId first, int records) {
    return receiptTranslator.statusOf(receipt, first, records);
  }

  /**
   * {@inheritDoc}
   *
   * <p>Counts are of both. An obstacle is one of both: as long as either takes logs there is none.
   */
  @Override
  public CompletionStage<SpoolStatus> spoolStatus() {
    return breaker.spoolStatus().thenCombine(fallback.spool().spoolStatus(), this::combine);
  }

  private SpoolStatus combine(SpoolStatus one, SpoolStatus other) {
    long waiting = one.pendingRecords() + other.pendingRecords();
    long settled = one.deliveredRecords() + other.deliveredRecords();
    var reason = breaker.reason(); // what counts is where logs go, and not only how the first is
    if (reason == null || other.unavailableReason() == null) {
      return new SpoolStatus(null, null, waiting, settled);
    }
    var combined = combinedReason(reason, other.unavailableReason());
    return other.outageReason() != null
        ? new SpoolStatus(combined, null, waiting, settled)
        : new SpoolStatus(null, combined, waiting, settled);
  }

  /** The second first: what moves between the two looks is in the first by then, or in both. */
  @Override
  public SortedMap<LocalDate, RecordCounts> recordCounts(LocalDate from) {
    var days = new TreeMap<>(fallback.spool().recordCounts(from));
    primary
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
    var one = primary.spool().countsCompleteSince();
    var other = fallback.spool().countsCompleteSince();
    return one.isAfter(other) ? one : other;
  }

  @Override
  public CompletionStage<ClaimResult> claim(IdempotencyKey key) {
    var priorClaim = keyIndex.reserve(key);
    if (priorClaim != null) {
      return CompletableFuture.completedStage(priorClaim);
    }
    if (!breaker.isClosed()) {
      return claimInFallback(key);
    }
    var completed =
        fallback.keys().cachedResult(key); // before a restart, perhaps, and not given back yet
    if (completed.isPresent()) {
      return CompletableFuture.completedStage(recordClaim(key, completed.get(), true));
    }
    return breaker
        .claim(() -> primary.keys().claim(key))
        .thenCompose(
            claimResult ->
                claimResult instanceof ClaimResult.Unavailable
                    ? claimInFallback(key)
                    : CompletableFuture.completedStage(recordClaim(key, claimResult, false)));
  }

  private CompletionStage<ClaimResult> claimInFallback(IdempotencyKey key) {
    return callSafely(() -> fallback.keys().claim(key))
        .exceptionally(failure -> new ClaimResult.Unavailable(RETRY_AFTER, failure.toString()))
        .thenApply(claimResult -> recordClaim(key, claimResult, true));
  }

  private ClaimResult recordClaim(IdempotencyKey key, ClaimResult claimResult, boolean inFallback) {
    switch (claimResult) {
      case ClaimResult.Granted(var claim) -> keyIndex.recordClaim(claim, inFallback);
      case ClaimResult.Completed() -> keyIndex.markCompleted(key);
      case ClaimResult.InProgress(), ClaimResult.KeyReused(), ClaimResult.Unavailable(_, _) ->
          keyIndex.release(key);
    }
    return claimResult;
  }

  @Override
  public CompletionStage<AppendResult> append(LogBatch batch, Claim claim, AppendMode mode) {
    return appendWithClaim(batch, claim, mode)
        .thenApply(
            result -> {
              switch (result) {
                case AppendResult.Accepted(_) -> keyIndex.markCompleted(claim.key());
                case AppendResult.ClaimLost() -> keyIndex.release(claim);
                case AppendResult.Unavailable _ -> {} // released by whoever has it
              }
              return result;
            });
  }

  private CompletionStage<AppendResult> appendWithClaim(
      LogBatch batch, Claim claim, AppendMode mode) {
    if (keyIndex.isInFallback(claim)) {
      return translateFallbackResult(batch, mode, () -> fallback.keys().append(batch, claim, mode));
    }
    if (!breaker.isClosed()) {
      return claimFallbackAndAppend(batch, claim, mode);
    }
    return breaker
        .append(() -> primary.keys().append(batch, claim, mode))
        .thenCompose(
            result ->
                result instanceof AppendResult.Unavailable
                    ? runOnFallbackExecutor(
                        () -> claimFallbackAndAppend(batch, claim, AppendMode.POSSIBLE_DUPLICATE))
                    : CompletableFuture.completedStage(result));
  }

  /**
   * The spool that granted the claim is away: the second takes the logs under a claim of its own.
   */
  private CompletionStage<AppendResult> claimFallbackAndAppend(
      LogBatch batch, Claim granted, AppendMode mode) {
    keyIndex.recordDiverted(batch.appendId(), granted);
    return callSafely(() -> fallback.keys().claim(granted.key()))
        .exceptionally(failure -> new ClaimResult.Unavailable(RETRY_AFTER, failure.toString()))
        .thenCompose(
            claimResult ->
                switch (claimResult) {
                  case ClaimResult.Granted(var fallbackClaim) ->
                      translateFallbackResult(
                              batch, mode, () -> fallback.keys().append(batch, fallbackClaim, mode))
                          .thenCompose(result -> releaseUnlessAppended(fallbackClaim, result));
                  case ClaimResult.Unavailable(var retryAfter, var reason) ->
                      CompletableFuture.completedStage(unavailableResult(retryAfter, reason, mode));
                  case ClaimResult.Completed(), ClaimResult.InProgress(), ClaimResult.KeyReused() ->
                      CompletableFuture.completedStage(new AppendResult.ClaimLost());
                });
  }

  private CompletionStage<AppendResult> releaseUnlessAppended(
      Claim fallbackClaim, AppendResult result) {
    return result instanceof AppendResult.Unavailable
        ? callSafely(() -> fallback.keys().release(fallbackClaim)).handle((_, _) -> result)
        : CompletableFuture.completedStage(result);
  }

  /** A claim in a spool that is away ends there by itself. */
  @Override
  public CompletionStage<Void> release(Claim claim) {
    boolean inFallback = keyIndex.isInFallback(claim);
    keyIndex.release(claim);
    if (inFallback) {
      return fallback.keys().release(claim);
    }
    return breaker.isClosed()
        ? primary.keys().release(claim)
        : CompletableFuture.completedStage(null);
  }

  /**
   * {@inheritDoc}
   *
   * @throws IllegalStateException at once while the first is in trouble
   */
  @Override
  public Depth depth() {
    breaker.requireClosed();
    var one = primary.backlog().depth();
    var other = fallback.backlog().depth();
    return new Depth(
        one.entries() + other.entries(),
        one.oldestAge().compareTo(other.oldestAge()) > 0 ? one.oldestAge() : other.oldestAge());
  }

  /** Ends its own threads; the two spools stay open. */
  @Override
  public void close() {
    breaker.stop();
    drainer.stop();
  }
}
