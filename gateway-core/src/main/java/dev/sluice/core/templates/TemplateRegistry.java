package dev.sluice.core.templates;

import dev.sluice.core.dictionary.WorkerDictionaryCache;
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
 * restart goes on where the process ended; after that, {@link #sync} reads what others have
 * written. What both together show to be one template is written by whoever sees it first, or by
 * both, which is the same.
 *
 * <p>Safe for use by many threads.
 */
public final class TemplateRegistry {
  private final TemplateMiner miner;
  private final Dictionary dictionary;

  /** How far the dictionary was read, for each tenant; nobody is mined who is not in it. */
  private final Map<String, SyncCursor> cursors = new ConcurrentHashMap<>();

  private final ReentrantLock syncLock = new ReentrantLock();
  private final LongAdder overflowedLogs = new LongAdder();
  private final AtomicInteger maskGeneration = new AtomicInteger();

  /**
   * @param next of the page read last; null while nothing was ever written
   */
  private record SyncCursor(@Nullable String next) {}

  public TemplateRegistry(MinerSettings settings, Dictionary dictionary) {
    this.miner = new TemplateMiner(settings);
    this.dictionary = dictionary;
  }

  /**
   * For one worker.
   *
   * @param texts of the same worker
   */
  public TemplateResolver newResolver(WorkerDictionaryCache texts) {
    return new TemplateResolver(this, texts);
  }

  /** Replaces the extra masks, for all messages of batches that are begun from now on. */
  public void setCustomMasks(List<CustomMask> masks) {
    miner.masks(masks);
    maskGeneration
        .incrementAndGet(); // after, or a key of the new ones could lead to a template of the old
    // ones
  }

  /** Changes with the extra masks. */
  int maskGeneration() {
    return maskGeneration.get();
  }

  TemplateMiner miner() {
    return miner;
  }

  /**
   * Learns the templates of a tenant, if this is the first that is heard of it.
   *
   * @throws RuntimeException when the dictionary cannot tell them
   */
  void ensureLoaded(String tenant) throws InterruptedException {
    if (!cursors.containsKey(tenant)) {
      syncLock.lockInterruptibly();
      try {
        if (!cursors.containsKey(tenant)) {
          syncTenant(tenant, null);
        }
      } finally {
        syncLock.unlock();
      }
    }
  }

  /**
   * Learns what others have written since the last time, and writes what follows from it.
   *
   * @throws RuntimeException when the dictionary cannot tell; to try again later is right
   */
  public void sync() throws InterruptedException {
    syncLock.lockInterruptibly();
    try {
      for (var tenant : cursors.entrySet()) {
        syncTenant(tenant.getKey(), tenant.getValue().next());
      }
    } finally {
      syncLock.unlock();
    }
  }

  /** All at once, since a link is understood only together with the row it leads to. */
  private void syncTenant(String tenant, @Nullable String after) throws InterruptedException {
    var entries = new ArrayList<DictionaryEntry>();
    var next = after;
    boolean last = false;
    while (!last) {
      var page = dictionary.changesSince(tenant, EntryKind.TEMPLATE, next, Dictionary.MAX_IDS);
      entries.addAll(page.entries());
      next = page.next();
      last = page.last();
    }
    boolean changed = miner.load(tenant, entries.stream().map(TemplateRegistry::toRow).toList());
    // what could not be written follows again from what is then read again
    cursors.put(tenant, new SyncCursor(!changed || writePending(tenant, entries) ? next : after));
  }

  private static TemplateRow toRow(DictionaryEntry entry) {
    return new TemplateRow(entry.id(), entry.text(), entry.mergedInto());
  }

  private boolean writePending(String tenant, List<DictionaryEntry> entries)
      throws InterruptedException {
    var rows = miner.pendingRows(tenant);
    if (rows.isEmpty()) {
      return true;
    }
    var seen = new HashMap<UUID, Long>();
    long latest = 0;
    for (var entry : entries) {
      seen.put(entry.id(), entry.firstSeenNanos());
      latest = Math.max(latest, entry.firstSeenNanos());
    }
    if (!(dictionary.write(TemplateResolver.toEntries(tenant, rows, seen, latest))
        instanceof WriteResult.Written)) {
      return false;
    }
    miner.markWritten(tenant, rows);
    return true;
  }

  void recordOverflow(long logs) {
    overflowedLogs.add(logs);
  }

  /** What mining holds and has let go by. */
  public RegistryStats stats() {
    long templates = cursors.keySet().stream().mapToLong(miner::templateCount).sum();
    return new RegistryStats(
        templates,
        miner.memoryBytes(),
        overflowedLogs.sum(),
        miner.masks(),
        miner.budgetExceeded());
  }

  /**
   * @param templates that stand for themselves, of all tenants
   * @param bytes they take in memory, estimated
   * @param overflowedLogs logs since the start that are of the catch-all, as there was no room for
   *     more templates
   * @param customMasks extra masks in force
   * @param maskBudgetExceeded how often an extra mask was given up on a message since the start
   */
  public record RegistryStats(
      long templates, long bytes, long overflowedLogs, int customMasks, long maskBudgetExceeded) {}
}
