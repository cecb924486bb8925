package dev.sluice.templates;

import dev.sluice.core.port.WriteResult;
import dev.sluice.templates.dictionary.Dictionary;
import dev.sluice.templates.dictionary.Dictionary.DictionaryEntry;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import dev.sluice.templates.dictionary.WorkerDictionaryCache;
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
 * The templates of this process, synchronised with other gateway instances through the {@link
 * Dictionary}.
 *
 * <p>All templates of a tenant are read before its first message is mined, so that a restart
 * continues from the stored state; afterwards {@link #sync} reads the changes of other instances.
 * When the combined templates show that some must be merged, any instance that detects it writes
 * the merge; concurrent writes of the same merge are idempotent.
 *
 * <p>Safe for use by many threads.
 */
public final class TemplateRegistry {
  private final TemplateMiner miner;
  private final Dictionary dictionary;

  /** The read position in the dictionary by tenant; a tenant without one is not mined. */
  private final Map<String, SyncCursor> cursors = new ConcurrentHashMap<>();

  private final ReentrantLock syncLock = new ReentrantLock();
  private final LongAdder overflowedLogs = new LongAdder();
  private final AtomicInteger maskGeneration = new AtomicInteger();

  /**
   * The position after the last page that was read.
   *
   * @param next the cursor of the next page; null if the dictionary has no templates yet
   */
  private record SyncCursor(@Nullable String next) {}

  public TemplateRegistry(MinerSettings settings, Dictionary dictionary) {
    this.miner = new TemplateMiner(settings);
    this.dictionary = dictionary;
  }

  /**
   * Returns a resolver for one delivery worker.
   *
   * @param texts the dictionary cache of the same worker
   */
  public TemplateResolver newResolver(WorkerDictionaryCache texts) {
    return new TemplateResolver(this, texts);
  }

  /** Replaces the custom masks for all batches that begin after this call. */
  public void setCustomMasks(List<CustomMask> masks) {
    miner.masks(masks);
    // after the masks are set: otherwise a message keyed by the new generation could still be
    // masked with the old masks
    maskGeneration.incrementAndGet();
  }

  /** Returns a number that changes with the custom masks. */
  int maskGeneration() {
    return maskGeneration.get();
  }

  TemplateMiner miner() {
    return miner;
  }

  /**
   * Loads the templates of a tenant on its first use.
   *
   * @throws RuntimeException if the dictionary cannot be read
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
   * Reads the templates that other instances have written since the last call, and writes the
   * merges that follow from them.
   *
   * @throws RuntimeException if the dictionary cannot be read; the caller retries later
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

  /** Loads all pages in one call, because a link needs the row that it refers to. */
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
    // if the merges could not be written, the same pages are read again and yield them again
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

  /** Returns the current statistics. */
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
   * Statistics of the registry.
   *
   * @param templates the number of templates of all tenants that were not merged into another
   * @param bytes the estimated size of the templates in memory
   * @param overflowedLogs the number of logs since the start that belong to the catch-all template
   *     because a memory limit was reached
   * @param customMasks the number of active custom masks
   * @param maskBudgetExceeded the number of times since the start that a custom mask was aborted on
   *     a message
   */
  public record RegistryStats(
      long templates, long bytes, long overflowedLogs, int customMasks, long maskBudgetExceeded) {}
}
