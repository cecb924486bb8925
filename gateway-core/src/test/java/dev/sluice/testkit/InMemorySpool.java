package dev.sluice.testkit;

import static java.util.concurrent.CompletableFuture.completedStage;
import static java.util.concurrent.CompletableFuture.failedStage;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.ReplayId;
import dev.sluice.core.port.AppendResolver;
import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.DailyCounts;
import dev.sluice.core.port.DeliveryStatusReader;
import dev.sluice.core.port.FallbackCounts;
import dev.sluice.core.port.FallbackDuplicateCheck;
import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.SpoolConsumer;
import dev.sluice.testkit.InMemorySpoolConsumer.Entry;
import java.time.Duration;
import java.time.InstantSource;
import java.time.LocalDate;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A spool of one shard in memory, with all capabilities. It has one {@link #consumer}, which keeps
 * the entries; {@link InMemoryKeyTable} keeps the idempotency keys.
 *
 * <p>{@link #setUnavailable} makes it full or unreachable. Thread-safe; all state, also that of the
 * consumer and of the keys, is guarded by {@code lock}.
 */
public final class InMemorySpool
    implements Spool,
        IdempotencyStore,
        DeliveryStatusReader,
        DailyCounts,
        Backlog,
        AppendResolver,
        FallbackCounts {
  private final InstantSource clock;
  private final ReentrantLock lock = new ReentrantLock();
  private final InMemorySpoolConsumer consumer;
  private final InMemoryKeyTable keys;
  private AppendResult.@Nullable Unavailable unavailable;
  private long lastEntryId;
  private final Map<UUID, Receipt> receipts = new HashMap<>();
  private final SortedMap<LocalDate, RecordCounts> acceptedByDay = new TreeMap<>();
  private final Set<UUID> refused = new HashSet<>();
  private final Map<String, SortedMap<LocalDate, RecordCounts>> fallbackCounts = new HashMap<>();

  /** Creates a spool without limits, with the system clock. */
  public InMemorySpool() {
    this(Long.MAX_VALUE, Long.MAX_VALUE, InstantSource.system());
  }

  /**
   * Creates a spool.
   *
   * @param maxRecords the maximum number of log records in one delivery
   * @param maxBytes the maximum number of bytes in one delivery, as they are held in memory
   * @param clock the clock for the age of entries
   */
  public InMemorySpool(long maxRecords, long maxBytes, InstantSource clock) {
    this.clock = clock;
    this.keys = new InMemoryKeyTable(clock);
    this.consumer =
        new InMemorySpoolConsumer(
            lock, maxRecords, maxBytes, dropped -> countAccepted(dropped, -1));
  }

  /** Returns the consumer, always the same object. */
  public SpoolConsumer consumer() {
    return consumer;
  }

  /** Makes all appends return this result; null makes them append again. */
  public void setUnavailable(AppendResult.@Nullable Unavailable result) {
    locked(() -> unavailable = result);
  }

  /** Sets the check of possible duplicates; without it they are delivered like other batches. */
  public void setDuplicateCheck(FallbackDuplicateCheck check) {
    consumer.setDuplicateCheck(check);
  }

  private <T extends @Nullable Object> T locked(Supplier<T> step) {
    lock.lock();
    try {
      return step.get();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public CompletionStage<AppendResult> append(LogBatch batch, AppendMode appendMode) {
    return locked(
        () -> completedStage(unavailable == null ? accept(batch, appendMode) : unavailable));
  }

  private AppendResult accept(LogBatch batch, AppendMode appendMode) {
    var known = receipts.get(batch.appendId());
    if (known != null) {
      return new AppendResult.Accepted(known);
    }
    if (refused.contains(batch.appendId())) {
      return new AppendResult.Refused();
    }
    lastEntryId++;
    consumer.add(
        new Entry(
            lastEntryId, clock.instant(), batch, appendMode == AppendMode.POSSIBLE_DUPLICATE));
    countAccepted(batch, 1);
    var receipt = new Receipt(0, Long.toString(lastEntryId));
    receipts.put(batch.appendId(), receipt);
    return new AppendResult.Accepted(receipt);
  }

  /** Adds the records of a batch to the accepted records, unless it is a replay. */
  private void countAccepted(LogBatch batch, int sign) {
    if (!ReplayId.isReplay(batch.appendId())) {
      acceptedByDay.merge(
          batch.day(), new RecordCounts((long) sign * batch.records(), 0, 0), RecordCounts::plus);
    }
  }

  @Override
  public CompletionStage<SpoolStatus> status() {
    return locked(
        () ->
            completedStage(
                new SpoolStatus(
                    unavailable == null ? null : unavailable.reason(),
                    null,
                    consumer.unacked().mapToLong(e -> e.batch().records()).sum(),
                    consumer.ackedRecords())));
  }

  @Override
  public CompletionStage<DeliveryStatus> statusOf(Receipt receipt) {
    return locked(
        () -> {
          if (!receipts.containsValue(receipt)) {
            return completedStage(new DeliveryStatus.Unknown("never appended here"));
          }
          long entry = Long.parseLong(receipt.entryId());
          boolean isPending = consumer.unacked().anyMatch(e -> e.id() == entry);
          return completedStage(
              isPending ? new DeliveryStatus.Pending() : new DeliveryStatus.Delivered());
        });
  }

  @Override
  public SortedMap<LocalDate, RecordCounts> recordCounts(LocalDate from) {
    return locked(
        () -> {
          var days = new TreeMap<>(acceptedByDay);
          consumer
              .unacked()
              .map(Entry::batch)
              .forEach(
                  batch ->
                      days.merge(
                          batch.day(),
                          new RecordCounts(0, batch.records(), 0),
                          RecordCounts::plus));
          return new TreeMap<>(days.tailMap(from));
        });
  }

  @Override
  public CompletionStage<Void> publish(String node, SortedMap<LocalDate, RecordCounts> counts) {
    return locked(
        () -> {
          if (unavailable != null) {
            return failedStage(new IllegalStateException(unavailable.reason()));
          }
          fallbackCounts.put(node, new TreeMap<>(counts));
          return completedStage(null);
        });
  }

  @Override
  public SortedMap<LocalDate, RecordCounts> countsOfOtherNodes(String node, LocalDate from) {
    return locked(
        () -> {
          var days = new TreeMap<LocalDate, RecordCounts>();
          fallbackCounts.forEach(
              (other, counts) -> {
                if (!other.equals(node)) {
                  counts.tailMap(from).forEach((day, n) -> days.merge(day, n, RecordCounts::plus));
                }
              });
          return days;
        });
  }

  @Override
  public Depth depth() {
    return locked(
        () -> {
          var oldest = consumer.unacked().map(Entry::appendedAt).min(Comparator.naturalOrder());
          return new Depth(
              consumer.unacked().count(),
              oldest.map(since -> Duration.between(since, clock.instant())).orElse(Duration.ZERO));
        });
  }

  @Override
  public CompletionStage<ClaimResult> claim(IdempotencyKey key) {
    return locked(() -> unlessUnavailable(() -> keys.claim(key)));
  }

  @Override
  public Optional<ClaimResult> cachedResult(IdempotencyKey key) {
    return locked(() -> keys.completedResult(key));
  }

  @Override
  public List<UsedKey> usedKeys() {
    return locked(keys::usedKeys);
  }

  @Override
  public CompletionStage<AppendResult> append(LogBatch batch, Claim claim, AppendMode appendMode) {
    return locked(
        () -> {
          if (unavailable != null) {
            return completedStage(unavailable);
          }
          boolean isNew =
              !receipts.containsKey(batch.appendId()) && !refused.contains(batch.appendId());
          return completedStage(
              isNew && !keys.complete(claim)
                  ? new AppendResult.ClaimLost()
                  : accept(batch, appendMode));
        });
  }

  @Override
  public CompletionStage<Void> release(Claim claim) {
    return locked(
        () -> {
          keys.release(claim);
          return completedStage(null);
        });
  }

  @Override
  public CompletionStage<ResolveResult> resolve(UUID appendId) {
    return locked(
        () -> {
          if (unavailable != null) {
            return failedStage(new IllegalStateException(unavailable.reason()));
          }
          var receipt = receipts.get(appendId);
          if (receipt != null) {
            return completedStage(new ResolveResult.Known(receipt));
          }
          refused.add(appendId);
          return completedStage(new ResolveResult.Refused());
        });
  }

  @Override
  public CompletionStage<ClaimResult> completeKey(UsedKey key) {
    return locked(() -> unlessUnavailable(() -> keys.complete(key)));
  }

  private CompletionStage<ClaimResult> unlessUnavailable(Supplier<ClaimResult> step) {
    return completedStage(
        unavailable == null
            ? step.get()
            : new ClaimResult.Unavailable(unavailable.retryAfter(), unavailable.reason()));
  }
}
