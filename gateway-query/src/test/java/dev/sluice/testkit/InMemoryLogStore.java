package dev.sluice.testkit;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.domain.RecordIds;
import dev.sluice.core.domain.Severity;
import dev.sluice.core.otlp.AnyValue;
import dev.sluice.core.otlp.AnyValueFormatter;
import dev.sluice.core.otlp.Attributes;
import dev.sluice.core.otlp.BatchWalker;
import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.MalformedOtlpException;
import dev.sluice.core.otlp.OtlpRecord;
import dev.sluice.core.otlp.OtlpRecordVisitor;
import dev.sluice.core.otlp.OtlpWalker;
import dev.sluice.core.otlp.UnstorableBatchException;
import dev.sluice.core.port.LogStore;
import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.LogReader;
import dev.sluice.templates.dictionary.TextReference;
import java.time.Duration;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A log store in memory that is also its own reader.
 *
 * <p>{@link #setOutcome} makes it unavailable or makes it reject records. Thread-safe; all state is
 * guarded by this object.
 */
public final class InMemoryLogStore implements LogStore, LogReader {
  private static final Comparator<StoredLog> NEWEST_FIRST =
      Comparator.comparingLong(StoredLog::timeNanos).thenComparing(StoredLog::id).reversed();

  private static final long DAY_NANOS = Duration.ofDays(1).toNanos();

  /**
   * A stored record.
   *
   * @param batch the batch of the record, as it was sent
   * @param ordinal the index of the record in the walk of the batch
   * @param log the record as it is stored, with text references
   */
  private record Row(LogBatch batch, int ordinal, StoredLog log) {}

  private final List<Row> rows = new ArrayList<>();
  private final Set<LogId> storedIds = new HashSet<>();
  private final Set<String> tokens = new HashSet<>();
  private @Nullable StoreResult forcedOutcome;

  /** Makes all stores return this result and store nothing; null makes them store again. */
  public synchronized void setOutcome(@Nullable StoreResult storeResult) {
    forcedOutcome = storeResult;
  }

  /** Returns all stored records in the order of storing. */
  public synchronized List<StoredLog> logs() {
    return rows.stream().map(Row::log).toList();
  }

  /** Assigns a template to a stored log. */
  public synchronized void assignTemplate(LogId log, UUID template) {
    rows.replaceAll(
        row ->
            row.log().id().equals(log)
                ? new Row(row.batch(), row.ordinal(), row.log().withTemplateId(template))
                : row);
  }

  @Override
  public synchronized StoreResult store(DeliverySlice slice, RecordIds ids) {
    if (forcedOutcome != null) {
      return forcedOutcome;
    }
    var newRows = new ArrayList<Row>();
    int base = 0;
    for (var batch : slice.batches()) {
      int first = Math.max(0, slice.from() - base);
      int end = Math.min(batch.records(), slice.to() - base);
      if (first < end) {
        try {
          var all = new ArrayList<Row>();
          new BatchWalker().walk(batch, new RowBuilder(batch, ids, base, all));
          newRows.addAll(all.subList(first, end));
        } catch (UnstorableBatchException e) {
          return new StoreResult.Corrupt(e.appendId(), e.reason());
        }
      }
      base += batch.records();
    }
    boolean known = !tokens.add(slice.token());
    for (var row : newRows) {
      if (slice.redelivered() ? !storedIds.contains(row.log().id()) : !known) {
        storedIds.add(row.log().id());
        rows.add(row);
      }
    }
    return new StoreResult.Stored();
  }

  @Override
  public synchronized SortedMap<LocalDate, Long> storedRecords(LocalDate from) {
    return rows.stream()
        .map(row -> LocalDate.ofEpochDay(row.log().receivedNanos() / DAY_NANOS))
        .filter(day -> !day.isBefore(from))
        .collect(Collectors.groupingBy(day -> day, TreeMap::new, Collectors.counting()));
  }

  @Override
  public Duration minInsertInterval() {
    return Duration.ZERO;
  }

  @Override
  public synchronized LogPage read(Query query) {
    var logs =
        matching(query.filter()).stream()
            .filter(log -> isAfter(log, query.after()))
            .sorted(NEWEST_FIRST)
            .limit(query.limit() + 1L)
            .toList();
    if (logs.size() <= query.limit()) {
      return new LogPage(logs, null);
    }
    var last = logs.get(query.limit() - 1);
    return new LogPage(logs.subList(0, query.limit()), new Position(last.timeNanos(), last.id()));
  }

  /** Returns the rows whose records, as they were sent, match the filter. */
  private List<StoredLog> matching(LogFilter filter) {
    var byBatch = new IdentityHashMap<LogBatch, Map<Integer, List<StoredLog>>>();
    rows.forEach(
        row ->
            byBatch
                .computeIfAbsent(row.batch(), _ -> new HashMap<>())
                .computeIfAbsent(row.ordinal(), _ -> new ArrayList<>())
                .add(row.log()));
    var matching = new ArrayList<StoredLog>();
    byBatch.forEach(
        (batch, logs) -> {
          try {
            var otlp = batch.otlp();
            new OtlpWalker(Limits.TRUSTED)
                .walk(otlp, 0, otlp.length, new RowMatcher(filter, batch, logs, matching));
          } catch (MalformedOtlpException e) {
            throw new IllegalStateException("a stored batch is not OTLP", e);
          }
        });
    return matching;
  }

  /** Collects the stored records that match a filter. */
  private record RowMatcher(
      LogFilter filter,
      LogBatch batch,
      Map<Integer, List<StoredLog>> logs,
      List<StoredLog> matching)
      implements OtlpRecordVisitor {
    @Override
    public void visitRecord(OtlpRecord log) {
      for (var stored : logs.getOrDefault(log.ordinal(), List.of())) {
        if (filter.matches(batch, log, stored.templateId(), stored.resourceId())) {
          matching.add(stored);
        }
      }
    }

    @Override
    public void visitRejected(int ordinal, String field, String reason) {}
  }

  private static boolean isAfter(StoredLog log, @Nullable Position after) {
    return after == null
        || log.timeNanos() < after.timeNanos()
        || (log.timeNanos() == after.timeNanos() && log.id().compareTo(after.id()) < 0);
  }

  @Override
  public synchronized TimeExtent timeExtent(LogFilter filter) {
    var times = matching(filter).stream().mapToLong(StoredLog::timeNanos).summaryStatistics();
    return times.getCount() == 0
        ? new TimeExtent(0, 0, 0)
        : new TimeExtent(times.getCount(), times.getMin(), times.getMax());
  }

  @Override
  public synchronized List<HistogramBucket> histogram(
      LogFilter filter, long originNanos, long widthNanos) {
    var buckets = new TreeMap<Long, List<StoredLog>>();
    for (var log : matching(filter)) {
      long bucket = (log.timeNanos() - originNanos) / widthNanos;
      buckets.computeIfAbsent(bucket, _ -> new ArrayList<>()).add(log);
    }
    return buckets.entrySet().stream()
        .map(
            bucket ->
                new HistogramBucket(
                    originNanos + bucket.getKey() * widthNanos,
                    bucket.getValue().size(),
                    bucket.getValue().stream()
                        .map(log -> Severity.of(log.severityNumber()))
                        .filter(Objects::nonNull)
                        .collect(Collectors.groupingBy(s -> s, Collectors.counting()))))
        .toList();
  }

  /**
   * Converts each record to a row.
   *
   * @param base the index of the batch's first record in the delivery
   */
  private record RowBuilder(LogBatch batch, RecordIds ids, int base, List<Row> into)
      implements BatchWalker.BatchVisitor {
    @Override
    public void visitRecord(int index, OtlpRecord log) {
      int record = base + index;
      var sent = row(log, batch.firstId().plus(index));
      into.add(
          new Row(
              batch,
              log.ordinal(),
              sent.with(
                  encodeTexts(record, log.attributes(), log.bytes(), sent.attributes()),
                  id(ids.templateHigh(record), ids.templateLow(record)),
                  id(ids.resourceHigh(record), ids.resourceLow(record)))));
    }

    private static @Nullable UUID id(long high, long low) {
      return high == 0 && low == 0 ? null : new UUID(high, low);
    }

    private StoredLog row(OtlpRecord log, LogId id) {
      var bytes = log.bytes();
      long received = batch.receivedNanos();
      long observed = log.observedNanos() == 0 ? received : log.observedNanos();
      var resource = attributes(log.resource().attributes(), bytes);
      var scope = log.scope();
      return new StoredLog(
          id,
          log.timeNanos() == 0 ? observed : log.timeNanos(),
          observed,
          received,
          log.severityNumber(),
          text(bytes, log.severityTextOffset(), log.severityTextLength()),
          resource.getOrDefault("service.name", ""),
          text(log.body(), bytes),
          hex(bytes, log.traceIdOffset(), log.traceIdLength()),
          hex(bytes, log.spanIdOffset(), log.spanIdLength()),
          Integer.toUnsignedLong(log.flags()),
          text(bytes, log.eventNameOffset(), log.eventNameLength()),
          attributes(log.attributes(), bytes),
          Integer.toUnsignedLong(log.droppedAttributes()),
          resource,
          text(bytes, log.resource().schemaUrlOffset(), log.resource().schemaUrlLength()),
          text(bytes, scope.nameOffset(), scope.nameLength()),
          text(bytes, scope.versionOffset(), scope.versionLength()),
          attributes(scope.attributes(), bytes),
          text(bytes, scope.schemaUrlOffset(), scope.schemaUrlLength()),
          null,
          null);
    }

    private static Map<String, String> attributes(Attributes attributes, byte[] bytes) {
      var map = new LinkedHashMap<String, String>();
      for (int i = 0; i < attributes.size(); i++) {
        map.put(
            text(bytes, attributes.keyOffset(i), attributes.keyLength(i)),
            text(attributes.value(i), bytes));
      }
      return map;
    }

    /** Returns the attributes as they are stored: texts in the dictionary become references. */
    private Map<String, String> encodeTexts(
        int record, Attributes attributes, byte[] bytes, Map<String, String> sent) {
      var stored = new LinkedHashMap<>(sent);
      for (int i = 0; i < attributes.size(); i++) {
        var value = attributes.value(i);
        if (value.kind() == AnyValue.Kind.STRING) {
          var key = text(bytes, attributes.keyOffset(i), attributes.keyLength(i));
          stored.compute(
              key,
              (_, text) ->
                  ids.findText(record, value.offset()) >= 0
                      ? TextReference.of(text)
                      : TextReference.escape(text));
        }
      }
      return stored;
    }

    private static String text(AnyValue value, byte[] bytes) {
      var out = new ByteOutput(64);
      AnyValueFormatter.append(value, bytes, out);
      return text(out.array(), 0, out.size());
    }

    private static String text(byte[] bytes, int offset, int length) {
      return new String(bytes, offset, length, UTF_8);
    }

    private static String hex(byte[] bytes, int offset, int length) {
      return HexFormat.of().formatHex(bytes, offset, offset + length);
    }
  }
}
