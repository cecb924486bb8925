package dev.sluice.clickhouse;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.DeadLetterStore;
import dev.sluice.core.port.SpoolConsumer.Delivery;
import dev.sluice.core.port.WriteResult;
import java.io.IOException;
import java.io.InputStream;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A {@link DeadLetterStore} in the ClickHouse table {@code log_dead_letters}.
 *
 * <p>A row is never updated: each change inserts the row again with a higher version, and the
 * highest version is valid. The version is four times the number of replays before the dead letter,
 * plus the state. It depends only on the append of the delivery and on the state, so that a
 * repeated or late write has no effect, and of a concurrent purge and replay the replay prevails.
 * See ADR 0050.
 *
 * <p>Shares the connections and the schema migration of a {@link ClickHouseDatabase}, whose close
 * also ends this object. Safe for use by many threads; all methods but the constructor block.
 */
public final class ClickHouseDeadLetterStore implements DeadLetterStore {
  private static final String TABLE = "log_dead_letters";

  /** Size of the records of one insert in bytes after which the next insert starts. */
  private static final long MAX_INSERT_BYTES = 16L << 20;

  private static final int STATES = 4;

  /** The states, in the order of their precedence, as in the column State. */
  private enum State {
    DEAD_LETTERED(0),
    PURGED(1),
    REPLAYING(2),
    REPLAYED(3);

    /** The number of the state in {@code Version}, which is stored. */
    private final int number;

    State(int number) {
      this.number = number;
    }

    long version(long replays) {
      return STATES * replays + number;
    }
  }

  private static final String OPEN = hasState(State.DEAD_LETTERED, State.REPLAYING);

  private final ClickHouseDatabase database;

  /**
   * @param database the database whose connections are used
   */
  public ClickHouseDeadLetterStore(ClickHouseDatabase database) {
    this.database = database;
  }

  static int replays(long version) {
    return (int) (version / STATES);
  }

  static boolean isReplaying(long version) {
    return version % STATES == State.REPLAYING.number;
  }

  /** A row to insert. */
  private record Row(DeadLetter letter, long version) {}

  @Override
  public WriteResult write(Delivery delivery, List<DeadLetter> deadLetters)
      throws InterruptedException {
    try {
      insert(
          deadLetters.stream()
              .map(letter -> new Row(letter, State.DEAD_LETTERED.version(letter.replays())))
              .toList());
      if (delivery.redelivered()) {
        completeReplaysOfStored(delivery, deadLetters);
      }
      return new WriteResult.Written();
    } catch (ClickHouseException e) {
      return toWriteResult(e);
    }
  }

  /** Handles a failed write. A rejected row is retried, since no record may be lost. */
  private WriteResult toWriteResult(ClickHouseException e) throws InterruptedException {
    database.onFailure(e);
    return e.kind() == ClickHouseException.FailureKind.SCHEMA_MISMATCH
        ? new WriteResult.SchemaMismatch(e.text())
        : new WriteResult.Retryable(e.text());
  }

  private void completeReplaysOfStored(Delivery delivery, List<DeadLetter> deadLetters)
      throws InterruptedException {
    var rejected =
        deadLetters.stream().map(letter -> letter.log().firstId()).collect(Collectors.toSet());
    var batches = delivery.batches();
    var first = batches.stream().map(LogBatch::firstId).min(LogId::compareTo).orElseThrow();
    var last =
        batches.stream().map(ClickHouseDeadLetterStore::lastId).max(LogId::compareTo).orElseThrow();
    var open = new HashSet<LogId>();
    query(
        "SELECT Id FROM %s FINAL WHERE %s AND %s FORMAT RowBinary"
            .formatted(TABLE, between(first, last), OPEN),
        in -> {
          RowBinary.readIds(in, open::add);
          return open;
        });
    open.removeIf(
        id ->
            rejected.contains(id)
                || batches.stream()
                    .noneMatch(
                        batch ->
                            id.compareTo(batch.firstId()) >= 0
                                && id.compareTo(lastId(batch)) <= 0));
    if (!open.isEmpty()) {
      close(open, State.REPLAYED, OPEN);
    }
  }

  private static LogId lastId(LogBatch batch) {
    return batch.firstId().plus(batch.records() - 1);
  }

