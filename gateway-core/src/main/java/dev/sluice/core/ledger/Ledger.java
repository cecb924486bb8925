package dev.sluice.core.ledger;

import dev.sluice.core.port.LogStore;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.RecordCounts;
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
 * it compares the record counts of the spool with those of the store:
 *
 * <pre>accepted = stored + in flight + dead-lettered + purged + quarantined</pre>
 *
 * <p>Each figure is counted where its records are; none is derived from the others. So the equation
 * can fail, and a failure means that records are missing or duplicated.
 *
 * <p>The counts are not taken at the same instant. Let <i>delivered</i> be accepted - in flight -
 * dead-lettered - purged - quarantined. A record is in the store before the spool counts it as
 * delivered, and stays there. Therefore delivered only grows, and each stored record is either
 * delivered or still in flight. With the spool queried once before and once after the store, this
 * holds regardless of concurrent changes:
 *
 * <pre>delivered, before &lt;= stored &lt;= delivered, after + in flight, after</pre>
 *
 * <p>A stored count below this range means missing records, a count above it means duplicates.
 * Within the range nothing can be proved. Its width is at most the number of records in flight, and
 * zero when none is in flight, which a past day reaches as soon as its records are delivered. The
 * spool reads its own figures one after the other too, so an imbalance counts only as far as a
 * second comparison confirms it.
 *
 * <p>A spool that was upgraded or replaced has no counts for earlier days. The ledger omits the
 * days before {@link Spool#countsCompleteSince}. It also omits that day itself when the store has
 * logs of an earlier day: the spool is then newer than the logs, and may have started to count in
 * the middle of the day. The same applies when that day is the first of the window, since earlier
 * days are then not queried.
 *
 * <p>Thread-safe; {@link #count} blocks.
 */
public final class Ledger {
  /** A margin for clock differences and for a query that starts before midnight and ends after. */
  private static final Duration MARGIN = Duration.ofHours(1);

  private final Spool spool;
  private final LogStore store;
  private final InstantSource clock;
  private final long days;

  /**
   * @param window the length of the window, today included, rounded down to whole days
   * @param retention the time that the store keeps logs, counted from their receipt; null for no
   *     limit. Days whose logs may already be deleted are omitted.
   */
  public Ledger(
      Spool spool,
      LogStore store,
      InstantSource clock,
      Duration window,
      @Nullable Duration retention) {
    this.spool = spool;
    this.store = store;
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
   * @param stored the number of records in the store; null while the store is unavailable
   * @param imbalance the number of missing records, negative when there are duplicates; null when
   *     the counts of the spool or of the store are unknown
   */
  public record LedgerBalance(
      @Nullable RecordCounts spool, @Nullable Long stored, @Nullable Long imbalance) {}

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

  /** Queries the spool and the store, and repeats the queries when the counts do not balance. */
  public LedgerReport count() {
    var today = clock.instant().atOffset(ZoneOffset.UTC).toLocalDate();
    var from = today.minusDays(Math.max(0, days - 1));
    var unavailable = new LinkedHashMap<String, String>();
    if (days < 1) {
      unavailable.put("ledger", "the retention is too short: no day is complete");
      return report(from, null, null, Map.of(), unavailable);
    }
    var before = query("spool", () -> spool.recordCounts(from), unavailable);
    var stored = query("store", () -> store.storedRecords(from), unavailable);
    if (before == null || stored == null) {
      return report(from, before, stored, Map.of(), unavailable);
    }
    var after = query("spool", () -> spool.recordCounts(from), unavailable);
    var countsCompleteSince = query("spool", spool::countsCompleteSince, unavailable);
    if (after == null || countsCompleteSince == null) {
      return report(from, before, stored, Map.of(), unavailable);
    }
    var first = firstBalancedDay(from, countsCompleteSince, stored);
    before = before.tailMap(first);
    stored = stored.tailMap(first);
    after = after.tailMap(first);
    var imbalance = imbalance(before, stored, after);
    if (!imbalance.isEmpty()) {
      var storedRecheck = query("store", () -> store.storedRecords(first), unavailable);
      var afterRecheck = query("spool", () -> spool.recordCounts(first), unavailable);
      if (storedRecheck == null || afterRecheck == null) {
        return report(first, after, stored, Map.of(), unavailable);
      }
      imbalance = confirmedImbalance(imbalance, imbalance(after, storedRecheck, afterRecheck));
      stored = storedRecheck;
      after = afterRecheck;
    }
    return report(first, after, stored, imbalance, unavailable);
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
  private static Map<LocalDate, Long> imbalance(
      SortedMap<LocalDate, RecordCounts> before,
      SortedMap<LocalDate, Long> stored,
      SortedMap<LocalDate, RecordCounts> after) {
    var imbalance = new TreeMap<LocalDate, Long>();
    var days = new TreeSet<>(before.keySet());
    days.addAll(stored.keySet());
    days.addAll(after.keySet());
    for (var day : days) {
      long storedCount = stored.getOrDefault(day, 0L);
      var last = after.getOrDefault(day, RecordCounts.NONE);
      long min = deliveredCount(before.getOrDefault(day, RecordCounts.NONE));
      long max = deliveredCount(last) + last.inFlight();
      if (storedCount < min) {
        imbalance.put(day, min - storedCount);
      } else if (storedCount > max) {
        imbalance.put(day, max - storedCount);
      }
    }
    return imbalance;
  }

  private static long deliveredCount(RecordCounts counts) {
    return counts.accepted()
        - counts.inFlight()
        - counts.deadLettered()
        - counts.purged()
        - counts.quarantined();
  }

  /** Returns for each day the imbalance that both comparisons found: the smaller one of the two. */
  private static Map<LocalDate, Long> confirmedImbalance(
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
      LocalDate from,
      @Nullable SortedMap<LocalDate, RecordCounts> spool,
      @Nullable SortedMap<LocalDate, Long> stored,
      Map<LocalDate, Long> imbalance,
      Map<String, String> unavailable) {
    boolean known = unavailable.isEmpty();
    var days = new TreeSet<LocalDate>();
    if (spool != null) {
      days.addAll(spool.keySet());
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
              stored == null ? null : stored.getOrDefault(day, 0L),
              known ? imbalance.getOrDefault(day, 0L) : null));
    }
    var total =
        new LedgerBalance(
            spool == null
                ? null
                : spool.values().stream().reduce(RecordCounts.NONE, RecordCounts::plus),
            stored == null ? null : stored.values().stream().mapToLong(Long::longValue).sum(),
            known ? imbalance.values().stream().mapToLong(Math::abs).sum() : null);
    return new LedgerReport(
        from,
        Collections.unmodifiableSortedMap(balances),
        total,
        Collections.unmodifiableMap(unavailable));
  }
}
