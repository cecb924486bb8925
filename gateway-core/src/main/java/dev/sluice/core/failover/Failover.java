package dev.sluice.core.failover;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.DeadLetters;
import dev.sluice.core.port.Deliveries;
import dev.sluice.core.port.IdempotencyKeys;
import dev.sluice.core.port.Returns;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Timer;
import java.time.Duration;
import java.time.InstantSource;
import java.time.LocalDate;
import java.util.SortedMap;
import java.util.concurrent.CompletionStage;

/**
 * Two spools that are one: the second takes what the first cannot, and gives it back when the first
 * is well again.
 *
 * <p>Safe for use by many threads.
 */
public final class Failover implements Spool, IdempotencyKeys, Backlog, AutoCloseable {

  /** One of the two. */
  public record Side(Spool spool, IdempotencyKeys keys, Backlog backlog, DeadLetters deadLetters) {}

  /**
   * @param patience how long the first may take with an append before the second takes it
   * @param probe how often the first is asked whether it is well again
   * @param delivers whether a worker of this process delivers what the second has while the first
   *     is away
   */
  public record Settings(Duration patience, Duration probe, boolean delivers) {}

  /** How it is, for those who look after it. */
  public record Status(boolean firstTakesLogs, String reason, long waitingInSecond) {}

  /**
   * @param returns the second's other end; this alone uses it from now on
   */
  public Failover(
      Side first,
      Side second,
      Returns returns,
      Settings settings,
      Timer timer,
      InstantSource clock) {}

  /** Begins to watch the first, and to give back. */
  public void start() {
    throw new UnsupportedOperationException();
  }

  /** What the second has, handed out while the first is away, for one delivery worker. */
  public Deliveries deliveries() {
    throw new UnsupportedOperationException();
  }

  /** Of both. */
  public DeadLetters deadLetters() {
    throw new UnsupportedOperationException();
  }

  public Status status() {
    throw new UnsupportedOperationException();
  }

  /** Gives back what can be given back within that time, then no more; before the end. */
  public void drain(Duration patience) {
    throw new UnsupportedOperationException();
  }

  @Override
  public CompletionStage<Appended> append(LogBatch batch, Manner manner) {
    throw new UnsupportedOperationException();
  }

  @Override
  public CompletionStage<Fate> fate(Receipt receipt, LogId first, int records) {
    throw new UnsupportedOperationException();
  }

  @Override
  public CompletionStage<Condition> condition() {
    throw new UnsupportedOperationException();
  }

  @Override
  public SortedMap<LocalDate, Tally> tally(LocalDate from) {
    throw new UnsupportedOperationException();
  }

  @Override
  public CompletionStage<Claimed> claim(Key key) {
    throw new UnsupportedOperationException();
  }

  @Override
  public CompletionStage<Appended> append(LogBatch batch, Claim claim) {
    throw new UnsupportedOperationException();
  }

  @Override
  public CompletionStage<Void> release(Claim claim) {
    throw new UnsupportedOperationException();
  }

  @Override
  public Depth depth() {
    throw new UnsupportedOperationException();
  }

  /** Ends its own threads; the two spools stay open. */
  @Override
  public void close() {
    throw new UnsupportedOperationException();
  }
}