  /**
   * {@inheritDoc}
   *
   * <p>A row that is replayed already is that of an earlier dead letter: a gateway of the earlier
   * release has rejected the replay.
   */
  @Override
  public WriteResult adopt(List<DeadLetter> deadLetters) throws InterruptedException {
    if (deadLetters.isEmpty()) {
      return new WriteResult.Written();
    }
    try {
      var ids = deadLetters.stream().map(letter -> letter.log().firstId()).toList();
      var versions =
          query(
              "SELECT Id, Version FROM %s FINAL WHERE %s FORMAT RowBinary"
                  .formatted(TABLE, in(ids)),
              RowBinary::readVersions);
      var rows = new ArrayList<Row>();
      for (var letter : deadLetters) {
        var known = versions.get(letter.log().firstId());
        if (known == null) {
          rows.add(new Row(letter, State.DEAD_LETTERED.version(0)));
        } else if (known % STATES == State.REPLAYED.number) {
          rows.add(new Row(letter, State.DEAD_LETTERED.version(replays(known) + 1L)));
        }
      }
      insert(rows);
      return new WriteResult.Written();
    } catch (ClickHouseException e) {
      return toWriteResult(e);
    }
  }

  @Override
  public List<DeadLetterItem> list(@Nullable LogId after, int limit) {
    return items(
        "%s%s ORDER BY Id LIMIT %d"
            .formatted(OPEN, after == null ? "" : " AND Id > " + literal(after), limit));
  }

  @Override
  public Optional<DeadLetterItem> find(LogId id) {
    return items(OPEN + " AND " + in(List.of(id))).stream().findFirst();
  }

  private List<DeadLetterItem> items(String condition) {
    return queryUninterruptibly(
        """
        SELECT Id, toString(Tenant), toUnixTimestamp64Nano(ReceivedTimestamp),
          toUnixTimestamp64Nano(DeadLetteredAt), Reason, Code, Otlp, ExpandedBytes, Version
        FROM %s FINAL
        WHERE %s
        FORMAT RowBinary"""
            .formatted(TABLE, condition),
        RowBinary::readDeadLetters);
  }

  @Override
  public void startReplay(DeadLetter deadLetter) {
    try {
      insert(List.of(new Row(deadLetter, State.REPLAYING.version(deadLetter.replays()))));
    } catch (InterruptedException e) {
      throw interrupted(e);
    }
  }

  @Override
  public void completeReplay(LogId id) {
    try {
      close(List.of(id), State.REPLAYED, hasState(State.REPLAYING));
    } catch (InterruptedException e) {
      throw interrupted(e);
    }
  }

  @Override
  public boolean purge(LogId id) {
    var item = find(id);
    if (item.isEmpty() || item.get().replayStarted()) {
      return false;
    }
    try {
      close(List.of(id), State.PURGED, hasState(State.DEAD_LETTERED));
      return true;
    } catch (InterruptedException e) {
      throw interrupted(e);
    }
  }

  /** Inserts the rows of these logs again, with a final state and without the record. */
  private void close(Collection<LogId> ids, State state, String condition)
      throws InterruptedException {
    database.migrate();
    database
        .client()
        .execute(
            """
            INSERT INTO %1$s (Tenant, Id, ReceivedTimestamp, DeadLetteredAt, Reason, Code,
              ExpandedBytes, Version)
            SELECT Tenant, Id, ReceivedTimestamp, DeadLetteredAt, Reason, Code, ExpandedBytes,
              intDiv(Version, %5$d) * %5$d + %2$d
            FROM %1$s FINAL
            WHERE %3$s AND %4$s
            SETTINGS async_insert = 0"""
                .formatted(TABLE, state.number, in(ids), condition, STATES));
  }

  @Override
  public List<LogId> findBetween(LogId first, LogId last) {
    return queryUninterruptibly(
        "SELECT Id FROM %s FINAL WHERE %s AND NOT %s FORMAT RowBinary"
            .formatted(TABLE, between(first, last), hasState(State.REPLAYED)),
        in -> {
          var ids = new ArrayList<LogId>();
          RowBinary.readIds(in, ids::add);
          return ids;
        });
  }

  @Override
  public SortedMap<LocalDate, DeadLetterCounts> counts(LocalDate from) {
    var since = from.isBefore(LocalDate.EPOCH) ? LocalDate.EPOCH : from;
    return queryUninterruptibly(
        """
        SELECT toDate32(ReceivedTimestamp, 'UTC') AS day, countIf(%s), countIf(%s), countIf(%s)
        FROM %s FINAL
        WHERE ReceivedTimestamp >= toDateTime64('%s', 9, 'UTC') AND NOT %s
        GROUP BY day
        FORMAT TSVRaw"""
            .formatted(
                hasState(State.DEAD_LETTERED),
                hasState(State.REPLAYING),
                hasState(State.PURGED),
                TABLE,
                since,
                hasState(State.REPLAYED)),
        ClickHouseDeadLetterStore::parseCounts);
  }

