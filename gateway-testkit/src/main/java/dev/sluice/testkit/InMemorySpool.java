package dev.sluice.testkit;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.Deliveries;
import dev.sluice.core.port.Spool;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.LocalDate;
import java.util.ArrayDeque;
import java.util.ArrayList;
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
import org.jspecify.annotations.Nullable;

/**
 * A spool of one shard that lives as long as this object; its own {@link Deliveries} and {@link
 * Backlog}. What waits is handed out at once, without waiting for more.
 *
 * <p>{@link #refuse} makes it full or out of reach. Safe for use by many threads; everything is
 * guarded by {@code lock}.
 */
public final class InMemorySpool implements Spool, Deliveries, Backlog {
  private record Entry(long id, Instant since, LogBatch batch) {}

  private final InstantSource clock;
  private final long maxRecords;
  private final long maxBytes;
  private final ReentrantLock lock = new ReentrantLock();
  private final java.util.concurrent.locks.Condition appended = lock.newCondition();
  private final Deque<Entry> waiting = new ArrayDeque<>();
  private List<Entry> handedOut = List.of();
  private @Nullable Delivery delivery;
  private Appended.@Nullable Busy busy;
  private long accepted;

  /** Without bounds in practice, by the system's clock. */
  public InMemorySpool() {
    this(Long.MAX_VALUE, Long.MAX_VALUE, InstantSource.system());
  }

  /**
   * @param maxRecords log records in one delivery
   * @param maxBytes expanded bytes in one delivery
   * @param clock tells the age of entries
   */
  public InMemorySpool(long maxRecords, long maxBytes, InstantSource clock) {
    this.maxRecords = maxRecords;
    this.maxBytes = maxBytes;
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
              LocalDate.EPOCH, new Tally(accepted, records(waiting) + records(handedOut), 0, 0)));
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
      var oldest = handedOut.isEmpty() ? waiting.peek() : handedOut.getFirst();
      return new Depth(
          waiting.size() + handedOut.size(),
          oldest == null ? Duration.ZERO : Duration.between(oldest.since(), clock.instant()));
    } finally {
      lock.unlock();
    }
  }

  @Override
  public Optional<Delivery> next(Duration patience, Duration gather) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      if (delivery != null) {
        return Optional.of(delivery);
      }
      long nanos = patience.toNanos();
      while (waiting.isEmpty()) {
        if (nanos <= 0) {
          return Optional.empty();
        }
        nanos = appended.awaitNanos(nanos);
      }
      handedOut = take();
      delivery =
          new Delivery(
              "0:" + handedOut.getFirst().id() + ":" + handedOut.getLast().id(),
              handedOut.stream().map(Entry::batch).toList(),
              false);
      return Optional.of(delivery);
    } finally {
      lock.unlock();
    }
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
    throw new UnsupportedOperationException("not built yet");
  }

  @Override
  public boolean settle(Delivery settled, List<DeadLetter> deadLetters) {
    lock.lock();
    try {
      if (delivery == null || !delivery.token().equals(settled.token())) {
        throw new IllegalArgumentException("delivery " + settled.token() + " is not handed out");
      }
      delivery = null;
      handedOut = List.of();
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** Nothing to do: what is unsettled stays. */
  @Override
  public void close() {}
}
