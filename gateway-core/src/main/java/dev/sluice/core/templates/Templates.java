package dev.sluice.core.templates;

import dev.sluice.core.dictionary.TextLookup;
import dev.sluice.core.port.Dictionary;
import dev.sluice.core.port.Dictionary.DictionaryEntry;
import dev.sluice.core.port.Dictionary.EntryKind;
import dev.sluice.core.port.Dictionary.WriteResult;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The templates that this process knows, kept in step with those of others through the {@link
 * Dictionary}.
 *
 * <p>All templates of a tenant are read before the first of its messages is mined, so that a
 * restart goes on where the process ended; after that, {@link #keepUp} reads what others have
 * written. What both together show to be one template is written by whoever sees it first, or by
 * both, which is the same.
 *
 * <p>Safe for use by many threads.
 */
public final class Templates {
  private final Miner miner;
  private final Dictionary dictionary;

  /** How far the dictionary was read, for each tenant; nobody is mined who is not in it. */
  private final Map<String, Place> places = new ConcurrentHashMap<>();

  private final ReentrantLock reading = new ReentrantLock();
  private final LongAdder caught = new LongAdder();
  private final AtomicInteger masksInForce = new AtomicInteger();

  /**
   * @param next of the page read last; null while nothing was ever written
   */
  private record Place(@Nullable String next) {}

  public Templates(MinerSettings settings, Dictionary dictionary) {
    this.miner = new Miner(settings);
    this.dictionary = dictionary;
  }

  /**
   * For one worker.
   *
   * @param texts of the same worker
   */
  public TemplateLookup lookup(TextLookup texts) {
    return new TemplateLookup(this, texts);
  }

  /** Replaces the extra masks, for all messages of batches that are begun from now on. */
  public void masks(List<ExtraMask> masks) {
    miner.masks(masks);
    masksInForce
        .incrementAndGet(); // after, or a key of the new ones could lead to a template of the old
    // ones
  }

  /** Changes with the extra masks. */
  int masksInForce() {
    return masksInForce.get();
  }

  Miner miner() {
    return miner;
  }

  /**
   * Learns the templates of a tenant, if this is the first that is heard of it.
   *
   * @throws RuntimeException when the dictionary cannot tell them
   */
  void know(String tenant) throws InterruptedException {
    if (!places.containsKey(tenant)) {
      reading.lockInterruptibly();
      try {
        if (!places.containsKey(tenant)) {
          read(tenant, null);
        }
      } finally {
        reading.unlock();
      }
    }
  }

  /**
   * Learns what others have written since the last time, and writes what follows from it.
   *
   * @throws RuntimeException when the dictionary cannot tell; to try again later is right
   */
  public void keepUp() throws InterruptedException {
    reading.lockInterruptibly();
    try {
      for (var tenant : places.entrySet()) {
        read(tenant.getKey(), tenant.getValue().next());
      }
    } finally {
      reading.unlock();
    }
  }

  /** All at once, since a link is understood only together with the row it leads to. */
  private void read(String tenant, @Nullable String after) throws InterruptedException {
    var entries = new ArrayList<DictionaryEntry>();
    var next = after;
    boolean last = false;
    while (!last) {
      var page = dictionary.changesSince(tenant, EntryKind.TEMPLATE, next, Dictionary.MAX_IDS);
      entries.addAll(page.entries());
      next = page.next();
      last = page.last();
    }
    boolean news = miner.learn(tenant, entries.stream().map(Templates::row).toList());
    // what could not be written follows again from what is then read again
    places.put(tenant, new Place(!news || write(tenant, entries) ? next : after));
  }

  private static TemplateRow row(DictionaryEntry entry) {
    return new TemplateRow(entry.id(), entry.text(), entry.mergedInto());
  }

  private boolean write(String tenant, List<DictionaryEntry> learnt) throws InterruptedException {
    var rows = miner.unwritten(tenant);
    if (rows.isEmpty()) {
      return true;
    }
    var seen = new HashMap<UUID, Long>();
    long latest = 0;
    for (var entry : learnt) {
      seen.put(entry.id(), entry.firstSeenNanos());
      latest = Math.max(latest, entry.firstSeenNanos());
    }
    if (!(dictionary.write(TemplateLookup.entries(tenant, rows, seen, latest))
        instanceof WriteResult.Written)) {
      return false;
    }
    miner.written(tenant, rows);
    return true;
  }

  void caught(long logs) {
    caught.add(logs);
  }

  /** What mining holds and has let go by. */
  public Tally tally() {
    long templates = places.keySet().stream().mapToLong(miner::templates).sum();
    return new Tally(templates, miner.bytes(), caught.sum(), miner.masks(), miner.givenUp());
  }

  /**
   * @param templates that stand for themselves, of all tenants
   * @param bytes they take in memory, estimated
   * @param caught logs since the start that are of the catch-all, as there was no room for more
   *     templates
   * @param masks extra masks in force
   * @param masksGivenUp how often an extra mask was given up on a message since the start
   */
  public record Tally(long templates, long bytes, long caught, int masks, long masksGivenUp) {}
}
