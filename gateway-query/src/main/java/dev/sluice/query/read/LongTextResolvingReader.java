package dev.sluice.query.read;

import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.LogReader;
import dev.sluice.templates.dictionary.Dictionary;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import dev.sluice.templates.dictionary.TextReference;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Gatherers;

/**
 * A {@link LogReader} that replaces each {@link TextReference} in the attributes of a log record by
 * its long text, so that clients read the text that was sent. A reference to a text that the
 * dictionary does not have stays in the attribute.
 *
 * <p>A page with many long texts ends before its limit, as a page with large records does. Safe for
 * use by many threads.
 */
public final class LongTextResolvingReader extends DelegatingReader {
  /**
   * Maximum number of characters in all bodies and attributes of a page. The record that reaches
   * the maximum is still part of the page.
   */
  static final long MAX_PAGE_CHARS = 16 << 20;

  /**
   * Maximum number of texts in one dictionary lookup: each text has up to {@link
   * TextReference#MAX_TEXT_BYTES} bytes, and the whole response is in memory.
   */
  static final int MAX_TEXTS_PER_LOOKUP = 128;

  private final LogReader reader;
  private final Dictionary dictionary;

  public LongTextResolvingReader(LogReader reader, Dictionary dictionary) {
    this.reader = reader;
    this.dictionary = dictionary;
  }

  @Override
  <T> T execute(LogFilter filter, FilterQuery<T> query) throws InterruptedException {
    return query.execute(reader, filter);
  }

  /**
   * {@inheritDoc} Makes further dictionary lookups when records of the page refer to long texts.
   */
  @Override
  public LogPage read(Query query) throws InterruptedException {
    var page = reader.read(query);
    var tenant = query.filter().tenant();
    var texts = new HashMap<UUID, String>();
    var resolved = new ArrayList<StoredLog>(page.logs().size());
    long chars = 0;
    int loadedUpTo = 0;
    for (int i = 0; i < page.logs().size() && chars < MAX_PAGE_CHARS; i++) {
      if (i == loadedUpTo) {
        loadedUpTo = loadTexts(tenant, page.logs(), i, texts);
      }
      var log = resolve(page.logs().get(i), texts);
      chars += chars(log);
      resolved.add(log);
    }
    if (resolved.size() == page.logs().size()) {
      return new LogPage(List.copyOf(resolved), page.next());
    }
    var last = resolved.getLast();
    return new LogPage(List.copyOf(resolved), new Position(last.timeNanos(), last.id()));
  }

  /**
   * Loads the texts that records from index {@code from} on refer to, and returns the index of the
   * first record whose texts are not loaded.
   */
  private int loadTexts(String tenant, List<StoredLog> logs, int from, Map<UUID, String> texts)
      throws InterruptedException {
    Set<UUID> unknown = new LinkedHashSet<>();
    int end = from;
    while (end < logs.size() && unknown.size() < MAX_TEXTS_PER_LOOKUP) {
      for (var value : logs.get(end).attributes().values()) {
        var id = TextReference.parseId(value);
        if (id != null && !texts.containsKey(id)) {
          unknown.add(id);
        }
      }
      end++;
    }
    for (var ids : unknown.stream().gather(Gatherers.windowFixed(MAX_TEXTS_PER_LOOKUP)).toList()) {
      for (var entry : dictionary.find(tenant, EntryKind.TEXT, ids)) {
        texts.put(entry.id(), entry.text());
      }
    }
    return end;
  }

  private static StoredLog resolve(StoredLog log, Map<UUID, String> texts) {
    if (log.attributes().values().stream().noneMatch(value -> value.endsWith("]"))) {
      return log;
    }
    var attributes = new LinkedHashMap<>(log.attributes());
    attributes.replaceAll((_, value) -> resolve(value, texts));
    return log.withAttributes(attributes);
  }

  private static String resolve(String value, Map<UUID, String> texts) {
    var id = TextReference.parseId(value);
    return id == null ? TextReference.unescape(value) : texts.getOrDefault(id, value);
  }

  private static long chars(StoredLog log) {
    return log.body().length()
        + chars(log.attributes())
        + chars(log.resource())
        + chars(log.scope());
  }

  private static long chars(Map<String, String> attributes) {
    long chars = 0;
    for (var value : attributes.values()) {
      chars += value.length();
    }
    return chars;
  }
}
