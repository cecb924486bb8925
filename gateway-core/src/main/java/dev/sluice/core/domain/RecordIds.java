package dev.sluice.core.domain;

import java.util.Arrays;

/**
 * The dictionary ids of the records of a delivery: of their resources, templates and long texts.
 *
 * <p>A record is known by its index over the accepted records of all batches, from 0. An id has two
 * halves, which are both 0 for no id. A long text is known by its record and by the offset of its
 * first byte in the OTLP bytes of its batch.
 *
 * <p>The numbers are in arrays that grow and are reused for the next delivery. Not thread-safe.
 */
public final class RecordIds {
  /** No record has an id. Must not be written to. */
  public static final RecordIds NONE = new RecordIds();

  private int records;
  private long[] templates = {};

  /** The number of the resource of each record; 0 for a resource without an id. */
  private int[] recordResources = {};

  private int resourceCount;
  private long[] resources = {0, 0};

  private int textCount;

  /** The record and the offset of each text, in ascending order. */
  private long[] textKeys = {};

  private long[] texts = {};

  /** Removes all ids. */
  public void clear() {
    records = 0;
    resourceCount = 0;
    textCount = 0;
  }

  /** Adds a resource, and returns its number for {@link #addRecord}. */
  public int addResource(long high, long low) {
    if (high == 0 && low == 0) {
      return 0;
    }
    resourceCount++;
    resources = putId(resources, resourceCount, high, low);
    return resourceCount;
  }

  /** Adds a long text of the next record; the texts of a record have different offsets. */
  public void addText(int offset, long high, long low) {
    if (textCount == textKeys.length) {
      textKeys = Arrays.copyOf(textKeys, Math.max(64, 2 * textCount));
    }
    long key = textKey(records, offset);
    texts = putId(texts, textCount, high, low);
    int index = textCount++;
    // Offsets descend only at an attribute whose key was sent again: its value is the last one.
    while (index > 0 && textKeys[index - 1] > key) {
      textKeys[index] = textKeys[index - 1];
      texts = putId(texts, index, textHigh(index - 1), textLow(index - 1));
      index--;
      texts = putId(texts, index, high, low);
    }
    textKeys[index] = key;
  }

  /**
   * Adds a record.
   *
   * @param resource the number of its resource, from {@link #addResource}
   * @param templateHigh the upper 64 bits of the id of its template
   */
  public void addRecord(int resource, long templateHigh, long templateLow) {
    if (records == recordResources.length) {
      recordResources = Arrays.copyOf(recordResources, Math.max(1 << 10, 2 * records));
    }
    recordResources[records] = resource;
    templates = putId(templates, records, templateHigh, templateLow);
    records++;
  }

  /** Adds records without ids until there are {@code count}. */
  public void padTo(int count) {
    while (records < count) {
      addRecord(0, 0, 0);
    }
  }

  private static long[] putId(long[] ids, int index, long high, long low) {
    var into = 2 * index < ids.length ? ids : Arrays.copyOf(ids, Math.max(1 << 7, 4 * index));
    into[2 * index] = high;
    into[2 * index + 1] = low;
    return into;
  }

  private static long textKey(int record, int offset) {
    return (long) record << 32 | offset;
  }

  /** Returns the upper 64 bits of the id of the template of a record. */
  public long templateHigh(int record) {
    return record < records ? templates[2 * record] : 0;
  }

  /** Returns the lower 64 bits of the id of the template of a record. */
  public long templateLow(int record) {
    return record < records ? templates[2 * record + 1] : 0;
  }

  /** Returns the upper 64 bits of the id of the resource of a record. */
  public long resourceHigh(int record) {
    return record < records ? resources[2 * recordResources[record]] : 0;
  }

  /** Returns the lower 64 bits of the id of the resource of a record. */
  public long resourceLow(int record) {
    return record < records ? resources[2 * recordResources[record] + 1] : 0;
  }

  /** Returns the number of a long text, or a negative number when the text has no id. */
  public int findText(int record, int offset) {
    return textCount == 0
        ? -1
        : Arrays.binarySearch(textKeys, 0, textCount, textKey(record, offset));
  }

  /** Returns the upper 64 bits of the id of a long text that {@link #findText} has found. */
  public long textHigh(int text) {
    return texts[2 * text];
  }

  /** Returns the lower 64 bits of the id of a long text that {@link #findText} has found. */
  public long textLow(int text) {
    return texts[2 * text + 1];
  }
}
