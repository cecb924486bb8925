package dev.sluice.testkit;

import static java.util.stream.Collectors.joining;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.DeadLetters;
import dev.sluice.core.port.Deliveries;
import dev.sluice.core.port.IdempotencyKeys;
import dev.sluice.core.port.Returns;
import dev.sluice.core.port.Spool;
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
 * A spool of one shard that lives as long as this object; its own {@link Deliveries}, {@link
 * Backlog} and {@link DeadLetters}. What waits is handed out at once, without waiting for more.
 *
 * <p>{@link #refuse} makes it full or out of reach. Safe for use by many threads; everything is
 * guarded by {@code lock}.
 */
public final class InMemorySpool implements Spool, IdempotencyKeys, Returns, Backlog, DeadLetters {
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

  /** What {@link #nextCertain} has passed over. */
  private final Deque<Entry> passedOver = new ArrayDeque<>();

  private final List<Entry> aside = new ArrayList<>();
  private final SortedMap<Long, DeadLetter> dead = new TreeMap<>();
  private final long maxDeadLetters;
  private List<Entry> handedOut = List.of();
  private @Nullable Delivery delivery;
  private Appended.@Nullable Busy busy;
  private boolean again;

  /** Whether {@link #nextCertain} has handed it out. */
  private boolean certain;

  private long entries;
  private long settledRecords;
  private long replayed;
  private long deadLettered;
  private final Map<UUID, Receipt> receipts = new HashMap<>();
  private final SortedMap<LocalDate, Tally> accepted = new TreeMap<>();
  private final SortedMap<LocalDate, Tally> purged = new TreeMap<>();
  private final Map<TenantKey, Holder> keys = new HashMap<>();
  private final Map<UUID, Key> taken = new HashMap<>();

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
  public void refuse(Appended.@Nullable Busy answer) {
    lock.lock();
    try {
      busy = answer;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public CompletionStage<Appended> append(LogBatch batch, Manner manner) {
    lock.lock();
    try {
      return CompletableFuture.completedStage(busy == null ? accept(batch, manner) : busy);
    } finally {
      lock.unlock();
    }
  }

  private Appended accept(LogBatch batch, Manner manner) {
    var known = receipts.get(batch.appendId());
    if (known != null) {
      return new Appended.Accepted(known);
    }
    entries++;
    waiting.add(new Entry(entries, clock.instant(), batch, manner == Manner.AGAIN));
    accepted.merge(batch.day(), new Tally(batch.records(), 0, 0, 0, 0), Tally::plus);
    var receipt = new Receipt(0, Long.toString(entries));
    receipts.put(batch.appendId(), receipt);
    appended.signalAll();
    return new Appended.Accepted(receipt);
  }

  @Override
  public CompletionStage<Claimed> claim(Key key) {
    lock.lock();
    try {
      if (busy != null) {
        return CompletableFuture.completedStage(new Claimed.Away(busy.retryAfter(), busy.reason()));
      }
      return CompletableFuture.completedStage(claimed(key));
    } finally {
      lock.unlock();
    }
  }

  @Override
  public Optional<Claimed> taken(Key key) {
    lock.lock();
    try {
      var holder = keys.get(nameOf(key));
      if (holder == null || !holder.taken()) {
        return Optional.empty();
      }
      boolean same = holder.request().equals(key.request());
      return Optional.of(same ? new Claimed.Taken() : new Claimed.Another());
    } finally {
      lock.unlock();
    }
  }

  private Claimed claimed(Key key) {
    var holder = keys.get(nameOf(key));
    if (holder != null && (holder.taken() || clock.instant().isBefore(holder.until()))) {
      if (!holder.request().equals(key.request())) {
        return new Claimed.Another();
      }
      return holder.taken() ? new Claimed.Taken() : new Claimed.UnderWay();
    }
    var claim = new Claim(key, UUID.randomUUID());
    keys.put(
        nameOf(key),
        new Holder(claim.owner(), key.request(), clock.instant().plus(CLAIM_ENDS_AFTER), false));
    return new Claimed.Mine(claim);
  }

  private static TenantKey nameOf(Key key) {
    return new TenantKey(key.tenant(), key.key());
  }

  @Override
  public CompletionStage<Appended> append(LogBatch batch, Claim claim, Manner manner) {
    lock.lock();
    try {
      if (busy != null) {
        return CompletableFuture.completedStage(busy);
      }
      var holder = keys.get(nameOf(claim.key()));
      if (!receipts.containsKey(batch.appendId())) {
        if (holder == null || holder.taken() || !holder.owner().equals(claim.owner())) {
          return CompletableFuture.completedStage(new Appended.Superseded());
        }
        keys.put(
            nameOf(claim.key()), new Holder(claim.owner(), holder.request(), holder.until(), true));
        taken.put(batch.appendId(), claim.key());
      }
      return CompletableFuture.completedStage(accept(batch, manner));
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
  public CompletionStage<Fate> fate(Receipt receipt, LogId first, int records) {
    lock.lock();
    try {
      if (!receipts.containsValue(receipt)) {
        return CompletableFuture.completedStage(new Fate.Unknown("never appended here"));
      }
      long entry = Long.parseLong(receipt.entry());
      boolean there = unsettled().anyMatch(e -> e.id() == entry);
      return CompletableFuture.completedStage(
          there ? new Fate.Waiting() : new Fate.Settled(deadLetters(first, records)));
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
  public CompletionStage<Spool.Condition> condition() {
    lock.lock();
    try {
      return CompletableFuture.completedStage(
          new Spool.Condition(
              busy == null ? null : busy.reason(),
              null,
              unsettled().mapToLong(e -> e.batch().records()).sum(),
              settledRecords));
    } finally {
      lock.unlock();
    }
  }

  @Override
  public SortedMap<LocalDate, Tally> tally(LocalDate from) {
    lock.lock();
    try {
      var days = new TreeMap<>(accepted);
      purged.forEach((day, tally) -> days.merge(day, tally, Tally::plus));
      unsettled()
          .forEach(
              e ->
                  days.merge(
                      e.batch().day(), new Tally(0, e.batch().records(), 0, 0, 0), Tally::plus));
      dead.values()
          .forEach(letter -> days.merge(letter.log().day(), new Tally(0, 0, 1, 0, 0), Tally::plus));
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
  public Optional<Delivery> next(Duration patience, Duration gather) throws InterruptedException {
    return next(patience, maxRecords, maxBytes);
  }

  @Override
  public Optional<Delivery> nextToReturn(Bounds bounds) throws InterruptedException {
    return next(Duration.ZERO, bounds.maxRecords(), bounds.maxBytes());
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
  public Optional<Delivery> nextCertain(Duration patience, Duration gather)
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
  public boolean begun() {
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
      bytes += entry.batch().contents().held();
      if (!taken.isEmpty() && (records > mostRecords || bytes > mostBytes)) {
        break;
      }
      taken.add(from.remove());
    }
    return taken;
  }

  @Override
  public boolean keep(Delivery kept) {
    lock.lock();
    try {
      return delivery != null && delivery.token().equals(kept.token());
    } finally {
      lock.unlock();
    }
  }

  @Override
  public int unreadable() {
    lock.lock();
    try {
      return aside.size();
    } finally {
      lock.unlock();
    }
  }

  /** Nothing to do: nothing is gathered. */
  @Override
  public void hurry() {}

  @Override
  public void setAside(UUID appendId, String reason) {
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
  public boolean settle(Delivery settled, List<DeadLetter> deadLetters) {
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
  public void surrender(Delivery surrendered) {
    lock.lock();
    try {
      if (delivery == null || !delivery.token().equals(surrendered.token())) {
        throw new IllegalArgumentException(
            "delivery " + surrendered.token() + " is not handed out");
      }
      handedOut.forEach(
          e ->
              accepted.merge(
                  e.batch().day(), new Tally(-e.batch().records(), 0, 0, 0, 0), Tally::plus));
      delivery = null;
      handedOut = List.of();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public Optional<Key> keyOf(UUID appendId) {
    lock.lock();
    try {
      return Optional.ofNullable(taken.get(appendId));
    } finally {
      lock.unlock();
    }
  }

  @Override
  public List<Kept> list(@Nullable String after, int limit) {
    lock.lock();
    try {
      return dead.tailMap(after == null ? 0 : Long.parseLong(after) + 1).entrySet().stream()
          .limit(limit)
          .map(letter -> new Kept(Long.toString(letter.getKey()), letter.getValue()))
          .toList();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public Optional<Kept> find(String id) {
    lock.lock();
    try {
      return Optional.ofNullable(dead.get(number(id))).map(letter -> new Kept(id, letter));
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
      purged.merge(letter.log().day(), new Tally(0, 0, 0, 1, 0), Tally::plus);
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
  public Room room() {
    lock.lock();
    try {
      return new Room(dead.size(), maxDeadLetters);
    } finally {
      lock.unlock();
    }
  }

  /** Nothing to do: what is unsettled stays. */
  @Override
  public void close() {}
}
