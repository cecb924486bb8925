package dev.sluice.testkit;

import static java.util.stream.Collectors.joining;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.DeadLetters;
import dev.sluice.core.port.Deliveries;
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
public final class InMemorySpool implements Spool, Deliveries, Backlog, DeadLetters {
  private record Entry(long id, Instant since, LogBatch batch) {}

  private final InstantSource clock;
  private final long maxRecords;
  private final long maxBytes;
  private final ReentrantLock lock = new ReentrantLock();
  private final java.util.concurrent.locks.Condition appended = lock.newCondition();
  private final Deque<Entry> waiting = new ArrayDeque<>();
  private final List<Entry> aside = new ArrayList<>();
  private final SortedMap<Long, DeadLetter> dead = new TreeMap<>();
  private final long maxDeadLetters;
  private List<Entry> handedOut = List.of();
  private @Nullable Delivery delivery;
  private Appended.@Nullable Busy busy;
  private boolean again;
  private long accepted;
  private long replayed;
  private long deadLettered;
  private long purged;

  /** Without bounds in practice, by the system's clock. */
  public InMemorySpool() {
    this(Long.MAX_VALUE, Long.MAX_VALUE, Long.MAX_VALUE, InstantSource.system());
  }

  /**
   * @param maxRecords log records in one delivery
   * @param maxBytes expanded bytes in one delivery
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
  public CompletionStage<Appended> append(LogBatch batch) {
    lock.lock();
    try {
      if (busy != null) {
        return CompletableFuture.completedStage(busy);
      }
      accepted += batch.records();
      waiting.add(new Entry(accepted, clock.instant(), batch));
      appended.signalAll();
      return CompletableFuture.completedStage(
          new Appended.Accepted(new Receipt(0, Long.toString(accepted))));
    } finally {
      lock.unlock();
    }
  }

  @Override
  public CompletionStage<Fate> fate(Receipt receipt, LogId first, int records) {
    throw new UnsupportedOperationException("not built yet");
  }

  @Override
  public CompletionStage<Spool.Condition> condition() {
    lock.lock();
    try {
      return CompletableFuture.completedStage(
          new Spool.Condition(busy == null ? null : busy.reason(), null, 0, 0));
    } finally {
      lock.unlock();
    }
  }

  @Override
  public SortedMap<LocalDate, Tally> tally(LocalDate from) {
    lock.lock();
    try {
      return new TreeMap<>(
          Map.of(
              LocalDate.EPOCH,
              new Tally(
                  accepted,
                  records(waiting) + records(handedOut) + records(aside),
                  dead.size(),
                  purged)));
    } finally {
      lock.unlock();
    }
  }

  private static long records(Iterable<Entry> entries) {
    long records = 0;
    for (var entry : entries) {
      records += entry.batch().records();
    }
    return records;
  }

  @Override
  public Depth depth() {
    lock.lock();
    try {
      var oldest =
          Stream.of(aside, handedOut, waiting)
              .flatMap(Collection::stream)
              .map(Entry::since)
              .min(Comparator.naturalOrder());
      return new Depth(
          waiting.size() + handedOut.size() + aside.size(),
          oldest.map(since -> Duration.between(since, clock.instant())).orElse(Duration.ZERO));
    } finally {
      lock.unlock();
    }
  }

  @Override
  public Optional<Delivery> next(Duration patience, Duration gather) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      if (!handedOut.isEmpty()) {
        again = true;
        return Optional.of(handOut());
      }
      long nanos = patience.toNanos();
      while (waiting.isEmpty()) {
        if (nanos <= 0) {
          return Optional.empty();
        }
        nanos = appended.awaitNanos(nanos);
      }
      handedOut = take();
      again = false;
      return Optional.of(handOut());
    } finally {
      lock.unlock();
    }
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

  private List<Entry> take() {
    var taken = new ArrayList<Entry>();
    long records = 0;
    long bytes = 0;
    for (var entry = waiting.peek(); entry != null; entry = waiting.peek()) {
      records += entry.batch().records();
      bytes += entry.batch().weight();
      if (!taken.isEmpty() && (records > maxRecords || bytes > maxBytes)) {
        break;
      }
      taken.add(waiting.remove());
    }
    return taken;
  }

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
      delivery = null;
      handedOut = List.of();
      return true;
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
          || log.receivedNanos() != letter.log().receivedNanos()) {
        throw new IllegalArgumentException("dead letter " + id + " is of another log");
      }
      dead.remove(number(id));
      waiting.add(new Entry(--replayed, clock.instant(), log));
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
      if (dead.remove(number(id)) == null) {
        return false;
      }
      purged++;
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
