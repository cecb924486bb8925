package dev.sluice.clickhouse;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.clickhouse.ClickHouseDictionary.WritePosition;
import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.domain.ReplayId;
import dev.sluice.core.domain.Severity;
import dev.sluice.core.port.DeadLetterStore.DeadLetterItem;
import dev.sluice.query.port.LogReader.HistogramBucket;
import dev.sluice.query.port.LogReader.StoredLog;
import dev.sluice.query.port.LogReader.TimeExtent;
import dev.sluice.query.port.TemplateStats.CountBucket;
import dev.sluice.query.port.TemplateStats.MinuteRange;
import dev.sluice.query.port.TemplateStats.SampleLog;
import dev.sluice.query.port.TemplateStats.ServiceActivity;
import dev.sluice.query.port.TemplateStats.TemplateCount;
import dev.sluice.query.port.TemplateStats.TemplateLink;
import dev.sluice.query.port.TemplateVectorStore.Candidate;
import dev.sluice.query.port.TemplateVectorStore.TemplateSample;
import dev.sluice.query.port.TemplateVectorStore.UnembeddedTemplate;
import dev.sluice.query.port.TemplateVectorStore.Vectors;
import dev.sluice.templates.dictionary.Dictionary.DictionaryEntry;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/**
 * Reads rows in the RowBinary format of ClickHouse, with the columns that {@link LogQuery}, {@link
 * DictionaryTable}, {@link ClickHouseTemplateStats} and {@link ClickHouseTemplateVectorStore}
 * select.
 */
final class RowBinary {
  /**
   * Maximum size of a page in bytes. A page with large logs ends before its limit, since it is in
   * memory as text and again as JSON.
   */
  private static final long MAX_PAGE_BYTES = 16 << 20;

  private final DataInputStream in;
  private long bytes;

  private RowBinary(InputStream in) {
    this.in = new DataInputStream(new BufferedInputStream(in, 1 << 16));
  }

  /**
   * Appends the logs of the stream; returns whether it stopped before the end because of their
   * size.
   */
  static boolean readLogs(InputStream in, List<StoredLog> into) throws IOException {
    var rows = new RowBinary(in);
    for (int first; (first = rows.in.read()) >= 0; ) {
      into.add(rows.log(first));
      if (rows.bytes > MAX_PAGE_BYTES) {
        return true;
      }
    }
    return false;
  }

  /** Reads log ids. */
  static void readIds(InputStream in, Consumer<LogId> into) throws IOException {
    var rows = new RowBinary(in);
    for (int first; (first = rows.in.read()) >= 0; ) {
      into.accept(rows.id(first));
    }
  }

  static TimeExtent readTimeExtent(InputStream in) throws IOException {
    var row = new RowBinary(in);
    return new TimeExtent(row.int64(), row.int64(), row.int64());
  }

  /** Reads rows of bucket, severity number and count, sorted by bucket. */
  static List<HistogramBucket> readBuckets(InputStream in, long originNanos, long widthNanos)
      throws IOException {
    var rows = new RowBinary(in);
    var buckets = new ArrayList<HistogramBucket>();
    long current = -1;
    long count = 0;
    var severities = new EnumMap<Severity, Long>(Severity.class);
    while (!rows.isAtEnd()) {
      long bucket = rows.int64();
      if (bucket != current && count > 0) {
        buckets.add(new HistogramBucket(originNanos + current * widthNanos, count, severities));
        count = 0;
        severities.clear();
      }
      current = bucket;
      var severity = Severity.of(rows.in.readUnsignedByte());
      long logs = rows.int64();
      count += logs;
      if (severity != null) {
        severities.merge(severity, logs, Long::sum);
      }
    }
    if (count > 0) {
      buckets.add(new HistogramBucket(originNanos + current * widthNanos, count, severities));
    }
    return buckets;
  }

  /** Reads open dead letters. */
  static List<DeadLetterItem> readDeadLetters(InputStream in) throws IOException {
    var rows = new RowBinary(in);
    var items = new ArrayList<DeadLetterItem>();
    for (int first; (first = rows.in.read()) >= 0; ) {
      var id = rows.id(first);
      var tenant = rows.string();
      long receivedNanos = rows.int64();
      var deadLetteredAt = Instant.ofEpochSecond(0, rows.int64());
      var reason = rows.string();
      int code = (int) rows.uint32();
      var otlp = rows.binary();
      int expandedBytes = (int) rows.uint32();
      long version = rows.uint32();
      var log =
          new LogBatch(
              ReplayId.of(id, 1 + ClickHouseDeadLetterStore.replays(version)),
              tenant,
              receivedNanos,
              id,
              1,
              expandedBytes,
              otlp);
      items.add(
          new DeadLetterItem(
              new DeadLetter(log, reason, code, deadLetteredAt),
              ClickHouseDeadLetterStore.isReplaying(version)));
    }
    return items;
  }

  /** Reads pairs of log id and version. */
  static Map<LogId, Long> readVersions(InputStream in) throws IOException {
    var rows = new RowBinary(in);
    var versions = new HashMap<LogId, Long>();
    for (int first; (first = rows.in.read()) >= 0; ) {
      versions.put(rows.id(first), rows.uint32());
    }
    return versions;
  }

