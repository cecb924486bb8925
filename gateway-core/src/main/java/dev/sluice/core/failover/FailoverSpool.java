package dev.sluice.core.failover;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.AppendResolver;
import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.DailyCounts;
import dev.sluice.core.port.DeliveryStatusReader;
import dev.sluice.core.port.FallbackCounts;
import dev.sluice.core.port.FallbackDuplicateCheck;
import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.Scheduler;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.TimeoutScheduler;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.LocalDate;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A spool of two: appends go to the primary, and to the fallback while the primary is unavailable.
 * A process delivers the records of its fallback itself.
 *
 * <p>No call waits for the primary longer than the primary timeout. After its first failure, or
 * when it reports that it cannot store durably, the primary is not used until two probes in a row
 * have succeeded ({@link CircuitBreaker}); meanwhile all appends go to the fallback immediately.
 *
 * <p>A batch whose append to the primary has no result is appended to the fallback as {@link
 * Spool.AppendMode#POSSIBLE_DUPLICATE}, because it may be in both. If the fallback does not accept
 * it either, the result says that the outcome is unknown. The consumer of the fallback holds such a
 * batch until the primary is available again and has said whether it has the batch ({@link
 * #duplicateCheck}). Then the fallback delivers its copy, or drops it after the primary has
 * delivered the batch.
 *
 * <p>Idempotency keys that were used through this process are recognised in either spool. While the
 * primary is unavailable, keys that were used through another process are unknown, and so is the
 * key of a request that the primary stored after both spools had failed to respond. Keys that were
 * used in the fallback are copied to the primary when it is available again.
 *
 * <p>Safe for use by many threads.
 */
public final class FailoverSpool
    implements Spool, IdempotencyStore, Backlog, DeliveryStatusReader, DailyCounts, AutoCloseable {

  /**
   * One of the two spools with its related ports.
   *
   * @param name the display name in log lines and messages, such as "Redis"
   */
  public record SpoolTarget(
      String name,
      Spool spool,
      IdempotencyStore keys,
      Backlog backlog,
      DeliveryStatusReader deliveryStatuses,
      DailyCounts dailyCounts) {

    /** Returns the target of a spool that has all the ports. */
    public static <
            S extends Spool & IdempotencyStore & Backlog & DeliveryStatusReader & DailyCounts>
        SpoolTarget of(String name, S spool) {
      return new SpoolTarget(name, spool, spool, spool, spool, spool);
    }
  }

  /**
   * Settings of the failover.
   *
   * @param node the name under which the counts of the fallback are published, the same for as long
   *     as the fallback exists
   * @param primaryTimeout maximum duration of an append to the primary before the batch goes to the
   *     fallback, at least 1 ms
   * @param probeInterval interval of the probes of the primary, at least 1 ms
   * @param maxKeys maximum number of idempotency keys in memory, of which 100,000 to recognise
   *     repeated requests; the least recently used ones are evicted
   * @param keyRetention duration for which a key is kept
   */
  public record FailoverSettings(
      String node,
      Duration primaryTimeout,
      Duration probeInterval,
      int maxKeys,
      Duration keyRetention) {
    public FailoverSettings {
      if (primaryTimeout.toMillis() < 1 || probeInterval.toMillis() < 1) {
        throw new IllegalArgumentException(
            "failover has primary-timeout %s and probe-interval %s, each must be at least 1 ms"
                .formatted(primaryTimeout, probeInterval));
      }
    }
  }

  /**
   * The state of the failover, for operators.
   *
   * @param primaryAvailable whether appends go to the primary
   * @param reason the reason why the primary is not used; empty if it is used
   * @param fallbackRecords the number of log records in the fallback
   */
  public record FailoverStatus(boolean primaryAvailable, String reason, long fallbackRecords) {}

  /**
   * Runs appends to the fallback, so that they do not block the threads of the primary's client.
   */
  private static final Executor FALLBACK_EXECUTOR =
      task -> Thread.ofVirtual().name("failover").start(task);

  private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

  private final SpoolTarget primary;
  private final SpoolTarget fallback;
  private final CircuitBreaker breaker;
  private final DuplicateResolver duplicateResolver;
  private final IdempotencyKeyIndex keyIndex;
  private final KeyCopier keyCopier;
  private final FallbackCounts fallbackCounts;
  private final String node;
  private final CountsPublisher countsPublisher;

  /**
   * Creates the spool.
   *
   * @param resolver the resolver of the primary
   * @param fallbackCounts the counts of all fallbacks, in the primary
   */
  public FailoverSpool(
      SpoolTarget primary,
      AppendResolver resolver,
      FallbackCounts fallbackCounts,
      SpoolTarget fallback,
      FailoverSettings settings,
      Scheduler scheduler,
      TimeoutScheduler timeoutScheduler,
      InstantSource clock) {
    this.primary = primary;
    this.fallback = fallback;
    this.breaker = new CircuitBreaker(primary, fallback, settings, scheduler, timeoutScheduler);
    this.duplicateResolver =
        new DuplicateResolver(primary.deliveryStatuses(), resolver, breaker, scheduler);
    this.keyIndex = new IdempotencyKeyIndex(settings.maxKeys(), settings.keyRetention(), clock);
    this.keyCopier = new KeyCopier(resolver, breaker, scheduler, settings.maxKeys());
    this.fallbackCounts = fallbackCounts;
    this.node = settings.node();
    this.countsPublisher =
        new CountsPublisher(
            fallbackCounts,
            node,
            fallback.dailyCounts(),
            breaker,
            scheduler,
            settings.probeInterval());
  }

  /**
   * Starts the probes of the primary, the copy of idempotency keys and the publication of the
   * fallback's counts. Call once.
   */
  public void start() {
    breaker.start(keyCopier::start);
    countsPublisher.start();
    keyCopier.add(fallback.keys().usedKeys());
  }

  /** Returns the check for the one consumer of the fallback; always the same object. */
  public FallbackDuplicateCheck duplicateCheck() {
    return duplicateResolver;
  }

  /** Returns the state of the failover. Blocks until the fallback has returned its status. */
  public FailoverStatus failoverStatus() {
    var reason = breaker.reason();
    return new FailoverStatus(
        reason == null,
        reason == null ? "" : reason,
        fallback.spool().status().toCompletableFuture().join().pendingRecords());
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
                belongsToFallback(result)
                    ? runOnFallbackExecutor(
                        () -> appendToFallback(batch, AppendMode.POSSIBLE_DUPLICATE))
                    : CompletableFuture.completedStage(result));
  }

  /** Whether the primary has no result, or leaves the batch to a fallback. */
  private static boolean belongsToFallback(AppendResult result) {
    return result instanceof AppendResult.Unavailable || result instanceof AppendResult.Refused;
  }

  private CompletionStage<AppendResult> appendToFallback(LogBatch batch, AppendMode mode) {
    return translateFallbackResult(mode, () -> fallback.spool().append(batch, mode));
  }

  /**
   * Runs an append to the fallback and translates its result: a receipt of the fallback has a
   * negative shard. The stage never fails. A batch that the fallback does not accept is not in the
   * fallback; its outcome is unknown only if {@code mode} is {@link
   * Spool.AppendMode#POSSIBLE_DUPLICATE}.
   */
  private CompletionStage<AppendResult> translateFallbackResult(
      AppendMode mode, Supplier<CompletionStage<AppendResult>> step) {
    return callSafely(step)
        .exceptionally(failure -> new AppendResult.Unavailable(RETRY_AFTER, failure.toString()))
        .thenApply(
            result ->
                switch (result) {
                  case AppendResult.Accepted(var receipt) ->
                      new AppendResult.Accepted(
                          new Receipt(-1 - receipt.shard(), receipt.entryId()));
                  case AppendResult.Unavailable(var retryAfter, var reason, _) ->
                      unavailableResult(retryAfter, reason, mode);
                  case AppendResult.ClaimLost(), AppendResult.Refused() -> result;
                });
  }

  private AppendResult unavailableResult(
      Duration retryAfter, String fallbackReason, AppendMode mode) {
    var primaryReason = breaker.reason();
    return new AppendResult.Unavailable(
        retryAfter,
        combinedReason(primaryReason == null ? "available again" : primaryReason, fallbackReason),
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
    } catch (Throwable e) { // such as OutOfMemoryError: callers must get a result
      return CompletableFuture.failedStage(e);
    }
  }

  @Override
  public CompletionStage<DeliveryStatus> statusOf(Receipt receipt) {
    return receipt.shard() >= 0
        ? primary.deliveryStatuses().statusOf(receipt)
        : fallback
            .deliveryStatuses()
            .statusOf(new Receipt(-1 - receipt.shard(), receipt.entryId()));
  }

  /**
   * {@inheritDoc}
   *
   * <p>The counts are the sums of both spools. The spool is unavailable only if both are.
   */
  @Override
  public CompletionStage<SpoolStatus> status() {
    return breaker.status().thenCombine(fallback.spool().status(), this::combine);
  }

  private SpoolStatus combine(SpoolStatus one, SpoolStatus other) {
    long waiting = one.pendingRecords() + other.pendingRecords();
    long delivered = one.deliveredRecords() + other.deliveredRecords();
    var reason = breaker.reason(); // decides where appends go, whatever the primary reports
    if (reason == null || other.unavailableReason() == null) {
      return new SpoolStatus(null, null, waiting, delivered);
    }
    var combined = combinedReason(reason, other.unavailableReason());
    return other.outageReason() != null
        ? new SpoolStatus(combined, null, waiting, delivered)
        : new SpoolStatus(null, combined, waiting, delivered);
  }

  /**
   * {@inheritDoc}
   *
   * <p>Includes what the other processes have published of their fallbacks. A batch that is in both
   * spools is counted twice, as accepted and as in flight, until one of them has delivered it.
   */
  @Override
  public SortedMap<LocalDate, RecordCounts> recordCounts(LocalDate from) {
    var days = new TreeMap<>(fallback.dailyCounts().recordCounts(from));
    primary.dailyCounts().recordCounts(from).forEach((day, n) -> add(days, day, n));
    fallbackCounts.countsOfOtherNodes(node, from).forEach((day, n) -> add(days, day, n));
    return days;
  }

  private static void add(
      SortedMap<LocalDate, RecordCounts> days, LocalDate day, RecordCounts counts) {
    days.merge(day, counts, RecordCounts::plus);
  }

  /**
   * Returns the later date of both spools: before it, the counts of one spool may be incomplete.
   */
  @Override
  public LocalDate countsCompleteSince() {
    var one = primary.dailyCounts().countsCompleteSince();
    var other = fallback.dailyCounts().countsCompleteSince();
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
        fallback.keys().cachedResult(key); // perhaps from before a restart and not copied yet
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
      case ClaimResult.InProgress(),
          ClaimResult.IdempotencyKeyReused(),
          ClaimResult.Unavailable(_, _) ->
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
                case AppendResult.Unavailable _,
                    AppendResult.Refused() -> {} // the caller releases it
              }
              return result;
            });
  }

  private CompletionStage<AppendResult> appendWithClaim(
      LogBatch batch, Claim claim, AppendMode mode) {
    if (keyIndex.isInFallback(claim)) {
      return appendToFallback(batch, claim, mode);
    }
    if (!breaker.isClosed()) {
      return claimFallbackAndAppend(batch, claim, mode);
    }
    return breaker
        .append(() -> primary.keys().append(batch, claim, mode))
        .thenCompose(
            result ->
                belongsToFallback(result)
                    ? runOnFallbackExecutor(
                        () -> claimFallbackAndAppend(batch, claim, AppendMode.POSSIBLE_DUPLICATE))
                    : CompletableFuture.completedStage(result));
  }

  /**
   * Appends the batch to the fallback under a new claim there, because the primary, which granted
   * the original claim, is unavailable.
   */
  private CompletionStage<AppendResult> claimFallbackAndAppend(
      LogBatch batch, Claim granted, AppendMode mode) {
    return callSafely(() -> fallback.keys().claim(granted.key()))
        .exceptionally(failure -> new ClaimResult.Unavailable(RETRY_AFTER, failure.toString()))
        .thenCompose(
            claimResult ->
                switch (claimResult) {
                  case ClaimResult.Granted(var fallbackClaim) ->
                      appendToFallback(batch, fallbackClaim, mode)
                          .thenCompose(result -> releaseUnlessAppended(fallbackClaim, result));
                  case ClaimResult.Unavailable(var retryAfter, var reason) ->
                      CompletableFuture.completedStage(unavailableResult(retryAfter, reason, mode));
                  case ClaimResult.Completed(),
                      ClaimResult.InProgress(),
                      ClaimResult.IdempotencyKeyReused() ->
                      CompletableFuture.completedStage(new AppendResult.ClaimLost());
                });
  }

  private CompletionStage<AppendResult> appendToFallback(
      LogBatch batch, Claim claim, AppendMode mode) {
    return translateFallbackResult(mode, () -> fallback.keys().append(batch, claim, mode))
        .thenApply(
            result -> {
              if (result instanceof AppendResult.Accepted) {
                keyCopier.add(List.of(usedKey(claim.key(), batch)));
              }
              return result;
            });
  }

  private static UsedKey usedKey(IdempotencyKey key, LogBatch batch) {
    return new UsedKey(
        key.digest(), key.requestDigest(), Instant.ofEpochSecond(0, batch.receivedNanos()));
  }

  private CompletionStage<AppendResult> releaseUnlessAppended(
      Claim fallbackClaim, AppendResult result) {
    return result instanceof AppendResult.Unavailable
        ? callSafely(() -> fallback.keys().release(fallbackClaim)).handle((_, _) -> result)
        : CompletableFuture.completedStage(result);
  }

  /** Releases the claim; a claim in an unavailable spool expires by itself. */
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
   * @throws IllegalStateException immediately if the primary is unavailable
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

  /** Stops the probes and the copy of idempotency keys; the two spools stay open. */
  @Override
  public void close() {
    breaker.stop();
    countsPublisher.stop();
    keyCopier.close();
  }
}
