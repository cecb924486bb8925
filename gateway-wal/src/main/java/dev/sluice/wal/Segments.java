package dev.sluice.wal;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.time.LocalDate;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The files of one node: segments of frames and their indexes, written by one thread, in the order
 * of {@link #append}. Knows frames as bytes; what they hold is not its affair.
 *
 * <p>Safe for use by many threads.
 */
final class Segments implements AutoCloseable {

  /** What became of an append. */
  sealed interface Written {
    /** As durable as the policy has it. */
    record At(Position position) implements Written {}

    /** Not written; nothing of it is left. */
    record Not(Duration retryAfter, String reason) implements Written {}
  }

  /**
   * A frame and where it is: a line of the index.
   *
   * @param offset of its first byte in the segment
   * @param length compressed bytes
   * @param firstNanos see {@link Frame}
   * @param crc32 see {@link Frame}
   */
  record Indexed(
      Position position,
      long offset,
      int length,
      int records,
      long firstNanos,
      long lastNanos,
      long crc32) {}

  /**
   * One segment for those who look after it.
   *
   * @param file below the node's folder, such as {@code 2026-11-22/seg-000001.wal.zst}
   * @param frames that are durable
   * @param settled whether nothing in it is needed any more
   */
  record Segment(
      String file,
      LocalDate day,
      int number,
      long bytes,
      long frames,
      long records,
      boolean settled) {}

  private Segments() {}

  /**
   * Takes the node's folder for this process alone and puts it in order: what a crash has torn off
   * is cut off, index lines that are missing are written again.
   *
   * @param node folder {@code log.wal/node-<id>}, made when it is not there
   * @throws IOException when it cannot be used; says which folder, and that another process has it
   *     when that is why
   */
  static Segments open(
      Path node, WalSpool.Writing writing, WalSpool.Filing filing, InstantSource clock)
      throws IOException {
    throw new UnsupportedOperationException();
  }

  /**
   * Counts bytes that an append is about to hold, from before it is encoded.
   *
   * @return false when all together would hold more than may be; then nothing is counted
   */
  boolean reserve(long bytes) {
    throw new UnsupportedOperationException();
  }

  /** Counts them off; the frame itself is counted by {@link #append}. */
  void release(long bytes) {
    throw new UnsupportedOperationException();
  }

  /**
   * Writes a frame after all that came before it. Never fails, never blocks.
   *
   * @param awaited whether to write as soon as possible; else it may lie in memory until others are
   *     written, it has grown old, or much has come together
   */
  CompletionStage<Written> append(Frame frame, boolean awaited) {
    throw new UnsupportedOperationException();
  }

  /** Writes what lies in memory; completes when it is durable. */
  CompletionStage<Void> flush() {
    throw new UnsupportedOperationException();
  }

  /**
   * Durable frames behind a position, in their order.
   *
   * @param position null for the very beginning
   * @param limit how many at most
   */
  List<Indexed> after(@Nullable Position position, int limit) throws IOException {
    throw new UnsupportedOperationException();
  }

  /**
   * Waits until there is a frame behind the position.
   *
   * @return whether there is
   */
  boolean await(@Nullable Position position, Duration patience) throws InterruptedException {
    throw new UnsupportedOperationException();
  }

  /** A frame's compressed bytes; whether they are intact is not looked at. */
  byte[] read(Indexed frame) throws IOException {
    throw new UnsupportedOperationException();
  }

  /** The frame at that very position; null when there is none. */
  @Nullable Indexed find(Position position) throws IOException {
    throw new UnsupportedOperationException();
  }

  /**
   * Nothing up to that position, itself included, is needed any more but the frames named: whole
   * segments of it may be pruned when the disk asks for it.
   *
   * @param needed positions at or before it that are
   */
  void settled(Position upTo, List<Position> needed) {
    throw new UnsupportedOperationException();
  }

  /** Keeps a copy of a damaged frame, under its name, where pruning does not get at it. */
  Path quarantine(Indexed frame) throws IOException {
    throw new UnsupportedOperationException();
  }

  /** Why nothing can be appended at the moment; null when it can. */
  @Nullable String obstacle() {
    throw new UnsupportedOperationException();
  }

  /** All there are, oldest first. */
  List<Segment> segments() {
    throw new UnsupportedOperationException();
  }

  /** Writes what is in memory, makes it durable whatever the policy, and takes nothing any more. */
  @Override
  public void close() {
    throw new UnsupportedOperationException();
  }
}
