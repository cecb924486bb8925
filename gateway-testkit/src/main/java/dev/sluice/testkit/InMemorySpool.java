package dev.sluice.testkit;

import static java.util.stream.Collectors.joining;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.DeadLetterQueue;
import dev.sluice.core.port.FallbackSpoolConsumer;
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
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A spool of one shard that lives as long as this object; its own {@link SpoolConsumer}, {@link
 * Backlog} and {@link DeadLetterQueue}. What waits is handed out at once, without waiting for more.
 *
 * <p>{@link #refuse} makes it full or out of reach. Safe for use by many threads; everything is
 * guarded by {@code lock}.
 */
public final class InMemorySpool
    implements Spool, IdempotencyStore, FallbackSpoolConsumer, Backlog, DeadLetterQueue {
  /**
   * @param doubtful whether it may be somewhere else too
   */
  private record Entry(long id, Instant since, LogBatch batch, boolean doubtful) {}

  /** Of a tenant; the name of what is remembered. */
  private record TenantKey(String tenant, String key) {}

  /** Whose a key is, until when unless taken for good. */
  private record Holder(UUID owner, UUID request, Instant until, boolean taken) {}

  private final InstantSource clock;
  private final long maxRecords;
  private final long maxBytes;
  private final ReentrantLock lock = new ReentrantLock();
  private final java.util.concurrent.locks.Condition appended = lock.newCondition();
  private final Deque<Entry> waiting = new ArrayDeque<>();

  /** What {@link #pollConfirmed} has passed over. */
  private final Deque<Entry> passedOver = new ArrayDeque<>();

  private final List<Entry> aside = new ArrayList<>();
  private final SortedMap<Long, DeadLetter> dead = new TreeMap<>();
  private final long maxDeadLetters;
  private List<Entry> handedOut = List.of();
  private @Nullable Delivery delivery;
  private AppendResult.@Nullable Unavailable busy;
  private boolean again;

  /** Whether {@link #pollConfirmed} has handed it out. */
  private boolean certain;

  private long entries;
  private long settledRecords;
  private long replayed;
  private long deadLettered;
  private final Map<UUID, Receipt> receipts = new HashMap<>();
  private final SortedMap<LocalDate, RecordCounts> accepted = new TreeMap<>();
  private final SortedMap<LocalDate, RecordCounts> purged = new TreeMap<>();
  private final Map<TenantKey, Holder> keys = new HashMap<>();
  private final Map<UUID, IdempotencyKey> taken = new HashMap<>();

  /** Without bounds in practice, by the system's clock. */
  public InMemorySpool() {
    this(Long.MAX_VALUE, Long.MAX_VALUE, Long.MAX_VALUE, InstantSource.system());
  }

  /**
   * @param maxRecords log records in one delivery
   * @param maxBytes bytes in one delivery, as they are held
   * @param maxDeadLetters that are kept
   * @param clock tells the age of entries
   */
  public InMemorySpool(long maxRecords, long maxBytes, long maxDeadLetters, InstantSource clock) {
    this.maxRecords = maxRecords;
    this.maxBytes = maxBytes;
    this.maxDeadLetters = maxDeadLetters;
    this.clock = clock;
  }

  /** From now on every append is answered like this; null to take them again. */
  public void refuse(AppendResult.@Nullable Unavailable answer) {
    lock.lock();
    try {
      busy = answer;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public CompletionStage<AppendResult> append(LogBatch batch, AppendMode appendMode) {
    lock.lock();
    try {
      return CompletableFuture.completedStage(busy == null ? accept(batch, appendMode) : busy);
    } finally {
      lock.unlock();
    }
  }

  private AppendResult accept(LogBatch batch, AppendMode appendMode) {
    var known = receipts.get(batch.appendId());
    if (known != null) {
      return new AppendResult.Accepted(known);
    }
    entries++;
    waiting.add(
        new Entry(entries, clock.instant(), batch, appendMode == AppendMode.POSSIBLE_DUPLICATE));
    accepted.merge(batch.day(), new RecordCounts(batch.records(), 0, 0, 0, 0), RecordCounts::plus);
    var receipt = new Receipt(0, Long.toString(entries));
    receipts.put(batch.appendId(), receipt);
    appended.signalAll();
    return new AppendResult.Accepted(receipt);
  }

  @Override
  public CompletionStage<ClaimResult> claim(IdempotencyKey key) {
    lock.lock();
    try {
      if (busy != null) {
        return CompletableFuture.completedStage(
            new ClaimResult.Unavailable(busy.retryAfter(), busy.reason()));
      }
      return CompletableFuture.completedStage(claimed(key));
    } finally {
      lock.unlock();
    }
  }

  @Override
  public Optional<ClaimResult> cachedResult(IdempotencyKey key) {
    lock.lock();
    try {
      var holder = keys.get(nameOf(key));
      if (holder == null || !holder.taken()) {
        return Optional.empty();
      }
      boolean same = holder.request().equals(key.requestDigest());
      return Optional.of(same ? new ClaimResult.Completed() : new ClaimResult.KeyReused());
    } finally {
      lock.unlock();
    }
  }

  private ClaimResult claimed(IdempotencyKey key) {
    var holder = keys.get(nameOf(key));
    if (holder != null && (holder.taken() || clock.instant().isBefore(holder.until()))) {
      if (!holder.request().equals(key.requestDigest())) {
        return new ClaimResult.KeyReused();
      }
      return holder.taken() ? new ClaimResult.Completed() : new ClaimResult.InProgress();
    }
    var claim = new Claim(key, UUID.randomUUID());
    keys.put(
        nameOf(key),
        new Holder(claim.owner(), key.requestDigest(), clock.instant().plus(CLAIM_TTL), false));
    return new ClaimResult.Granted(claim);
  }

  private static TenantKey nameOf(IdempotencyKey key) {
    return new TenantKey(key.tenant(), key.key());
  }

  @Override
  public CompletionStage<AppendResult> append(LogBatch batch, Claim claim, AppendMode appendMode) {
    lock.lock();
    try {
      if (busy != null) {
        return CompletableFuture.completedStage(busy);
      }
      var holder = keys.get(nameOf(claim.key()));
      if (!receipts.containsKey(batch.appendId())) {
        if (holder == null || holder.taken() || !holder.owner().equals(claim.owner())) {
          return CompletableFuture.completedStage(new AppendResult.ClaimLost());
        }
        keys.put(
            nameOf(claim.key()), new Holder(claim.owner(), holder.request(), holder.until(), true));
        taken.put(batch.appendId(), claim.key());
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
      var holder = keys.get(nameOf(claim.key()));
      if (holder != null && !holder.taken() && holder.owner().equals(claim.owner())) {
        keys.remove(nameOf(claim.key()));
      }
      return CompletableFuture.completedStage(null);
    } finally {
      lock.unlock();
    }
  }

  @Override
  public CompletionStage<DeliveryStatus> statusOf(Receipt receipt, LogId first, int records) {
    lock.lock();
    try {
      if (!receipts.containsValue(receipt)) {
        return CompletableFuture.completedStage(new DeliveryStatus.Unknown("never appended here"));
      }
      long entry = Long.parseLong(receipt.entryId());
      boolean there = unsettled().anyMatch(e -> e.id() == entry);
      return CompletableFuture.completedStage(
          there
              ? new DeliveryStatus.Pending()
              : new DeliveryStatus.Delivered(deadLetters(first, records)));
    } finally {
      lock.unlock();
    }
  }

  private int deadLetters(LogId first, int records) {
    var end = first.plus(records);
    return (int)
        dead.values().stream()
            .map(letter -> letter.log().firstId())
            .filter(id -> id.compareTo(first) >= 0 && id.compareTo(end) < 0)
            .count();
  }

  @Override
  public CompletionStage<Spool.SpoolStatus> spoolStatus() {
    lock.lock();
    try {
      return CompletableFuture.completedStage(
          new Spool.SpoolStatus(
              busy == null ? null : busy.reason(),
              null,
              unsettled().mapToLong(e -> e.batch().records()).sum(),
              settledRecords));
    } finally {
      lock.unlock();
    }
  }

  @Override
  public SortedMap<LocalDate, RecordCounts> recordCounts(LocalDate from) {
    lock.lock();
    try {
      var days = new TreeMap<>(accepted);
      purged.forEach((day, recordCounts) -> days.merge(day, recordCounts, RecordCounts::plus));
      unsettled()
          .forEach(
              e ->
                  days.merge(
                      e.batch().day(),
                      new RecordCounts(0, e.batch().records(), 0, 0, 0),
                      RecordCounts::plus));
      dead.values()
          .forEach(
              letter ->
                  days.merge(
                      letter.log().day(), new RecordCounts(0, 0, 1, 0, 0), RecordCounts::plus));
      return new TreeMap<>(days.tailMap(from));
    } finally {
      lock.unlock();
    }
  }

  private Stream<Entry> unsettled() {
    return Stream.of(aside, handedOut, passedOver, waiting).flatMap(Collection::stream);
  }

  @Override
  public Depth depth() {
    lock.lock();
    try {
      var oldest = unsettled().map(Entry::since).min(Comparator.naturalOrder());
      return new Depth(
          unsettled().count(),
          oldest.map(since -> Duration.between(since, clock.instant())).orElse(Duration.ZERO));
    } finally {
      lock.unlock();
    }
  }

  @Override
  public Optional<Delivery> poll(Duration patience, Duration gather) throws InterruptedException {
    return next(patience, maxRecords, maxBytes);
  }

  @Override
  public Optional<Delivery> pollForDrain(DeliveryLimits deliveryLimits)
      throws InterruptedException {
    return next(Duration.ZERO, deliveryLimits.maxRecords(), deliveryLimits.maxBytes());
  }

  private Optional<Delivery> next(Duration patience, long mostRecords, long mostBytes)
      throws InterruptedException {
    lock.lockInterruptibly();
    try {
      certain = false;
      if (!handedOut.isEmpty()) {
        again = true;
        return Optional.of(handOut());
      }
      boolean before = !passedOver.isEmpty();
      if (!before && !awaitEntry(patience)) {
        return Optional.empty();
      }
      handedOut = take(before ? passedOver : waiting, mostRecords, mostBytes);
      again = before || handedOut.stream().anyMatch(Entry::doubtful);
      return Optional.of(handOut());
    } finally {
      lock.unlock();
    }
  }

  @Override
  public Optional<Delivery> pollConfirmed(Duration patience, Duration gather)
      throws InterruptedException {
    lock.lockInterruptibly();
    try {
      again = certain && !handedOut.isEmpty();
      if (again) {
        return Optional.of(handOut());
      }
      passedOver.addAll(handedOut);
      handedOut = List.of();
      delivery = null;
      passOver();
      if (!awaitEntry(patience)) {
        return Optional.empty();
      }
      passOver();
      handedOut = take(waiting, maxRecords, maxBytes);
      certain = true;
      return handedOut.isEmpty() ? Optional.empty() : Optional.of(handOut());
    } finally {
      lock.unlock();
    }
  }

  @Override
  public boolean hasInFlight() {
    lock.lock();
    try {
      return certain && !handedOut.isEmpty();
    } finally {
      lock.unlock();
    }
  }

  private boolean awaitEntry(Duration patience) throws InterruptedException {
    long nanos = patience.toNanos();
    while (waiting.isEmpty()) {
      if (nanos <= 0) {
        return false;
      }
      nanos = appended.awaitNanos(nanos);
    }
    return true;
  }

  private void passOver() {
    waiting.stream().filter(Entry::doubtful).forEach(passedOver::add);
    waiting.removeIf(Entry::doubtful);
  }

  private Delivery handOut() {
    var made =
        new Delivery(
            "0:" + handedOut.stream().map(entry -> Long.toString(entry.id())).collect(joining(":")),
            handedOut.stream().map(Entry::batch).toList(),
            again);
    delivery = made;
    return made;
  }

  private static List<Entry> take(Deque<Entry> from, long mostRecords, long mostBytes) {
    var taken = new ArrayList<Entry>();
    long records = 0;
    long bytes = 0;
    for (var entry = from.peek(); entry != null; entry = from.peek()) {
      records += entry.batch().records();
      bytes += entry.batch().payload().retainedBytes();
      if (!taken.isEmpty() && (records > mostRecords || bytes > mostBytes)) {
        break;
      }
      taken.add(from.remove());
    }
    return taken;
  }

  @Override
  public boolean renewLease(Delivery kept) {
    lock.lock();
    try {
      return delivery != null && delivery.token().equals(kept.token());
    } finally {
      lock.unlock();
    }
  }

  @Override
  public int skippedEntries() {
    lock.lock();
    try {
      return aside.size();
    } finally {
      lock.unlock();
    }
  }

  /** Nothing to do: nothing is gathered. */
  @Override
  public void flush() {}

  @Override
  public void skip(UUID appendId, String reason) {
    lock.lock();
    try {
      var bad = handedOut.stream().filter(e -> e.batch().appendId().equals(appendId)).toList();
      if (delivery == null || bad.isEmpty()) {
        throw new IllegalArgumentException("batch " + appendId + " is not handed out");
      }
      aside.addAll(bad);
      handedOut = handedOut.stream().filter(entry -> !bad.contains(entry)).toList();
      delivery = null;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public boolean ack(Delivery settled, List<DeadLetter> deadLetters) {
    lock.lock();
    try {
      if (delivery == null || !delivery.token().equals(settled.token())) {
        throw new IllegalArgumentException("delivery " + settled.token() + " is not handed out");
      }
      if (!deadLetters.isEmpty() && dead.size() + deadLetters.size() > maxDeadLetters) {
        return false;
      }
      deadLetters.forEach(letter -> dead.put(++deadLettered, letter));
      settledRecords += settled.records();
      delivery = null;
      handedOut = List.of();
      return true;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void ackDrained(Delivery surrendered) {
    lock.lock();
    try {
      if (delivery == null || !delivery.token().equals(surrendered.token())) {
        throw new IllegalArgumentException(
            "delivery " + surrendered.token() + " is not handed out");
      }
      handedOut.forEach(
          e ->
              accepted.merge(
                  e.batch().day(),
                  new RecordCounts(-e.batch().records(), 0, 0, 0, 0),
                  RecordCounts::plus));
      delivery = null;
      handedOut = List.of();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public Optional<IdempotencyKey> idempotencyKeyOf(UUID appendId) {
    lock.lock();
    try {
      return Optional.ofNullable(taken.get(appendId));
    } finally {
      lock.unlock();
    }
  }

  @Override
  public List<DeadLetterItem> list(@Nullable String after, int limit) {
    lock.lock();
    try {
      return dead.tailMap(after == null ? 0 : Long.parseLong(after) + 1).entrySet().stream()
          .limit(limit)
          .map(letter -> new DeadLetterItem(Long.toString(letter.getKey()), letter.getValue()))
          .toList();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public Optional<DeadLetterItem> find(String id) {
    lock.lock();
    try {
      return Optional.ofNullable(dead.get(number(id)))
          .map(letter -> new DeadLetterItem(id, letter));
    } finally {
      lock.unlock();
    }
  }

  @Override
  public boolean replay(String id, LogBatch log) {
    lock.lock();
    try {
      var letter = dead.get(number(id));
      if (letter == null) {
        return false;
      }
      if (log.records() != 1
          || !log.firstId().equals(letter.log().firstId())
          || !log.day().equals(letter.log().day())) {
        throw new IllegalArgumentException("dead letter " + id + " is of another log");
      }
      dead.remove(number(id));
      waiting.add(new Entry(--replayed, clock.instant(), log, false));
      appended.signalAll();
      return true;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public boolean purge(String id) {
    lock.lock();
    try {
      var letter = dead.remove(number(id));
      if (letter == null) {
        return false;
      }
      purged.merge(letter.log().day(), new RecordCounts(0, 0, 0, 1, 0), RecordCounts::plus);
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** No letter has the number zero. */
  private static long number(String id) {
    return id.matches("[0-9]{1,18}") ? Long.parseLong(id) : 0;
  }

  @Override
  public Capacity capacity() {
    lock.lock();
    try {
      return new Capacity(dead.size(), maxDeadLetters);
    } finally {
      lock.unlock();
    }
  }

  /** Nothing to do: what is unsettled stays. */
  @Override
  public void close() {}
}
