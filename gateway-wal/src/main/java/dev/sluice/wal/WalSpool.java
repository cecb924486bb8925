package dev.sluice.wal;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.DeadLetters;
import dev.sluice.core.port.Deliveries;
import dev.sluice.core.port.IdempotencyKeys;
import dev.sluice.core.port.Returns;
import dev.sluice.core.port.Spool;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.LocalDate;
import java.util.List;
import java.util.SortedMap;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The spool on the local disk.
 *
 * <p>Safe for use by many threads.
 */
public final class WalSpool implements Spool, IdempotencyKeys, Backlog, AutoCloseable {

  /** When what was written is forced to the disk. */
  public enum Fsync {
    /** Before it counts as safe. */
    FLUSH,
    /** Now and then; what was written in between survives the process, not a power failure. */
    INTERVAL,
    /** When the system likes; survives the process, not a power failure. */
    NEVER
  }

  /**
   * How frames get to the disk.
   *
   * @param compression of new segments
   * @param fsync when they are forced to it, index and all
   * @param fsyncInterval how often, where it is {@link Fsync#INTERVAL}
   * @param flushAfter how long what nobody waits for lies in memory at most
   * @param flushBytes how much of it, before compression
   * @param queueBytes how much all that is not yet written may hold, whoever waits for it, copies
   *     included
   */
  public record Writing(
      Compression compression,
      Fsync fsync,
      Duration fsyncInterval,
      Duration flushAfter,
      long flushBytes,
      long queueBytes) {}

  /**
   * How segments are kept.
   *
   * @param segmentBytes at which a new one is begun
   * @param segmentAge at which a new one is begun; one is begun each day (UTC) too
   * @param keepHigh bytes of segments all of whose logs are delivered, from which on the oldest are
   *     pruned
   * @param keepLow bytes of such segments at which that ends
   * @param headroom bytes of the disk that are left free, so that what is there can be delivered
   */
  public record Filing(
      long segmentBytes, Duration segmentAge, long keepHigh, long keepLow, long headroom) {}

  /**
   * What the spool needs to know.
   *
   * @param directory below which {@code log.wal} lies
   * @param node this process's own folder there, {@code node-<id>}
   * @param bounds of one delivery
   * @param deadLetters that are kept at most
   * @param keys idempotency keys remembered at most; the oldest is forgotten first
   * @param keyRetention how long a key is remembered
   */
  public record Settings(
      Path directory,
      String node,
      Writing writing,
      Filing filing,
      Deliveries.Bounds bounds,
      int deadLetters,
      int keys,
      Duration keyRetention) {}

  /**
   * How the log is, for those who look after it.
   *
   * @param segments oldest first
   * @param quarantined oldest first
   * @param unreadable entries that are passed over
   * @param obstacle why nothing can be appended; null when it can
   */
  public record Status(
      List<SegmentStatus> segments,
      List<Quarantined> quarantined,
      Depth backlog,
      long waitingRecords,
      int unreadable,
      @Nullable String obstacle) {}

  /** One segment; see {@link Status}. */
  public record SegmentStatus(
      String file, long bytes, long frames, long records, boolean delivered) {}

  /**
   * A damaged frame.
   *
   * @param frame its position
   * @param copy where its bytes are
   */
  public record Quarantined(String frame, Path copy, int records, String reason, Instant at) {}

  /**
   * What came of looking at every frame of a segment.
   *
   * @param faults one for each frame that is not what its index line says
   */
  public record Verification(String file, long frames, long records, List<String> faults) {}

  private WalSpool() {}

  /**
   * Takes the node's folder and puts it in order.
   *
   * @throws IOException when it cannot be used, such as when another process has it
   */
  public static WalSpool open(Settings settings, InstantSource clock) throws IOException {
    throw new UnsupportedOperationException();
  }

  /** The other end; the one before it, if any, is used no more. */
  public Returns deliveries() {
    throw new UnsupportedOperationException();
  }

  public DeadLetters deadLetters() {
    throw new UnsupportedOperationException();
  }

  public Status status() {
    throw new UnsupportedOperationException();
  }

  /**
   * Reads every frame of a segment.
   *
   * @param segment number on that day, from 1
   * @throws java.nio.file.NoSuchFileException when there is none
   */
  public Verification verify(LocalDate day, int segment) throws IOException {
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

  /** Makes everything durable; what is unsettled stays. Appends after it are answered as busy. */
  @Override
  public void close() {
    throw new UnsupportedOperationException();
  }
}
