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
 * <p>The keys are in an array as those of {@link Table} are, five numbers each, in the first free
 * place from that of the key on, and nothing is ever put out. Confined to a thread.
 */
final class Fresh {
  private static final int WORDS = 5;

  /** Above all days. */
  private static final long FOR_NOW = 1L << 32;

  private static final int FEWEST = 64;

  /** Where a key becomes known. */
  @FunctionalInterface
  interface Knowing {
    void put(long key, long check, long high, long low, int day);
  }

  private record Identity(String tenant, EntryKind kind, UUID id) {}

  /** What an entry takes beside its text, roughly. */
  private static final int ENTRY_BYTES = 256;

  private final Map<Identity, DictionaryEntry> entries = new LinkedHashMap<>();
  private long bytes;

  /**
   * Day (0 in a free place), key, check, id; at least half of the places are free. A key that is to
   * be forgotten has {@link #FOR_NOW} in its day.
   */
  private long[] words = new long[FEWEST * WORDS];

  private int keys;

  boolean isEmpty() {
    return entries.isEmpty();
  }

  List<DictionaryEntry> entries() {
    return List.copyOf(entries.values());
  }

  /** Of memory, roughly; a text that is not Latin-1 takes twice what it counts. */
  long bytes() {
    return bytes + (long) words.length * Long.BYTES;
  }

  /** Where an entry is that is to be written for the day; -1 when there is none. */
  int find(long key, long check, int day) {
    if (keys == 0) {
      return -1;
    }
    int at = place(words, key, check);
    return (int) words[at] >= day ? at : -1; // no day is 0
  }

  long high(int at) {
    return words[at + 3];
  }

  long low(int at) {
    return words[at + 4];
  }

  /**
   * @param lasting whether it will be known once the entries are written
   */
  void key(long key, long check, long high, long low, int day, boolean lasting) {
    if (2 * (keys + 1) > words.length / WORDS) {
      grow();
    }
    int at = place(words, key, check);
    if (words[at] == 0) {
      keys++;
    }
    words[at] = lasting ? day : day | FOR_NOW;
    words[at + 1] = key;
    words[at + 2] = check;
    words[at + 3] = high;
    words[at + 4] = low;
  }

  void entry(DictionaryEntry entry) {
    int before = entries.size();
    entries.merge(
        new Identity(entry.tenant(), entry.kind(), entry.id()), entry, DictionaryEntry::merge);
    if (entries.size() > before) {
      bytes += ENTRY_BYTES + entry.text().length();
    }
  }

  /** They are written: tells the keys that last, and forgets everything. */
  void settle(Knowing knowing) {
    for (int at = 0; at < words.length; at += WORDS) {
      if (words[at] != 0 && words[at] < FOR_NOW) {
        knowing.put(words[at + 1], words[at + 2], words[at + 3], words[at + 4], (int) words[at]);
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
    if (words.length > FEWEST * WORDS) {
      words = new long[FEWEST * WORDS];
    } else {
      Arrays.fill(words, 0);
    }
  }

  private void grow() {
    var wider = new long[2 * words.length];
    for (int at = 0; at < words.length; at += WORDS) {
      if (words[at] != 0) {
        System.arraycopy(words, at, wider, place(wider, words[at + 1], words[at + 2]), WORDS);
      }
    }
    words = wider;
  }

  private static int place(long[] words, long key, long check) {
    int places = words.length / WORDS;
    int place = (int) Math.unsignedMultiplyHigh(key ^ check, places);
    int at = place * WORDS;
    while (words[at] != 0 && !(words[at + 1] == key && words[at + 2] == check)) {
      at += WORDS;
      if (at == words.length) {
        at = 0;
      }
    }
    return at;
  }
}
