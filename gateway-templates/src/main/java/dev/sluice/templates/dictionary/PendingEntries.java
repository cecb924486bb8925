package dev.sluice.templates.dictionary;

import dev.sluice.templates.dictionary.Dictionary.DictionaryEntry;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * The pending entries of a worker: dictionary entries that are not written yet, and the keys that
 * move to the caches once the entries are written.
 *
 * <p>The keys are in a hash table with linear probing, five numbers per slot in one array. Unlike
 * {@link SetAssociativeCache}, the table grows and evicts nothing. Confined to one thread.
 */
final class PendingEntries {
  private static final int ENTRY_LONGS = 5;

  /** The flag for a transient key, in a bit above those of a day. */
  private static final long TRANSIENT = 1L << 32;

  private static final int MIN_SLOTS = 64;

  /** A receiver of committed keys. */
  @FunctionalInterface
  interface KeyConsumer {
    void accept(long key, long check, long high, long low, int day);
  }

  private record EntryKey(String tenant, EntryKind kind, UUID id) {}

  /** The approximate memory of an entry in addition to its text. */
  private static final int ENTRY_BYTES = 256;

  private final Map<EntryKey, DictionaryEntry> entries = new LinkedHashMap<>();
  private long bytes;

  /**
   * The hash table. A slot has the day (0 in a free slot), the key, the check and the two halves of
   * the id. At least half of the slots are free. The day of a transient key includes {@link
   * #TRANSIENT}.
   */
  private long[] table = new long[MIN_SLOTS * ENTRY_LONGS];

  private int keys;

  boolean isEmpty() {
    return entries.isEmpty();
  }

  List<DictionaryEntry> entries() {
    return List.copyOf(entries.values());
  }

  /** Returns the approximate memory in bytes; a text that is not Latin-1 takes twice its count. */
  long bytes() {
    return bytes + (long) table.length * Long.BYTES;
  }

  /** Returns the index of a key that is pending for the day; -1 when there is none. */
  int find(long key, long check, int day) {
    if (keys == 0) {
      return -1;
    }
    int index = slotIndex(table, key, check);
    return (int) table[index] >= day ? index : -1; // a free slot has 0, which is less than any day
  }

  long high(int index) {
    return table[index + 3];
  }

  long low(int index) {
    return table[index + 4];
  }

  /**
   * Adds a key.
   *
   * @param persistent whether {@link #commit} passes the key on; a transient key is discarded then
   */
  void putKey(long key, long check, long high, long low, int day, boolean persistent) {
    if (2 * (keys + 1) > table.length / ENTRY_LONGS) {
      grow();
    }
    int index = slotIndex(table, key, check);
    if (table[index] == 0) {
      keys++;
    }
    table[index] = persistent ? day : day | TRANSIENT;
    table[index + 1] = key;
    table[index + 2] = check;
    table[index + 3] = high;
    table[index + 4] = low;
  }

  void putEntry(DictionaryEntry entry) {
    int before = entries.size();
    entries.merge(
        new EntryKey(entry.tenant(), entry.kind(), entry.id()), entry, DictionaryEntry::merge);
    if (entries.size() > before) {
      bytes += ENTRY_BYTES + entry.text().length();
    }
  }

  /** Passes the persistent keys to the consumer, after the entries are written, and clears all. */
  void commit(KeyConsumer consumer) {
    for (int index = 0; index < table.length; index += ENTRY_LONGS) {
      if (table[index] != 0 && table[index] < TRANSIENT) {
        consumer.accept(
            table[index + 1],
            table[index + 2],
            table[index + 3],
            table[index + 4],
            (int) table[index]);
      }
    }
    clear();
  }

  void clear() {
    if (keys == 0 && entries.isEmpty()) {
      return;
    }
    entries.clear();
    bytes = 0;
    keys = 0;
    if (table.length > MIN_SLOTS * ENTRY_LONGS) {
      table = new long[MIN_SLOTS * ENTRY_LONGS];
    } else {
      Arrays.fill(table, 0);
    }
  }

  private void grow() {
    var wider = new long[2 * table.length];
    for (int index = 0; index < table.length; index += ENTRY_LONGS) {
      if (table[index] != 0) {
        System.arraycopy(
            table, index, wider, slotIndex(wider, table[index + 1], table[index + 2]), ENTRY_LONGS);
      }
    }
    table = wider;
  }

  private static int slotIndex(long[] table, long key, long check) {
    int slots = table.length / ENTRY_LONGS;
    int slot = (int) Math.unsignedMultiplyHigh(key ^ check, slots);
    int index = slot * ENTRY_LONGS;
    while (table[index] != 0 && !(table[index + 1] == key && table[index + 2] == check)) {
      index += ENTRY_LONGS;
      if (index == table.length) {
        index = 0;
      }
    }
    return index;
  }
}
