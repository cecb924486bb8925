package dev.sluice.clickhouse;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.domain.RecordIds;
import dev.sluice.core.otlp.UnstorableBatchException;
import dev.sluice.core.port.LogStore;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.time.InstantSource;
import java.time.LocalDate;
import java.util.BitSet;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedDeque;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A {@link LogStore} on the ClickHouse table {@code otel_logs}.
 *
 * <p>The number of concurrent inserts is the number of concurrent callers of {@link #store}, which
 * should be small: few large inserts cost ClickHouse far less than many small ones.
 *
 * <p>Safe for use by many threads. All methods but the constructor block.
 */
public final class ClickHouseLogWriter implements LogStore {
  private static final Logger LOG = LoggerFactory.getLogger(ClickHouseLogWriter.class);

  /**
   * Maximum number of builders that are kept for the next delivery, one for each of the default
   * workers.
   */
  private static final int MAX_SPARE_BUILDERS = 2;

  /**
   * Maximum number of deduplication tokens of a delivery. A token that hides missing records is
   * rare; several in a row indicate another fault.
   */
  private static final int MAX_INSERT_TOKENS = 5;

  private final ClickHouseDatabase database;
  private final ClickHouseClient client;
  private final ConcurrentLinkedDeque<LogBlockBuilder> spareBuilders =
      new ConcurrentLinkedDeque<>();
  private final InstantSource clock;
  private final InsertPacer pacer;

  public ClickHouseLogWriter(ClickHouseDatabase database) {
    this(database, InstantSource.system());
  }

  /**
   * @param clock the clock for the retention and for the age of cached part counts
   */
  public ClickHouseLogWriter(ClickHouseDatabase database, InstantSource clock) {
    this.database = database;
    this.clock = clock;
    client = database.client();
    pacer = new InsertPacer(client, clock);
  }

  /**
   * Stores the records in one insert, or in several inserts of different partitions or of a limited
   * size. A first attempt relies on the confirmation of ClickHouse; a redelivery checks which
   * records are stored, see {@link #storeMissing}.
   */
  @Override
  public StoreResult store(DeliverySlice slice, RecordIds ids) throws InterruptedException {
    var builder = spareBuilders.pollFirst();
    if (builder == null) {
      builder = new LogBlockBuilder();
    }
    try {
      database.migrate();
      if (slice.redelivered()) {
        storeMissing(slice, ids, builder);
      } else {
        insert(slice, ids, null, "", builder);
      }
      return new StoreResult.Stored();
    } catch (UnstorableBatchException e) {
      LOG.error("insert failed: corrupt batch in the delivery: {}", e.getMessage());
      return new StoreResult.Corrupt(e.appendId(), e.reason());
    } catch (ClickHouseException e) {
      return toStoreResult(e);
    } finally {
      recycle(builder);
    }
  }

  /**
   * Inserts the missing records of a slice that an earlier attempt may have inserted; see ADR 0026.
   *
   * <ul>
   *   <li>A deduplication token alone proves nothing. ClickHouse forgets a token after a number of
   *       inserts, so that the rows would be stored twice; or it remembers a token whose rows were
   *       lost in a crash, so that the rows would never be stored.
   *   <li>A lookup proves nothing while an earlier insert may still run. So earlier inserts are
   *       killed first.
   *   <li>An earlier insert may even start after this one, when its bytes are delayed in the
   *       network or its sender is suspended. So the first insert here has the same token, which
   *       ClickHouse accepts once.
   *   <li>Only records that are missing after an insert with their token get another token, which
   *       is the same for every gateway that reaches this point.
   *   <li>Stored records are not inserted again, not even with their token: views of the table
   *       would count these twice once the token is forgotten.
   * </ul>
   */
  private void storeMissing(DeliverySlice slice, RecordIds ids, LogBlockBuilder builder)
      throws InterruptedException {
    client.killInserts(queryIdPrefix(slice));
    var missing = findMissing(new DuplicateCheck(slice, Long.MIN_VALUE));
    // Records that are older than the retention are inserted as well, but ClickHouse may delete
    // these immediately.
    var retained = new DuplicateCheck(slice, retentionStart());
    for (int token = 0; !missing.isEmpty(); token++) {
      if (token == MAX_INSERT_TOKENS) {
        throw ClickHouseException.retryable(
            "ClickHouse confirmed %d records that are missing from the table"
                .formatted(missing.cardinality()));
      }
      boolean all = missing.cardinality() == slice.records();
      insert(slice, ids, all ? null : missing, token == 0 ? "" : "#" + token, builder);
      missing = findMissing(retained);
    }
  }

  private BitSet findMissing(DuplicateCheck check) {
    var missing = check.positions();
    for (var sql : check.queries()) {
      database.internalQuery(
          sql,
          Map.of(),
          in -> {
            check.clearStored(in, missing);
            return missing;
          });
    }
    return missing;
  }

  private long retentionStart() {
    var retention = database.settings().retention();
    if (retention == null) {
      return Long.MIN_VALUE;
    }
    var start = clock.instant().minus(retention);
    return start.getEpochSecond() * 1_000_000_000L + start.getNano();
  }

  /**
   * Inserts records of a slice.
   *
   * @param records indexes in the slice of the records to insert; null for all. The other records
   *     still influence the partitioning, so that it is the same as for an insert of all records
   * @param tokenSuffix suffix of the deduplication tokens
   */
  private void insert(
      DeliverySlice slice,
      RecordIds ids,
      @Nullable BitSet records,
      String tokenSuffix,
      LogBlockBuilder builder) {
    int inserts = 0;
    int parts = 0;
    for (var partitioner =
            InsertPartitioner.first(
                database.migrator().partitionKey(), database.settings().maxInsertBytes());
        partitioner != null;
        partitioner = partitioner.next()) {
      var selection =
          records == null ? partitioner : withoutStored(slice, partitioner, records, builder);
      if (selection != null) {
        var token = (inserts == 0 ? slice.token() : slice.token() + "-" + inserts) + tokenSuffix;
        client.insert(
            "otel_logs",
            builder.columnNames(),
            out -> builder.fill(slice, selection, ids, block -> block.writeTo(out)),
            token,
            queryIdPrefix(slice) + token + "~" + UUID.randomUUID());
      }
      inserts++;
      parts += partitioner.partitionCount();
    }
    pacer.recordInsert(parts);
  }

  /**
   * Returns a partitioner of the missing records among those that the given one selects; null when
   * there are none.
   */
  private static @Nullable InsertPartitioner withoutStored(
      DeliverySlice slice, InsertPartitioner partitioner, BitSet missing, LogBlockBuilder builder) {
    try {
      builder.fill(slice, partitioner, RecordIds.NONE, _ -> {}); // only to select the records
    } catch (IOException e) {
      throw new UncheckedIOException(e); // impossible, since nothing is written
    }
    var selected = partitioner.selected();
    selected.and(missing);
    return selected.isEmpty() ? null : partitioner.ofSelected(selected);
  }

  /**
   * Returns the common prefix of the query ids of all inserts of a delivery. It does not contain
   * the token, since a part of a delivery has another token than the whole delivery, and an insert
   * of the whole delivery must also be killed.
   */
  private static String queryIdPrefix(DeliverySlice slice) {
    return slice.batches().getFirst().appendId() + "~";
  }

  private StoreResult toStoreResult(ClickHouseException e) throws InterruptedException {
    database.onFailure(e);
    return switch (e.kind()) {
      case RETRYABLE -> new StoreResult.Retryable(e.text());
      case SCHEMA_MISMATCH -> new StoreResult.SchemaMismatch(e.text());
      case REJECTED -> new StoreResult.Rejected(e.text(), e.code());
    };
  }

  private void recycle(LogBlockBuilder builder) {
    if (!builder.oversized() && spareBuilders.size() < MAX_SPARE_BUILDERS) {
      spareBuilders.addFirst(builder);
    }
  }

  @Override
  public SortedMap<LocalDate, Long> storedRecords(LocalDate from) {
    try {
      database.migrate();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw ClickHouseException.unreachable("interrupted during the schema migration", e);
    }
    return database.internalQuery(
        // Rows of other writers have an empty Id.
        """
        SELECT toDate32(ReceivedTimestamp, 'UTC') AS day, count() FROM otel_logs
        WHERE Id != toFixedString('', 16)
          AND ReceivedTimestamp >= toDateTime64({from:String}, 9, 'UTC')
        GROUP BY day FORMAT TSVRaw""",
        Map.of("from", from.isBefore(LocalDate.EPOCH) ? "1970-01-01" : from.toString()),
        ClickHouseLogWriter::parseDays);
  }

  private static SortedMap<LocalDate, Long> parseDays(InputStream in) throws IOException {
    var days = new TreeMap<LocalDate, Long>();
    new String(in.readAllBytes(), UTF_8)
        .lines()
        .map(line -> line.split("\t", 2))
        .forEach(line -> days.put(LocalDate.parse(line[0]), Long.valueOf(line[1])));
    return days;
  }

  /** {@inheritDoc} Depends on the active parts of the table: see {@link InsertPacer}. */
  @Override
  public Duration minInsertInterval() {
    return pacer.minInsertInterval();
  }

  /** {@inheritDoc} Depends on the parts of the last insert: see {@link InsertPacer}. */
  @Override
  public Duration preferredLinger() {
    return pacer.preferredLinger();
  }
}
