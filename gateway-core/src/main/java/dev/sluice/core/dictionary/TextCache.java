package dev.sluice.core.dictionary;

import dev.sluice.core.port.Dictionary;
import java.util.concurrent.atomic.LongAdder;

/**
 * Which texts the dictionary has, as far as this process knows: the barrier between the logs, which
 * repeat themselves, and a table that wants each text once.
 *
 * <p>There are three barriers. A worker's own table ({@link TextLookup}, no locks), the one that
 * all workers share, and the {@link Dictionary}, to which writing a text again does nothing. The
 * first two are bounded; what they put out, or never knew because it was another process that wrote
 * it, is written again. A text is known for the day (UTC) it was written for, so that each day's
 * first log says that it is still in use; nothing is cleared at midnight.
 *
 * <p>A text is known only once the dictionary has confirmed it. Two workers that meet the same new
 * text both write it.
 *
 * <p>Safe for use by many threads.
 */
public final class TextCache {

  /**
   * How much is remembered; an entry of the shared table takes 32 bytes, one of a worker 40.
   *
   * @param near entries of each worker's own table, from {@link #FEWEST} to {@link #MOST}
   * @param shared entries of the table for all, within the same bounds
   */
  public record Settings(int near, int shared) {
    /** One set of a table. */
    public static final int FEWEST = 8;

    /** Two gibibytes. */
    public static final int MOST = 1 << 26;

    /** 320 KiB for a worker, which the processor's own memory holds, and 32 MiB for all. */
    public static final Settings DEFAULT = new Settings(8_192, 1 << 20);

    public Settings {
      requireBetween("near", near);
      requireBetween("shared", shared);
    }

    private static void requireBetween(String name, int value) {
      if (value < FEWEST || value > MOST) {
        throw new IllegalArgumentException(
            "%s is %d, from %d to %d".formatted(name, value, FEWEST, MOST));
      }
    }
  }

  /**
   * What the barriers have stopped since the start, and what they let through. Each look-up is in
   * one of the first four.
   *
   * @param near look-ups answered by the worker's own table
   * @param fresh by what the worker has met and not yet written
   * @param shared by the table for all
   * @param unknown look-ups that nobody could answer
   * @param digests MD5 computed for texts
   * @param written entries that the dictionary has confirmed
   * @param failed writes that it has not
   * @param entries in the shared table now
   * @param capacity of the shared table
   * @param bytes of the shared table, its free places too
   */
  public record Tally(
      long near,
      long fresh,
      long shared,
      long unknown,
      long digests,
      long written,
      long failed,
      long entries,
      long capacity,
      long bytes) {}

  final Secret secret;
  final TextHash.Key keys;
  final Dictionary dictionary;
  final KnownTexts known;
  final LongAdder near = new LongAdder();
  final LongAdder fresh = new LongAdder();
  final LongAdder shared = new LongAdder();
  final LongAdder unknown = new LongAdder();
  final LongAdder digests = new LongAdder();
  final LongAdder written = new LongAdder();
  final LongAdder failed = new LongAdder();
  private final Settings settings;

  public TextCache(Settings settings, Dictionary dictionary) {
    this(settings, dictionary, Secret.random());
  }

  private TextCache(Settings settings, Dictionary dictionary, Secret secret) {
    this(settings, dictionary, secret, TextHash.Key.xxh3(secret.keySeed()));
  }

  TextCache(Settings settings, Dictionary dictionary, Secret secret, TextHash.Key keys) {
    this.settings = settings;
    this.dictionary = dictionary;
    this.secret = secret;
    this.keys = keys;
    this.known = new KnownTexts(settings.shared());
  }

  /** For one worker. */
  public TextLookup lookup() {
    return new TextLookup(this, settings.near());
  }

  /** Counts as of the workers' last deliveries. */
  public Tally tally() {
    return new Tally(
        near.sum(),
        fresh.sum(),
        shared.sum(),
        unknown.sum(),
        digests.sum(),
        written.sum(),
        failed.sum(),
        known.entries(),
        known.capacity(),
        known.bytes());
  }
}