  private static SortedMap<LocalDate, DeadLetterCounts> parseCounts(InputStream in)
      throws IOException {
    var days = new TreeMap<LocalDate, DeadLetterCounts>();
    new String(in.readAllBytes(), UTF_8)
        .lines()
        .map(line -> line.split("\t", 4))
        .forEach(
            row ->
                days.put(
                    LocalDate.parse(row[0]),
                    new DeadLetterCounts(
                        Long.parseLong(row[1]), Long.parseLong(row[2]), Long.parseLong(row[3]))));
    return days;
  }

  /**
   * Inserts rows. The token of an insert is unique: a token of the delivery would prove nothing
   * once ClickHouse has forgotten it, and would hide rows that ClickHouse has lost in a crash.
   */
  private void insert(List<Row> rows) throws InterruptedException {
    if (rows.isEmpty()) {
      return;
    }
    database.migrate();
    var block = new DeadLetterBlock();
    for (var row : rows) {
      block.add(row);
      if (block.bytes() >= MAX_INSERT_BYTES) {
        insert(block);
        block = new DeadLetterBlock();
      }
    }
    if (block.rows() > 0) {
      insert(block);
    }
  }

  private void insert(DeadLetterBlock block) {
    var token = UUID.randomUUID().toString();
    database.client().insert(TABLE, block.block, token, "dead-letters~" + token);
  }

  /** A block of the table. */
  private static final class DeadLetterBlock {
    final NativeBlock block = new NativeBlock();
    private final LowCardinalityColumn tenant = block.addLowCardinality("Tenant");
    private final Column.PlainColumn id = block.addPlain("Id", "FixedString(16)");
    private final Column.PlainColumn received =
        block.addPlain("ReceivedTimestamp", "DateTime64(9)");
    private final Column.PlainColumn deadLetteredAt =
        block.addPlain("DeadLetteredAt", "DateTime64(9)");
    private final Column.PlainColumn reason = block.addPlain("Reason", "String");
    private final Column.PlainColumn code = block.addPlain("Code", "Int32");
    private final Column.PlainColumn otlp = block.addPlain("Otlp", "String");
    private final Column.PlainColumn expandedBytes = block.addPlain("ExpandedBytes", "UInt32");
    private final Column.PlainColumn version = block.addPlain("Version", "UInt32");

    void add(Row row) {
      var letter = row.letter();
      var log = letter.log();
      tenant.add(log.tenant());
      id.values.writeLongBigEndian(log.firstId().high());
      id.values.writeLongBigEndian(log.firstId().low());
      received.values.writeLong(log.receivedNanos());
      var at = letter.deadLetteredAt();
      deadLetteredAt.values.writeLong(at.getEpochSecond() * 1_000_000_000L + at.getNano());
      var text = letter.reason().getBytes(UTF_8);
      reason.writeString(text, 0, text.length);
      code.values.writeInt(letter.code());
      var bytes = log.otlp();
      otlp.writeString(bytes, 0, bytes.length);
      expandedBytes.values.writeInt(log.expandedBytes());
      version.values.writeInt((int) row.version());
      block.endRow();
    }

    int rows() {
      return block.rows();
    }

    long bytes() {
      return block.bytes();
    }
  }

  /** Returns the condition that a row has one of these states. */
  private static String hasState(State... states) {
    return Arrays.stream(states)
        .map(state -> String.valueOf(state.number))
        .collect(Collectors.joining(", ", "(Version % " + STATES + " IN (", "))"));
  }

  private static String between(LogId first, LogId last) {
    return "Id BETWEEN %s AND %s".formatted(literal(first), literal(last));
  }

  private static String in(Collection<LogId> ids) {
    return ids.stream()
        .map(ClickHouseDeadLetterStore::literal)
        .collect(Collectors.joining(", ", "Id IN (", ")"));
  }

  /** Returns an id as a part of a query text, which is safe for its hexadecimal digits. */
  private static String literal(LogId id) {
    return "toFixedString(unhex('%s'), 16)".formatted(id.toHex());
  }

  private <T> T queryUninterruptibly(String sql, ClickHouseClient.ResponseReader<T> reader) {
    try {
      return query(sql, reader);
    } catch (InterruptedException e) {
      throw interrupted(e);
    }
  }

  private <T> T query(String sql, ClickHouseClient.ResponseReader<T> reader)
      throws InterruptedException {
    return database.query(sql, Map.of(), reader);
  }

  private static ClickHouseException interrupted(InterruptedException e) {
    Thread.currentThread().interrupt();
    return ClickHouseException.unreachable("interrupted", e);
  }
}
