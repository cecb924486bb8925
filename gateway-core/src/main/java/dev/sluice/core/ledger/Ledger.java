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
 * accepted = stored + in flight + dead-lettered + purged + quarantined, day of receipt by day of
 * receipt over the last days. Each figure is counted where it lives, none is the difference of the
 * others, so the equation can fail, and then means trouble.
 *
 * <p>The counts cannot be taken in one instant. What can be said in spite of that: call <i>settled
 * </i> what the spool has given away as stored, accepted - in flight - dead letters - purged -
 * quarantined. A record is in the store before it is settled, and stays; so settled only grows, and
 * whatever is stored is settled by then or still in flight. Hence, with the spool asked before the
 * store and again after it,
 *
 * <pre>settled, before &lt;= stored &lt;= settled, after + in flight, after</pre>
 *
 * whatever moved meanwhile. Below that, records are missing; above it, there are some twice.
 * Nothing is said of what lies between, which is no more than what is in flight: at rest it is one
 * point, and a day that is over is at rest as soon as it is delivered. The spool's own figures are
 * read one after the other too, so a difference counts only as far as a second look finds it as
 * well.
 *
 * <p>A spool that was upgraded or replaced did not count the logs of the days before. Nothing is
 * said of the days before {@link Spool#countsCompleteSince}; nor of that day itself when the store
 * has logs of an earlier one, or when it is the first that is looked at, so that nobody knows: then
 * the spool came later than the logs, and may have come in the middle of the day.
 *
 * <p>Safe for use by many threads; counting blocks.
 */
public final class Ledger {
  /** For clocks that differ, and for what is asked at the end of a day and answered after it. */
  private static final Duration MARGIN = Duration.ofHours(1);

  private final Spool spool;
  private final LogStore store;
  private final InstantSource clock;
  private final long days;

  /**
   * @param window how far back the days go, today included; what is less than a day is cut off
   * @param retention how long the store keeps logs, counted from their receipt; null for ever. Of
   *     days whose logs may be gone already nothing can be said.
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
   * Days of which every log is still there until the end of today: the first log of the first of
   * them is then as old as all of them are long.
   */
  private static long completeDays(Duration retention) {
    return Math.max(0, retention.minus(MARGIN).toDays());
  }

  /**
   * What is known of some days.
   *
   * @param spool the spool's side; null while it is away
   * @param stored records in the store; null while it is away
   * @param imbalance records that are missing, less than 0 when there are too many; null while one
   *     of the sides is not known
   */
  public record LedgerBalance(
      @Nullable RecordCounts spool, @Nullable Long stored, @Nullable Long imbalance) {}

  /**
   * @param from the first day of which something can be said; after today when there is none yet
   * @param days those that have any logs
   * @param total of all of them; its imbalance is the sum of the days' without their signs, so that
   *     what is missing here does not make up for what is too much there
   * @param unavailable who could not be asked, and why; empty when all answered
   */
  public record LedgerReport(
      LocalDate from,
      SortedMap<LocalDate, LedgerBalance> days,
      LedgerBalance total,
      Map<String, String> unavailable) {}

  /** Asks the spool and the store, several times when they seem not to agree. */
  public LedgerReport count() {
    var today = clock.instant().atOffset(ZoneOffset.UTC).toLocalDate();
    var from = today.minusDays(Math.max(0, days - 1));
    var unavailable = new LinkedHashMap<String, String>();
    if (days < 1) {
      unavailable.put("ledger", "logs are not kept long enough for a day to be whole");
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

  /** The first day of which both sides know everything. */
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

  /** Of the days that do not balance. */
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

  /** Of each day what both looks have seen. */
  private static Map<LocalDate, Long> confirmedImbalance(
      Map<LocalDate, Long> first, Map<LocalDate, Long> second) {
    var confirmed = new TreeMap<LocalDate, Long>();
    first.forEach(
        (day, was) -> {
          long is = second.getOrDefault(day, 0L);
          if (Long.signum(was) * Long.signum(is) > 0) {
            confirmed.put(day, Math.abs(was) < Math.abs(is) ? was : is);
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
