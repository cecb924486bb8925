package dev.sluice.core.dictionary;

import dev.sluice.core.port.Dictionary.DictionaryEntry;
import dev.sluice.core.port.Dictionary.EntryKind;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * What a worker has met and nobody may rely on yet: entries that are to be written, and the keys
 * that will be known once they are.
 *
 * <p>The keys are in an array as those of {@link SetAssociativeCache} are, five numbers each, in
 * the first free place from that of the key on, and nothing is ever put out. Confined to a thread.
 */
final class PendingEntries {
  private static final int ENTRY_LONGS = 5;

  /** Above all days. */
  private static final long TRANSIENT = 1L << 32;

  private static final int MIN_SLOTS = 64;

  /** Where a key becomes known. */
  @FunctionalInterface
  interface KeyConsumer {
    void accept(long key, long check, long high, long low, int day);
  }

  private record EntryKey(String tenant, EntryKind kind, UUID id) {}

  /** What an entry takes beside its text, roughly. */
  private static final int ENTRY_BYTES = 256;

  private final Map<EntryKey, DictionaryEntry> entries = new LinkedHashMap<>();
  private long bytes;

  /**
   * Day (0 in a free place), key, check, id; at least half of the places are free. A key that is to
   * be forgotten has {@link #TRANSIENT} in its day.
   */
  private long[] table = new long[MIN_SLOTS * ENTRY_LONGS];

  private int keys;

  boolean isEmpty() {
    return entries.isEmpty();
  }

  List<DictionaryEntry> entries() {
    return List.copyOf(entries.values());
  }

  /** Of memory, roughly; a text that is not Latin-1 takes twice what it counts. */
  long bytes() {
    return bytes + (long) table.length * Long.BYTES;
  }

  /** Where an entry is that is to be written for the day; -1 when there is none. */
  int find(long key, long check, int day) {
    if (keys == 0) {
      return -1;
    }
    int index = slotIndex(table, key, check);
    return (int) table[index] >= day ? index : -1; // no day is 0
  }

  long high(int index) {
    return table[index + 3];
  }

  long low(int index) {
    return table[index + 4];
  }

  /**
   * @param lasting whether it will be known once the entries are written
   */
  void putKey(long key, long check, long high, long low, int day, boolean lasting) {
    if (2 * (keys + 1) > table.length / ENTRY_LONGS) {
      grow();
    }
    int index = slotIndex(table, key, check);
    if (table[index] == 0) {
      keys++;
    }
    table[index] = lasting ? day : day | TRANSIENT;
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

  /** They are written: tells the keys that last, and forgets everything. */
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
