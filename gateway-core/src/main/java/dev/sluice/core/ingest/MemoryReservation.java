package dev.sluice.core.ingest;

/**
 * The memory that one request reserves of the {@link MemoryBudget}. It has several owners and is
 * released when the last one closes it: after the response, and after the append of the logs. A
 * disconnect or an error response does not release the memory that the logs still occupy.
 *
 * <p>Safe for use by many threads: a client may disconnect while its request is processed.
 */
public final class MemoryReservation implements AutoCloseable {
  private final MemoryBudget budget;
  private long heldBytes;
  private int owners = 1;

  /**
   * @param heldBytes the bytes that the caller has already reserved of the budget
   */
  public MemoryReservation(MemoryBudget budget, long heldBytes) {
    this.budget = budget;
    this.heldBytes = heldBytes;
  }

  /**
   * Reserves more memory.
   *
   * @throws MemoryBudgetExceededException when all requests together exceed the budget, or the
   *     request has ended
   */
  public synchronized void add(long bytes) {
    if (owners == 0 || !budget.reserve(bytes)) {
      throw new MemoryBudgetExceededException();
    }
    heldBytes += bytes;
  }

  /** Releases a part of the memory early. */
  public synchronized void remove(long bytes) {
    if (owners > 0) {
      heldBytes -= bytes;
      budget.release(bytes);
    }
  }

  /** Reserves or releases memory until this reservation has the given size. */
  public synchronized void resize(long bytes) {
    if (bytes >= heldBytes) {
      add(bytes - heldBytes);
    } else {
      remove(heldBytes - bytes);
    }
  }

  /**
   * Adds an owner, which must close the reservation, too.
   *
   * @throws MemoryBudgetExceededException when the request has ended
   */
  public synchronized MemoryReservation retain() {
    if (owners == 0) {
      throw new MemoryBudgetExceededException();
    }
    owners++;
    return this;
  }

  @Override
  public synchronized void close() {
    if (--owners == 0) {
      budget.release(heldBytes);
      heldBytes = 0;
    }
  }
}
