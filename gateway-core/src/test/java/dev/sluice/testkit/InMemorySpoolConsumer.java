package dev.sluice.testkit;

import static java.util.stream.Collectors.joining;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.FallbackDuplicateCheck;
import dev.sluice.core.port.FallbackDuplicateCheck.DuplicateStatus;
import dev.sluice.core.port.SpoolConsumer;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The consumer of an {@link InMemorySpool}, with the entries that are not acked. A poll returns
 * pending entries immediately; it does not linger. The port is thread-safe; the other methods are
 * called with the lock of the spool held.
 */
final class InMemorySpoolConsumer implements SpoolConsumer {
  /**
   * An appended batch.
   *
   * @param id the position in the spool
   * @param appendedAt the time of the append
   * @param batch the batch
   * @param possibleDuplicate whether another spool may have the batch too
   */
  record Entry(long id, Instant appendedAt, LogBatch batch, boolean possibleDuplicate) {}

  private final ReentrantLock lock;
  private final Condition notEmpty;
  private final long maxRecords;
  private final long maxBytes;
  private final Consumer<LogBatch> onDropped;
  private final Deque<Entry> pending = new ArrayDeque<>();

  /** The possible duplicates on which the check has not decided. */
  private final Deque<Entry> doubtful = new ArrayDeque<>();

  private final List<Entry> skipped = new ArrayList<>();
  private @Nullable FallbackDuplicateCheck duplicateCheck;
  private List<Entry> inFlight = List.of();
  private @Nullable Delivery currentDelivery;
  private boolean redelivered;
  private long ackedRecords;

  /**
   * @param onDropped called with each batch that is dropped, because the primary has delivered it
   */
  InMemorySpoolConsumer(
      ReentrantLock lock, long maxRecords, long maxBytes, Consumer<LogBatch> onDropped) {
    this.lock = lock;
    this.notEmpty = lock.newCondition();
    this.maxRecords = maxRecords;
    this.maxBytes = maxBytes;
    this.onDropped = onDropped;
  }

  void add(Entry entry) {
    pending.add(entry);
    notEmpty.signalAll();
  }

  /** Returns the entries in any state before acked. */
  Stream<Entry> unacked() {
    return Stream.of(skipped, inFlight, doubtful, pending).flatMap(Collection::stream);
  }

  long ackedRecords() {
    return ackedRecords;
  }

  void setDuplicateCheck(FallbackDuplicateCheck check) {
    lock.lock();
    try {
      duplicateCheck = check;
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
        onDropped.accept(entry.batch());
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
