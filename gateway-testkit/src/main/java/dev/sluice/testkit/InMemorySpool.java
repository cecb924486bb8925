package dev.sluice.testkit;

import static java.util.stream.Collectors.joining;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.ReplayId;
import dev.sluice.core.port.AppendResolver;
import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.DuplicateCheck;
import dev.sluice.core.port.DuplicateCheck.DuplicateStatus;
import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.SpoolConsumer;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.LocalDate;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A spool of one shard in memory, which is also its own {@link SpoolConsumer} and {@link Backlog}.
 * A poll returns pending entries immediately; it does not linger.
 *
 * <p>{@link #setUnavailable} makes it full or unreachable. Thread-safe; all state is guarded by
 * {@code lock}.
 */
public final class InMemorySpool
    implements Spool, IdempotencyStore, AppendResolver, SpoolConsumer, Backlog {
  /**
   * An appended batch.
   *
   * @param id the position in the spool
   * @param appendedAt the time of the append
   * @param batch the batch
   * @param possibleDuplicate whether another spool may have the batch too
   */
  private record Entry(long id, Instant appendedAt, LogBatch batch, boolean possibleDuplicate) {}

  /**
   * The state of an idempotency key: its owner, and the expiry of its claim unless it is completed.
   */
  private record ClaimState(UUID owner, UUID request, Instant expiresAt, boolean completed) {}

  private final InstantSource clock;
  private final long maxRecords;
  private final long maxBytes;
  private final ReentrantLock lock = new ReentrantLock();
  private final java.util.concurrent.locks.Condition notEmpty = lock.newCondition();
  private final Deque<Entry> pending = new ArrayDeque<>();

  /** The possible duplicates on which the check has not decided. */
  private final Deque<Entry> doubtful = new ArrayDeque<>();

  private @Nullable DuplicateCheck duplicateCheck;

  private final List<Entry> skipped = new ArrayList<>();
  private List<Entry> inFlight = List.of();
  private @Nullable Delivery currentDelivery;
  private AppendResult.@Nullable Unavailable unavailable;
  private boolean redelivered;

  private long lastEntryId;
  private long ackedRecords;
  private final Map<UUID, Receipt> receipts = new HashMap<>();
  private final SortedMap<LocalDate, RecordCounts> acceptedByDay = new TreeMap<>();
  private final Set<UUID> refused = new HashSet<>();

  /** The states of the idempotency keys by digest, oldest first. */
  private final Map<UUID, ClaimState> keys = new LinkedHashMap<>();

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
    this.maxRecords = maxRecords;
    this.maxBytes = maxBytes;
    this.clock = clock;
  }

  /** Makes all appends return this result; null makes them append again. */
  public void setUnavailable(AppendResult.@Nullable Unavailable result) {
    lock.lock();
    try {
      unavailable = result;
    } finally {
      lock.unlock();
    }
  }

  /** Sets the check of possible duplicates; without it they are delivered like other batches. */
  public void setDuplicateCheck(DuplicateCheck check) {
    lock.lock();
    try {
      duplicateCheck = check;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public CompletionStage<ResolveResult> resolve(UUID appendId) {
    lock.lock();
    try {
      if (unavailable != null) {
        return CompletableFuture.failedStage(new IllegalStateException(unavailable.reason()));
      }
      var receipt = receipts.get(appendId);
      if (receipt != null) {
        return CompletableFuture.completedStage(new ResolveResult.Known(receipt));
      }
      refused.add(appendId);
      return CompletableFuture.completedStage(new ResolveResult.Refused());
    } finally {
      lock.unlock();
    }
  }

  @Override
  public CompletionStage<ClaimResult> completeKey(UsedKey key) {
    lock.lock();
    try {
      if (unavailable != null) {
        return CompletableFuture.completedStage(
            new ClaimResult.Unavailable(unavailable.retryAfter(), unavailable.reason()));
      }
      var state = keys.get(key.digest());
      if (state != null && state.completed() && !state.request().equals(key.requestDigest())) {
        return CompletableFuture.completedStage(new ClaimResult.IdempotencyKeyReused());
      }
      keys.put(
          key.digest(), new ClaimState(UUID.randomUUID(), key.requestDigest(), key.usedAt(), true));
      return CompletableFuture.completedStage(new ClaimResult.Completed());
    } finally {
      lock.unlock();
    }
  }

  @Override
  public List<UsedKey> usedKeys() {
    lock.lock();
    try {
      return keys.entrySet().stream()
          .filter(key -> key.getValue().completed())
          .map(
              key ->
                  new UsedKey(key.getKey(), key.getValue().request(), key.getValue().expiresAt()))
          .toList();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public CompletionStage<AppendResult> append(LogBatch batch, AppendMode appendMode) {
    lock.lock();
    try {
      return CompletableFuture.completedStage(
          unavailable == null ? accept(batch, appendMode) : unavailable);
    } finally {
      lock.unlock();
    }
  }

  private AppendResult accept(LogBatch batch, AppendMode appendMode) {
    var known = receipts.get(batch.appendId());
    if (known != null) {
      return new AppendResult.Accepted(known);
    }
    if (refused.contains(batch.appendId())) {
      return new AppendResult.Unavailable(Duration.ofSeconds(1), "the append id is refused");
    }
    lastEntryId++;
    pending.add(
        new Entry(
            lastEntryId, clock.instant(), batch, appendMode == AppendMode.POSSIBLE_DUPLICATE));
    countAccepted(batch, 1);
    var receipt = new Receipt(0, Long.toString(lastEntryId));
    receipts.put(batch.appendId(), receipt);
    notEmpty.signalAll();
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
  public CompletionStage<ClaimResult> claim(IdempotencyKey key) {
    lock.lock();
    try {
      if (unavailable != null) {
        return CompletableFuture.completedStage(
            new ClaimResult.Unavailable(unavailable.retryAfter(), unavailable.reason()));
      }
      return CompletableFuture.completedStage(claimKey(key));
    } finally {
      lock.unlock();
    }
  }

  @Override
  public Optional<ClaimResult> cachedResult(IdempotencyKey key) {
    lock.lock();
    try {
      var claimState = keys.get(key.digest());
      if (claimState == null || !claimState.completed()) {
        return Optional.empty();
      }
      boolean same = claimState.request().equals(key.requestDigest());
      return Optional.of(
          same ? new ClaimResult.Completed() : new ClaimResult.IdempotencyKeyReused());
    } finally {
      lock.unlock();
    }
  }

  private ClaimResult claimKey(IdempotencyKey key) {
    var claimState = keys.get(key.digest());
    if (claimState != null
        && (claimState.completed() || clock.instant().isBefore(claimState.expiresAt()))) {
      if (!claimState.request().equals(key.requestDigest())) {
        return new ClaimResult.IdempotencyKeyReused();
      }
      return claimState.completed() ? new ClaimResult.Completed() : new ClaimResult.InProgress();
    }
    var claim = new Claim(key, UUID.randomUUID());
    keys.put(
        key.digest(),
        new ClaimState(claim.owner(), key.requestDigest(), clock.instant().plus(CLAIM_TTL), false));
    return new ClaimResult.Granted(claim);
  }

  @Override
  public CompletionStage<AppendResult> append(LogBatch batch, Claim claim, AppendMode appendMode) {
    lock.lock();
    try {
      if (unavailable != null) {
        return CompletableFuture.completedStage(unavailable);
      }
      var claimState = keys.get(claim.key().digest());
      if (!receipts.containsKey(batch.appendId()) && !refused.contains(batch.appendId())) {
        if (claimState == null
            || claimState.completed()
            || !claimState.owner().equals(claim.owner())) {
          return CompletableFuture.completedStage(new AppendResult.ClaimLost());
        }
        keys.put(
            claim.key().digest(),
            new ClaimState(claim.owner(), claimState.request(), claimState.expiresAt(), true));
      }
      return CompletableFuture.completedStage(accept(batch, appendMode));
    } finally {
      lock.unlock();
    }
  }

  @Override
  public CompletionStage<Void> release(Claim claim) {
    lock.lock();
    try {
      var claimState = keys.get(claim.key().digest());
      if (claimState != null
          && !claimState.completed()
          && claimState.owner().equals(claim.owner())) {
        keys.remove(claim.key().digest());
      }
      return CompletableFuture.completedStage(null);
    } finally {
      lock.unlock();
    }
  }

  @Override
  public CompletionStage<DeliveryStatus> statusOf(Receipt receipt) {
    lock.lock();
    try {
      if (!receipts.containsValue(receipt)) {
        return CompletableFuture.completedStage(new DeliveryStatus.Unknown("never appended here"));
      }
      long entry = Long.parseLong(receipt.entryId());
      boolean isPending = unackedEntries().anyMatch(e -> e.id() == entry);
      return CompletableFuture.completedStage(
          isPending ? new DeliveryStatus.Pending() : new DeliveryStatus.Delivered());
    } finally {
      lock.unlock();
    }
  }

  @Override
  public CompletionStage<Spool.SpoolStatus> spoolStatus() {
    lock.lock();
    try {
      return CompletableFuture.completedStage(
          new Spool.SpoolStatus(
              unavailable == null ? null : unavailable.reason(),
              null,
              unackedEntries().mapToLong(e -> e.batch().records()).sum(),
              ackedRecords));
    } finally {
      lock.unlock();
    }
  }

  @Override
  public SortedMap<LocalDate, RecordCounts> recordCounts(LocalDate from) {
    lock.lock();
    try {
      var days = new TreeMap<>(acceptedByDay);
      unackedEntries()
          .forEach(
              e ->
                  days.merge(
                      e.batch().day(),
                      new RecordCounts(0, e.batch().records(), 0),
                      RecordCounts::plus));
      return new TreeMap<>(days.tailMap(from));
    } finally {
      lock.unlock();
    }
  }

  private Stream<Entry> unackedEntries() {
    return Stream.of(skipped, inFlight, doubtful, pending).flatMap(Collection::stream);
  }

  @Override
  public Depth depth() {
    lock.lock();
    try {
      var oldest = unackedEntries().map(Entry::appendedAt).min(Comparator.naturalOrder());
      return new Depth(
          unackedEntries().count(),
          oldest.map(since -> Duration.between(since, clock.instant())).orElse(Duration.ZERO));
    } finally {
      lock.unlock();
    }
  }

  @Override
  public Optional<Delivery> poll(Duration timeout, Duration linger) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      if (!inFlight.isEmpty()) {
        redelivered = true;
        return Optional.of(createDelivery());
      }
      deferDoubtful();
      inFlight = takeDecided();
      redelivered = !inFlight.isEmpty();
      if (inFlight.isEmpty() && awaitEntry(timeout)) {
        deferDoubtful();
        inFlight = take(pending, maxRecords, maxBytes);
        redelivered = inFlight.stream().anyMatch(Entry::possibleDuplicate);
      }
      return inFlight.isEmpty() ? Optional.empty() : Optional.of(createDelivery());
    } finally {
      lock.unlock();
    }
  }

  /** Drops the possible duplicates that are delivered elsewhere, and takes one that is unique. */
  private List<Entry> takeDecided() {
    var check = duplicateCheck;
    if (check == null) {
      return List.of(); // without a check nothing is deferred
    }
    for (var entries = doubtful.iterator(); entries.hasNext(); ) {
      var entry = entries.next();
      var status = check.check(entry.batch().appendId());
      if (status != DuplicateStatus.UNKNOWN) {
        entries.remove();
      }
      if (status == DuplicateStatus.DELIVERED) {
        countAccepted(entry.batch(), -1);
      } else if (status == DuplicateStatus.UNIQUE) {
        return List.of(entry);
      }
    }
    return List.of();
  }

  private boolean awaitEntry(Duration timeout) throws InterruptedException {
    long nanos = timeout.toNanos();
    while (pending.isEmpty()) {
      if (nanos <= 0) {
        return false;
      }
      nanos = notEmpty.awaitNanos(nanos);
    }
    return true;
  }

  private void deferDoubtful() {
    if (duplicateCheck != null) {
      pending.stream().filter(Entry::possibleDuplicate).forEach(doubtful::add);
      pending.removeIf(Entry::possibleDuplicate);
    }
  }

  private Delivery createDelivery() {
    var created =
        new Delivery(
            "0:" + inFlight.stream().map(entry -> Long.toString(entry.id())).collect(joining(":")),
            inFlight.stream().map(Entry::batch).toList(),
            redelivered);
    currentDelivery = created;
    return created;
  }

  private static List<Entry> take(Deque<Entry> from, long recordLimit, long byteLimit) {
    var entries = new ArrayList<Entry>();
    long records = 0;
    long bytes = 0;
    for (var entry = from.peek(); entry != null; entry = from.peek()) {
      records += entry.batch().records();
      bytes += entry.batch().payload().retainedBytes();
      if (!entries.isEmpty() && (records > recordLimit || bytes > byteLimit)) {
        break;
      }
      entries.add(from.remove());
    }
    return entries;
  }

  @Override
  public boolean renewLease(Delivery delivery) {
    lock.lock();
    try {
      return currentDelivery != null && currentDelivery.token().equals(delivery.token());
    } finally {
      lock.unlock();
    }
  }

  @Override
  public int skippedEntries() {
    lock.lock();
    try {
      return skipped.size();
    } finally {
      lock.unlock();
    }
  }

  /** Does nothing, because entries are never accumulated. */
  @Override
  public void flush() {}

  @Override
  public void skip(UUID appendId, String reason) {
    lock.lock();
    try {
      var bad = inFlight.stream().filter(e -> e.batch().appendId().equals(appendId)).toList();
      if (currentDelivery == null || bad.isEmpty()) {
        throw new IllegalArgumentException("batch " + appendId + " is not in flight");
      }
      skipped.addAll(bad);
      inFlight = inFlight.stream().filter(entry -> !bad.contains(entry)).toList();
      currentDelivery = null;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void ack(Delivery delivery) {
    lock.lock();
    try {
      if (currentDelivery == null || !currentDelivery.token().equals(delivery.token())) {
        throw new IllegalArgumentException("delivery " + delivery.token() + " is not in flight");
      }
      ackedRecords += delivery.records();
      currentDelivery = null;
      inFlight = List.of();
    } finally {
      lock.unlock();
    }
  }

  /** Does nothing; unacked entries remain. */
  @Override
  public void close() {}
}
