package dev.sluice.core.ledger;

import dev.sluice.core.port.DailyCounts;
import dev.sluice.core.port.DailyCounts.RecordCounts;
import dev.sluice.core.port.DeadLetterStore;
import dev.sluice.core.port.DeadLetterStore.DeadLetterCounts;
import dev.sluice.core.port.LogStore;
import java.time.Duration;
import java.time.InstantSource;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A check that no record is lost or duplicated. For each receive day in a window of the last days
 * it compares the record counts of the spool with those of the log store and of the dead letters:
 *
 * <pre>accepted = stored + in flight + dead-lettered + purged + quarantined</pre>
 *
 * <p>Each figure is counted where its records are; none is derived from the others. So the equation
 * can fail, and a failure means that records are missing or duplicated.
 *
 * <p>A record is accepted once. A replay is no further acceptance: its record is no dead letter any
 * more and is in flight again.
 *
 * <p>The counts are not taken at the same instant. A record is in the store, or among the dead
 * letters, before the spool counts it as delivered. A stored record stays stored, and is never a
 * dead letter later. A dead letter whose replay has started and is not known to be complete may be
 * stored or not. With the spool and then the dead letters queried before the store, and in the
 * reverse order after it, this holds regardless of concurrent changes:
 *
 * <pre>
 * accepted - in flight - dead-lettered - replaying - purged - quarantined, before
 *   &lt;= stored
 *   &lt;= accepted - dead-lettered - purged - quarantined, after
 * </pre>
 *
 * <p>A stored count below this range means missing records, a count above it means duplicates.
 * Within the range nothing can be proved. Its width is at most the number of records in flight and
 * in replays, and zero when there is none, which a past day reaches as soon as its records are
 * delivered. The spool reads its own figures one after the other too, and a replay may start
 * between two queries, so an imbalance counts only as far as a second comparison confirms it.
 *
 * <p>A spool that was upgraded or replaced has no counts for earlier days. The ledger omits the
 * days before {@link DailyCounts#countsCompleteSince}. It also omits that day itself when the store
 * has logs of an earlier day: the spool is then newer than the logs, and may have started to count
 * in the middle of the day. The same applies when that day is the first of the window, since
 * earlier days are then not queried.
 *
 * <p>Thread-safe; {@link #count} blocks.
 */
public final class Ledger {
  /** A margin for clock differences and for a query that starts before midnight and ends after. */
  private static final Duration MARGIN = Duration.ofHours(1);

  private final DailyCounts spool;
  private final LogStore store;
  private final DeadLetterStore deadLetterStore;
  private final InstantSource clock;
  private final long days;

  /**
   * @param window the length of the window, today included, rounded down to whole days
   * @param retention the time that the store keeps logs and dead letters, the shorter of both,
   *     counted from their receipt; null for no limit. Days whose logs or dead letters may already
   *     be deleted are omitted.
   */
  public Ledger(
      DailyCounts spool,
      LogStore store,
      DeadLetterStore deadLetterStore,
      InstantSource clock,
      Duration window,
      @Nullable Duration retention) {
    this.spool = spool;
    this.store = store;
    this.deadLetterStore = deadLetterStore;
    this.clock = clock;
    this.days =
        retention == null ? window.toDays() : Math.min(window.toDays(), completeDays(retention));
  }

  /**
   * Returns the number of days, today included, whose logs all stay in the store until the end of
   * today. At that time the oldest log of {@code n} days is {@code n} days old.
   */
  private static long completeDays(Duration retention) {
    return Math.max(0, retention.minus(MARGIN).toDays());
  }

  /**
   * The counts of one day, or the total of all days.
   *
   * @param spool the counts of the spool; null while the spool is unavailable
   * @param deadLetters the counts of the dead letters; null while the store is unavailable
   * @param stored the number of records in the store; null while the store is unavailable
   * @param imbalance the number of missing records, negative when there are duplicates; null when
   *     the counts of the spool or of the store are unknown
   */
  public record LedgerBalance(
      @Nullable RecordCounts spool,
      @Nullable DeadLetterCounts deadLetters,
      @Nullable Long stored,
      @Nullable Long imbalance) {}

  /**
   * The result of {@link #count}.
   *
   * @param from the first day with complete counts; after today when no day has them yet
   * @param days the balance of each day that has logs
   * @param total the sum of all days; its imbalance is the sum of the absolute values of the days,
   *     so that missing records of one day do not cancel duplicates of another
   * @param unavailable the reason by source ({@code spool}, {@code store} or {@code ledger}) that
   *     has no counts; empty when every query succeeded
   */
  public record LedgerReport(
      LocalDate from,
      SortedMap<LocalDate, LedgerBalance> days,
      LedgerBalance total,
      Map<String, String> unavailable) {}

  /**
   * One comparison of the counts. The counts of the spool and of the dead letters are those after
   * the store was queried, where known.
   *
   * @param imbalance the imbalance of each day that does not balance
   */
  private record Comparison(
      @Nullable SortedMap<LocalDate, RecordCounts> spool,
      @Nullable SortedMap<LocalDate, DeadLetterCounts> deadLetters,
      @Nullable SortedMap<LocalDate, Long> stored,
      SortedMap<LocalDate, Long> imbalance) {

    Comparison from(LocalDate first) {
      return new Comparison(
          spool == null ? null : spool.tailMap(first),
          deadLetters == null ? null : deadLetters.tailMap(first),
          stored == null ? null : stored.tailMap(first),
          imbalance.tailMap(first));
    }

    Comparison withImbalance(SortedMap<LocalDate, Long> confirmed) {
      return new Comparison(spool, deadLetters, stored, confirmed);
    }
  }

  /** Queries the counts, and repeats the queries when the counts do not balance. */
  public LedgerReport count() {
    var today = clock.instant().atOffset(ZoneOffset.UTC).toLocalDate();
    var from = today.minusDays(Math.max(0, days - 1));
    var unavailable = new LinkedHashMap<String, String>();
    if (days < 1) {
      unavailable.put("ledger", "the retention is too short: no day is complete");
      return report(from, new Comparison(null, null, null, new TreeMap<>()), unavailable);
    }
    var comparison = compare(from, unavailable);
    var countsCompleteSince = query("spool", spool::countsCompleteSince, unavailable);
    var stored = comparison.stored();
    if (countsCompleteSince == null || stored == null || !unavailable.isEmpty()) {
      return report(from, comparison, unavailable);
    }
    var first = firstBalancedDay(from, countsCompleteSince, stored);
    comparison = comparison.from(first);
    if (!comparison.imbalance().isEmpty()) {
      var recheck = compare(first, unavailable);
      comparison =
          recheck.withImbalance(confirmedImbalance(comparison.imbalance(), recheck.imbalance()));
    }
    return report(first, comparison, unavailable);
  }

  private Comparison compare(LocalDate from, Map<String, String> unavailable) {
    var before = query("spool", () -> spool.recordCounts(from), unavailable);
    var deadBefore = query("store", () -> deadLetterStore.counts(from), unavailable);
    var stored = query("store", () -> store.storedRecords(from), unavailable);
    if (before == null || deadBefore == null || stored == null) {
      return new Comparison(before, deadBefore, stored, new TreeMap<>());
    }
    var deadAfter = query("store", () -> deadLetterStore.counts(from), unavailable);
    var after = query("spool", () -> spool.recordCounts(from), unavailable);
    if (deadAfter == null || after == null) {
      return new Comparison(before, deadBefore, stored, new TreeMap<>());
    }
    return new Comparison(
        after, deadAfter, stored, imbalance(before, deadBefore, stored, deadAfter, after));
  }

  /** Returns the first day for which both the spool and the store have complete counts. */
  private static LocalDate firstBalancedDay(
      LocalDate from, LocalDate countsCompleteSince, SortedMap<LocalDate, Long> stored) {
    if (countsCompleteSince.isBefore(from)) {
      return from;
    }
    boolean startsLate =
        countsCompleteSince.equals(from) || !stored.headMap(countsCompleteSince).isEmpty();
    return startsLate ? countsCompleteSince.plusDays(1) : countsCompleteSince;
  }

  private static <T> @Nullable T query(
      String source, Supplier<T> query, Map<String, String> unavailable) {
    try {
      return query.get();
    } catch (RuntimeException e) {
      unavailable.put(source, e.getMessage() == null ? e.toString() : e.getMessage());
      return null;
    }
  }

  /** Returns the imbalance of each day that does not balance. */
  private static SortedMap<LocalDate, Long> imbalance(
      SortedMap<LocalDate, RecordCounts> before,
      SortedMap<LocalDate, DeadLetterCounts> deadBefore,
      SortedMap<LocalDate, Long> stored,
      SortedMap<LocalDate, DeadLetterCounts> deadAfter,
      SortedMap<LocalDate, RecordCounts> after) {
    var imbalance = new TreeMap<LocalDate, Long>();
    var days = new TreeSet<>(before.keySet());
    days.addAll(deadBefore.keySet());
    days.addAll(stored.keySet());
    days.addAll(deadAfter.keySet());
    days.addAll(after.keySet());
    for (var day : days) {
      long storedCount = stored.getOrDefault(day, 0L);
      var first = before.getOrDefault(day, RecordCounts.NONE);
      var firstDead = deadBefore.getOrDefault(day, DeadLetterCounts.NONE);
      long min = storable(first, firstDead) - first.inFlight() - firstDead.replaying();
      long max =
          storable(
              after.getOrDefault(day, RecordCounts.NONE),
              deadAfter.getOrDefault(day, DeadLetterCounts.NONE));
      if (storedCount < min) {
        imbalance.put(day, min - storedCount);
      } else if (storedCount > max) {
        imbalance.put(day, max - storedCount);
      }
    }
    return imbalance;
  }

  /** Returns the number of accepted records that the store has or may get. */
  private static long storable(RecordCounts counts, DeadLetterCounts deadLetters) {
    return counts.accepted()
        - deadLetters.deadLettered()
        - deadLetters.purged()
        - counts.quarantined();
  }

  /** Returns for each day the imbalance that both comparisons found: the smaller one of the two. */
  private static SortedMap<LocalDate, Long> confirmedImbalance(
      Map<LocalDate, Long> first, Map<LocalDate, Long> second) {
    var confirmed = new TreeMap<LocalDate, Long>();
    first.forEach(
        (day, firstImbalance) -> {
          long secondImbalance = second.getOrDefault(day, 0L);
          if (Long.signum(firstImbalance) * Long.signum(secondImbalance) > 0) {
            confirmed.put(
                day,
                Math.abs(firstImbalance) < Math.abs(secondImbalance)
                    ? firstImbalance
                    : secondImbalance);
          }
        });
    return confirmed;
  }

  private static LedgerReport report(
      LocalDate from, Comparison comparison, Map<String, String> unavailable) {
    boolean known = unavailable.isEmpty();
    var spool = comparison.spool();
    var deadLetters = comparison.deadLetters();
    var stored = comparison.stored();
    var imbalance = comparison.imbalance();
    var days = new TreeSet<LocalDate>();
    if (spool != null) {
      days.addAll(spool.keySet());
    }
    if (deadLetters != null) {
      days.addAll(deadLetters.keySet());
    }
    if (stored != null) {
      days.addAll(stored.keySet());
    }
    var balances = new TreeMap<LocalDate, LedgerBalance>();
    for (var day : days) {
      balances.put(
          day,
          new LedgerBalance(
              spool == null ? null : spool.getOrDefault(day, RecordCounts.NONE),
              deadLetters == null ? null : deadLetters.getOrDefault(day, DeadLetterCounts.NONE),
              stored == null ? null : stored.getOrDefault(day, 0L),
              known ? imbalance.getOrDefault(day, 0L) : null));
    }
    var total =
        new LedgerBalance(
            spool == null
                ? null
                : spool.values().stream().reduce(RecordCounts.NONE, RecordCounts::plus),
            deadLetters == null
                ? null
                : deadLetters.values().stream()
                    .reduce(DeadLetterCounts.NONE, DeadLetterCounts::plus),
            stored == null ? null : stored.values().stream().mapToLong(Long::longValue).sum(),
            known ? imbalance.values().stream().mapToLong(Math::abs).sum() : null);
    return new LedgerReport(
        from,
        Collections.unmodifiableSortedMap(balances),
        total,
        Collections.unmodifiableMap(unavailable));
  }
}
