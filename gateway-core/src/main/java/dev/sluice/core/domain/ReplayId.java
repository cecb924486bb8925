package dev.sluice.core.domain;

import java.nio.ByteBuffer;
import java.util.UUID;

/**
 * The append ids of replayed dead letters. A replay of the same dead letter has the same append id,
 * so that the spool recognizes a repetition; every spool recognizes a replay, whose record it has
 * counted as accepted before.
 *
 * <p>Such an id is a UUID of version 8, which no other append has: a hash of the log id, with the
 * number of the replay in the last 16 bits.
 */
public final class ReplayId {
  private static final int VERSION = 8;
  private static final int MAX_REPLAYS = 0xFFFF;

  private ReplayId() {}

  /**
   * Returns the append id of a replay.
   *
   * @param log the id of the log
   * @param replay the number of the replay, from 1
   * @throws IllegalArgumentException when the log was replayed 65,535 times
   */
  public static UUID of(LogId log, int replay) {
    if (replay < 1 || replay > MAX_REPLAYS) {
      throw new IllegalArgumentException(
          "replay is " + replay + ", must be from 1 to " + MAX_REPLAYS);
    }
    var name = ByteBuffer.allocate(LogId.BYTES).putLong(log.high()).putLong(log.low());
    var hash = UUID.nameUUIDFromBytes(name.array());
    return new UUID(
        hash.getMostSignificantBits() & ~0xF000L | VERSION << 12,
        hash.getLeastSignificantBits() & ~0xFFFFL | replay);
  }

  /** Whether an append is a replay. */
  public static boolean isReplay(UUID appendId) {
    return appendId.version() == VERSION;
  }

  /** Returns the number of the replay; 0 for an append that is none. */
  public static int replayOf(UUID appendId) {
    return isReplay(appendId) ? (int) (appendId.getLeastSignificantBits() & MAX_REPLAYS) : 0;
  }

  /** Returns the append id of the replay that follows an append of the same log. */
  public static UUID after(UUID appendId, LogId log) {
    return of(log, replayOf(appendId) + 1);
  }
}