  /** Reads a single number. */
  static long readInt64(InputStream in) throws IOException {
    return new RowBinary(in).int64();
  }

  /**
   * Reads dictionary entries of the given tenant and kind.
   *
   * @param maxBytes maximum size of all texts in bytes
   * @throws ClickHouseException when the texts are larger, before all of the stream is read
   */
  static List<DictionaryEntry> readEntries(
      InputStream in, String tenant, EntryKind kind, long maxBytes) throws IOException {
    var rows = new RowBinary(in);
    var entries = new ArrayList<DictionaryEntry>();
    while (!rows.isAtEnd()) {
      entries.add(
          new DictionaryEntry(
              tenant,
              kind,
              rows.uuid(),
              rows.string(),
              rows.int64(),
              rows.int64(),
              DictionaryTable.fromColumnValue(rows.uuid())));
      if (rows.bytes > maxBytes) {
        throw ClickHouseException.retryable("dictionary texts exceed %d bytes".formatted(maxBytes));
      }
    }
    return entries;
  }

  static List<WritePosition> readWritePositions(InputStream in) throws IOException {
    var rows = new RowBinary(in);
    var positions = new ArrayList<WritePosition>();
    while (!rows.isAtEnd()) {
      positions.add(new WritePosition(rows.int64(), rows.uuid()));
    }
    return positions;
  }

  static List<TemplateLink> readLinks(InputStream in) throws IOException {
    var rows = new RowBinary(in);
    var links = new ArrayList<TemplateLink>();
    while (!rows.isAtEnd()) {
      links.add(new TemplateLink(rows.uuid(), rows.uuid()));
    }
    return links;
  }

  /**
   * Appends the counts of the stream; returns whether it stopped before the end because of their
   * number or the size of the service names.
   */
  static boolean readCounts(InputStream in, int maxRows, long maxBytes, List<TemplateCount> into)
      throws IOException {
    var rows = new RowBinary(in);
    var services = new HashMap<String, String>(); // few distinct names, shared by many rows
    while (!rows.isAtEnd()) {
      if (into.size() == maxRows || rows.bytes > maxBytes) {
        return true;
      }
      into.add(
          new TemplateCount(
              rows.uuid(),
              services.computeIfAbsent(rows.string(), name -> name),
              rows.in.readUnsignedByte(),
              rows.int64(),
              rows.int64()));
    }
    return false;
  }

  static Map<UUID, MinuteRange> readMinutes(InputStream in) throws IOException {
    var rows = new RowBinary(in);
    var minutes = new HashMap<UUID, MinuteRange>();
    while (!rows.isAtEnd()) {
      minutes.put(rows.uuid(), new MinuteRange(rows.int64(), rows.int64()));
    }
    return minutes;
  }

  /** Reads service activity; empty when there are more rows or more bytes than allowed. */
  static Optional<List<ServiceActivity>> readServiceActivity(
      InputStream in, int maxRows, long maxBytes) throws IOException {
    return readBounded(
        in,
        maxRows,
        maxBytes,
        (rows, interner) ->
            new ServiceActivity(
                rows.uuid(),
                interner.apply(rows.string()),
                new MinuteRange(rows.int64(), rows.int64())));
  }

  /** Reads count buckets; empty when there are more rows or more bytes than allowed. */
  static Optional<List<CountBucket>> readCountBuckets(InputStream in, int maxRows, long maxBytes)
      throws IOException {
    return readBounded(
        in,
        maxRows,
        maxBytes,
        (rows, interner) ->
            new CountBucket(
                rows.uuid(),
                interner.apply(rows.string()),
                rows.in.readUnsignedByte(),
                rows.int64(),
                rows.int64(),
                minute(rows.int64()),
                minute(rows.int64())));
  }

  /** Returns the minute of a {@code DateTime64(0)} value. */
  private static long minute(long seconds) {
    return Math.floorDiv(seconds, 60);
  }

  /** Reads one row. */
  private interface RowReader<T> {
    /**
     * @param interner returns the same object for equal names, of which there are few
     */
    T read(RowBinary rows, UnaryOperator<String> interner) throws IOException;
  }

  private static <T> Optional<List<T>> readBounded(
      InputStream in, int maxRows, long maxBytes, RowReader<T> row) throws IOException {
    var rows = new RowBinary(in);
    var names = new HashMap<String, String>();
    var read = new ArrayList<T>();
    while (!rows.isAtEnd()) {
      if (read.size() == maxRows || rows.bytes > maxBytes) {
        return Optional.empty();
      }
      read.add(row.read(rows, name -> names.computeIfAbsent(name, _ -> name)));
    }
    return Optional.of(read);
  }

  static List<SampleLog> readSampleLogs(InputStream in) throws IOException {
    var rows = new RowBinary(in);
    var logs = new ArrayList<SampleLog>();
    while (!rows.isAtEnd()) {
      logs.add(
          new SampleLog(
              rows.uuid(),
              rows.id(rows.in.readUnsignedByte()),
              rows.int64(),
              rows.in.readUnsignedByte(),
              rows.string(),
              rows.string()));
    }
    return logs;
  }

