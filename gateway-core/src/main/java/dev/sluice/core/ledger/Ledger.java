package dev.sluice.core.ledger;

import dev.sluice.core.port.LogStore;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.Tally;
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
 * said of the days before {@link Spool#countedSince}; nor of that day itself when the store has
 * logs of an earlier one, or when it is the first that is looked at, so that nobody knows: then the
 * spool came later than the logs, and may have come in the middle of the day.
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
    this.days = retention == null ? window.toDays() : Math.min(window.toDays(), whole(retention));
  }

  /**
   * Days of which every log is still there until the end of today: the first log of the first of
   * them is then as old as all of them are long.
   */
  private static long whole(Duration retention) {
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
  public record Entry(@Nullable Tally spool, @Nullable Long stored, @Nullable Long imbalance) {}

  /**
   * @param from the first day of which something can be said; after today when there is none yet
   * @param days those that have any logs
   * @param total of all of them; its imbalance is the sum of the days' without their signs, so that
   *     what is missing here does not make up for what is too much there
   * @param away who could not be asked, and why; empty when all answered
   */
  public record Account(
      LocalDate from, SortedMap<LocalDate, Entry> days, Entry total, Map<String, String> away) {}

  /** Asks the spool and the store, several times when they seem not to agree. */
  public Account count() {
    var today = clock.instant().atOffset(ZoneOffset.UTC).toLocalDate();
    var from = today.minusDays(Math.max(0, days - 1));
    var away = new LinkedHashMap<String, String>();
    if (days < 1) {
      away.put("ledger", "logs are not kept long enough for a day to be whole");
      return account(from, null, null, Map.of(), away);
    }
    var before = ask("spool", () -> spool.tally(from), away);
    var stored = ask("store", () -> store.stored(from), away);
    if (before == null || stored == null) {
      return account(from, before, stored, Map.of(), away);
    }
    var after = ask("spool", () -> spool.tally(from), away);
    var since = ask("spool", spool::countedSince, away);
    if (after == null || since == null) {
      return account(from, before, stored, Map.of(), away);
    }
    var first = first(from, since, stored);
    before = before.tailMap(first);
    stored = stored.tailMap(first);
    after = after.tailMap(first);
    var imbalance = imbalance(before, stored, after);
    if (!imbalance.isEmpty()) {
      var storedAgain = ask("store", () -> store.stored(first), away);
      var afterAgain = ask("spool", () -> spool.tally(first), away);
      if (storedAgain == null || afterAgain == null) {
        return account(first, after, stored, Map.of(), away);
      }
      imbalance = lasting(imbalance, imbalance(after, storedAgain, afterAgain));
      stored = storedAgain;
      after = afterAgain;
    }
    return account(first, after, stored, imbalance, away);
  }

  /** The first day of which both sides know everything. */
  private static LocalDate first(
      LocalDate from, LocalDate since, SortedMap<LocalDate, Long> stored) {
    if (since.isBefore(from)) {
      return from;
    }
    boolean late = since.equals(from) || !stored.headMap(since).isEmpty();
    return late ? since.plusDays(1) : since;
  }

  private static <T> @Nullable T ask(String whom, Supplier<T> question, Map<String, String> away) {
    try {
      return question.get();
    } catch (RuntimeException e) {
      away.put(whom, e.getMessage() == null ? e.toString() : e.getMessage());
      return null;
    }
  }

  /** Of the days that do not balance. */
  private static Map<LocalDate, Long> imbalance(
      SortedMap<LocalDate, Tally> before,
      SortedMap<LocalDate, Long> stored,
      SortedMap<LocalDate, Tally> after) {
    var imbalance = new TreeMap<LocalDate, Long>();
    var days = new TreeSet<>(before.keySet());
    days.addAll(stored.keySet());
    days.addAll(after.keySet());
    for (var day : days) {
      long there = stored.getOrDefault(day, 0L);
      var last = after.getOrDefault(day, Tally.NONE);
      long least = settled(before.getOrDefault(day, Tally.NONE));
      long most = settled(last) + last.inFlight();
      if (there < least) {
        imbalance.put(day, least - there);
      } else if (there > most) {
        imbalance.put(day, most - there);
      }
    }
    return imbalance;
  }

  private static long settled(Tally tally) {
    return tally.accepted()
        - tally.inFlight()
        - tally.deadLettered()
        - tally.purged()
        - tally.quarantined();
  }

  /** Of each day what both looks have seen. */
  private static Map<LocalDate, Long> lasting(
      Map<LocalDate, Long> first, Map<LocalDate, Long> second) {
    var lasting = new TreeMap<LocalDate, Long>();
    first.forEach(
        (day, was) -> {
          long is = second.getOrDefault(day, 0L);
          if (Long.signum(was) * Long.signum(is) > 0) {
            lasting.put(day, Math.abs(was) < Math.abs(is) ? was : is);
          }
        });
    return lasting;
  }

  private static Account account(
      LocalDate from,
      @Nullable SortedMap<LocalDate, Tally> spool,
      @Nullable SortedMap<LocalDate, Long> stored,
      Map<LocalDate, Long> imbalance,
      Map<String, String> away) {
    boolean known = away.isEmpty();
    var days = new TreeSet<LocalDate>();
    if (spool != null) {
      days.addAll(spool.keySet());
    }
    if (stored != null) {
      days.addAll(stored.keySet());
    }
    var entries = new TreeMap<LocalDate, Entry>();
    for (var day : days) {
      entries.put(
          day,
          new Entry(
              spool == null ? null : spool.getOrDefault(day, Tally.NONE),
              stored == null ? null : stored.getOrDefault(day, 0L),
              known ? imbalance.getOrDefault(day, 0L) : null));
    }
    var total =
        new Entry(
            spool == null ? null : spool.values().stream().reduce(Tally.NONE, Tally::plus),
            stored == null ? null : stored.values().stream().mapToLong(Long::longValue).sum(),
            known ? imbalance.values().stream().mapToLong(Math::abs).sum() : null);
    return new Account(
        from, Collections.unmodifiableSortedMap(entries), total, Collections.unmodifiableMap(away));
  }
}