  static List<UUID> readUuids(InputStream in) throws IOException {
    var rows = new RowBinary(in);
    var ids = new ArrayList<UUID>();
    while (!rows.isAtEnd()) {
      ids.add(rows.uuid());
    }
    return ids;
  }

  static List<String> readStrings(InputStream in) throws IOException {
    var rows = new RowBinary(in);
    var strings = new ArrayList<String>();
    while (!rows.isAtEnd()) {
      strings.add(rows.string());
    }
    return strings;
  }

  /** Reads a fixed number of values. */
  static long[] readInt64s(InputStream in, int count) throws IOException {
    var row = new RowBinary(in);
    var numbers = new long[count];
    for (int i = 0; i < count; i++) {
      numbers[i] = row.int64();
    }
    return numbers;
  }

  static Map<UUID, TemplateSample> readSamples(InputStream in) throws IOException {
    var rows = new RowBinary(in);
    var samples = new HashMap<UUID, TemplateSample>();
    while (!rows.isAtEnd()) {
      samples.put(rows.uuid(), new TemplateSample(rows.string(), rows.string(), rows.string()));
    }
    return samples;
  }

  static List<Candidate> readCandidates(InputStream in) throws IOException {
    var rows = new RowBinary(in);
    var candidates = new LinkedHashMap<UUID, Candidate>(); // an id may have two rows before a merge
    while (!rows.isAtEnd()) {
      var id = rows.uuid();
      double score = Double.longBitsToDouble(rows.int64());
      boolean allWords = rows.in.readUnsignedByte() == 1;
      candidates.putIfAbsent(id, new Candidate(id, score, allWords));
    }
    return List.copyOf(candidates.values());
  }

  static List<UnembeddedTemplate> readUnembeddedTemplates(InputStream in) throws IOException {
    var rows = new RowBinary(in);
    var templates = new ArrayList<UnembeddedTemplate>();
    while (!rows.isAtEnd()) {
      templates.add(new UnembeddedTemplate(rows.uuid(), rows.string(), rows.int64()));
    }
    return templates;
  }

  static List<Vectors> readVectors(InputStream in) throws IOException {
    var rows = new RowBinary(in);
    var found = new ArrayList<Vectors>();
    while (!rows.isAtEnd()) {
      found.add(new Vectors(rows.uuid(), rows.floats(), rows.binary()));
    }
    return found;
  }

  private float[] floats() throws IOException {
    var numbers = new float[length()];
    for (int i = 0; i < numbers.length; i++) {
      numbers[i] = Float.intBitsToFloat(Integer.reverseBytes(in.readInt()));
    }
    return numbers;
  }

  private boolean isAtEnd() throws IOException {
    in.mark(1);
    boolean end = in.read() < 0;
    in.reset();
    return end;
  }

  private LogId id(int first) throws IOException {
    long high =
        (long) first << 56 | (in.readShort() & 0xFFFFL) << 40 | (in.readByte() & 0xFFL) << 32;
    high |= in.readInt() & 0xFFFF_FFFFL;
    return new LogId(high, in.readLong());
  }

  private StoredLog log(int first) throws IOException {
    return new StoredLog(
        id(first),
        int64(),
        int64(),
        int64(),
        in.readUnsignedByte(),
        string(),
        string(),
        string(),
        string(),
        string(),
        uint32(),
        string(),
        map(),
        uint32(),
        map(),
        string(),
        string(),
        string(),
        map(),
        string(),
        DictionaryTable.fromColumnValue(uuid()),
        DictionaryTable.fromColumnValue(uuid()));
  }

  /** Reads a UUID: the upper half first, each half in little-endian order. */
  private UUID uuid() throws IOException {
    return new UUID(int64(), int64());
  }

  private long int64() throws IOException {
    return Long.reverseBytes(in.readLong());
  }

  private long uint32() throws IOException {
    return Integer.reverseBytes(in.readInt()) & 0xFFFF_FFFFL;
  }

  private int length() throws IOException {
    long value = 0;
    for (int shift = 0; shift < 35; shift += 7) {
      int next = in.readUnsignedByte();
      value |= (long) (next & 0x7F) << shift;
      if (next < 0x80) {
        return Math.toIntExact(value);
      }
    }
    throw new IOException("varint length exceeds five bytes");
  }

  private String string() throws IOException {
    return new String(binary(), UTF_8);
  }

  private byte[] binary() throws IOException {
    int length = length();
    var read = in.readNBytes(length);
    if (read.length < length) {
      throw new EOFException("response ends within a string");
    }
    bytes += length;
    return read;
  }

  private Map<String, String> map() throws IOException {
    int size = length();
    var map = LinkedHashMap.<String, String>newLinkedHashMap(Math.min(size, 1 << 10));
    for (int i = 0; i < size; i++) {
      map.put(string(), string());
    }
    return map;
  }
}
