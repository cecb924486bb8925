package dev.sluice.core.ledger;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.LogStore;
import dev.sluice.core.port.Naming;
import dev.sluice.core.port.Spool;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class LedgerTest {
  private static final LocalDate TODAY = LocalDate.of(2026, 8, 24);
  private static final LocalDate YESTERDAY = TODAY.minusDays(1);
  private static final Duration WEEK = Duration.ofDays(7);

  private final Figures figures = new Figures();
  private final Ledger ledger = ledger(WEEK, null);

  private Ledger ledger(Duration window, @Nullable Duration retention) {
    return new Ledger(
        figures, figures, () -> Instant.parse("2026-08-24T10:00:00Z"), window, retention);
  }

  @Test
  void count_atRest_balancesAndShowsTheDays() {
    figures.spool(YESTERDAY, 100, 0, 3, 2);
    figures.spool(TODAY, 50, 20, 0, 0);
    figures.stored(YESTERDAY, 95);
    figures.stored(TODAY, 30);

    var account = ledger.count();

    assertThat(account.away()).isEmpty();
    assertThat(account.total())
        .isEqualTo(new Ledger.Entry(new Spool.Tally(150, 20, 3, 2, 0), 125L, 0L));
    assertThat(account.days().get(YESTERDAY))
        .isEqualTo(new Ledger.Entry(new Spool.Tally(100, 0, 3, 2, 0), 95L, 0L));
    assertThat(account.from()).isEqualTo(TODAY.minusDays(6));
  }

  @Test
  void count_somethingIsMissing_isPositive() {
    figures.spool(TODAY, 50, 0, 0, 0);
    figures.stored(TODAY, 47);

    assertThat(ledger.count().total().imbalance()).isEqualTo(3);
  }

  @Test
  void count_somethingIsThereTwice_isNegative() {
    figures.spool(TODAY, 50, 0, 0, 0);
    figures.stored(TODAY, 51);

    var account = ledger.count();

    assertThat(account.days())
        .extractingByKey(TODAY)
        .isEqualTo(new Ledger.Entry(new Spool.Tally(50, 0, 0, 0, 0), 51L, -1L));
    assertThat(account.total().imbalance()).isEqualTo(1);
  }

  @Test
  void count_missingOnOneDayAndTwiceOnAnother_doesNotEvenOut() {
    figures.spool(YESTERDAY, 50, 0, 0, 0);
    figures.spool(TODAY, 50, 0, 0, 0);
    figures.stored(YESTERDAY, 49);
    figures.stored(TODAY, 51);

    assertThat(ledger.count().total().imbalance()).isEqualTo(2);
  }

  @Test
  void count_rowsOfADayTheSpoolKnowsNothingOf_areTooMany() {
    figures.stored(YESTERDAY, 4);

    assertThat(ledger.count().days())
        .extractingByKey(YESTERDAY)
        .isEqualTo(new Ledger.Entry(Spool.Tally.NONE, 4L, -4L));
  }

  /** A delivery lies in the store for a while before it is settled. */
  @Test
  void count_storedAndNotSettledYet_balances() {
    figures.spool(TODAY, 50, 20, 0, 0);
    figures.stored(TODAY, 50);

    assertThat(ledger.count().total().imbalance()).isZero();
  }

  @Test
  void count_deliveredBetweenTheQuestions_balances() {
    figures.spool(TODAY, 50, 20, 0, 0);
    figures.stored(TODAY, 50);
    figures.beforeTheSpoolIsAskedAgain(() -> figures.spool(TODAY, 90, 40, 0, 0));

    assertThat(ledger.count().total().imbalance()).isZero();
  }

  @Test
  void count_aDifferenceThatTheSecondLookDoesNotFind_isNone() {
    figures.spool(TODAY, 50, 0, 0, 0);
    figures.stored(TODAY, 48);
    figures.beforeTheSpoolIsAskedAgain(() -> figures.stored(TODAY, 50));

    assertThat(ledger.count().total().imbalance()).isZero();
  }

  @Test
  void count_aDifferenceThatShrinks_isWhatBothLooksSaw() {
    figures.spool(TODAY, 50, 0, 0, 0);
    figures.stored(TODAY, 40);
    figures.beforeTheSpoolIsAskedAgain(() -> figures.stored(TODAY, 48));

    assertThat(ledger.count().total().imbalance()).isEqualTo(2);
  }

  @Test
  void count_storeAway_tellsTheSpoolsSide() {
    figures.spool(TODAY, 50, 20, 0, 0);
    figures.storeAway = true;

    var account = ledger.count();

    assertThat(account.away()).containsEntry("store", "store away");
    assertThat(account.total().spool()).isEqualTo(new Spool.Tally(50, 20, 0, 0, 0));
    assertThat(account.total().stored()).isNull();
    assertThat(account.total().imbalance()).isNull();
  }

  @Test
  void count_spoolAway_tellsTheStoresSide() {
    figures.stored(TODAY, 30);
    figures.spoolAway = true;

    var account = ledger.count();

    assertThat(account.away()).containsEntry("spool", "spool away");
    assertThat(account.total().stored()).isEqualTo(30);
    assertThat(account.total().imbalance()).isNull();
  }

  @Test
  void count_daysBeforeTheSpoolCounted_areLeftOut() {
    figures.since = YESTERDAY;
    figures.stored(TODAY.minusDays(3), 500);
    figures.stored(YESTERDAY, 300);
    figures.spool(YESTERDAY, 100, 0, 0, 0); // came in the middle of that day
    figures.spool(TODAY, 50, 0, 0, 0);
    figures.stored(TODAY, 49);

    var account = ledger.count();

    assertThat(account.from()).isEqualTo(TODAY);
    assertThat(account.days()).containsOnlyKeys(TODAY);
    assertThat(account.total())
        .isEqualTo(new Ledger.Entry(new Spool.Tally(50, 0, 0, 0, 0), 49L, 1L));
  }

  @Test
  void count_firstDayOfAll_isCounted() {
    figures.since = YESTERDAY;
    figures.spool(YESTERDAY, 100, 0, 0, 0);
    figures.stored(YESTERDAY, 101);

    assertThat(ledger.count().days())
        .extractingByKey(YESTERDAY)
        .isEqualTo(new Ledger.Entry(new Spool.Tally(100, 0, 0, 0, 0), 101L, -1L));
  }

  /** The rows that would tell that the spool came late may lie before the window. */
  @Test
  void count_spoolCountsSinceTheFirstDayOfTheWindow_leavesThatOut() {
    figures.since = TODAY.minusDays(6);
    figures.stored(TODAY.minusDays(6), 10);

    var account = ledger.count();

    assertThat(account.from()).isEqualTo(TODAY.minusDays(5));
    assertThat(account.total().imbalance()).isZero();
  }

  @Test
  void count_spoolReplacedToday_saysNothingYet() {
    figures.since = TODAY;
    figures.stored(YESTERDAY, 10);
    figures.stored(TODAY, 10);

    var account = ledger.count();

    assertThat(account.days()).isEmpty();
    assertThat(account.total().imbalance()).isZero();
    assertThat(account.away()).isEmpty();
  }

  /** Rows expire a retention after their receipt; a day must be whole to be counted. */
  @ParameterizedTest
  @CsvSource({"7, , 6", "7, 30, 6", "7, 7, 5", "7, 8, 6", "7, 3, 1", "7, 2, 0", "1, , 0"})
  void count_retention_shortensTheWindow(long window, @Nullable Long retention, long back) {
    var kept = retention == null ? null : Duration.ofDays(retention);

    assertThat(ledger(Duration.ofDays(window), kept).count().from())
        .isEqualTo(TODAY.minusDays(back));
    assertThat(figures.asked).isEqualTo(TODAY.minusDays(back));
  }

  /** At the end of today the first log of today is a day old. */
  @ParameterizedTest
  @ValueSource(strings = {"PT30M", "PT5H", "P1D"})
  void count_logsAreNotKeptForAWholeDay_saysThatNothingIsKnown(Duration retention) {
    var account = ledger(WEEK, retention).count();

    assertThat(account.from()).isEqualTo(TODAY);

    assertThat(account.total().imbalance()).isNull();
    assertThat(account.away()).containsKey("ledger");
  }

  /** Both sides, as the test says they are. */
  private static final class Figures implements Spool, LogStore {
    private final TreeMap<LocalDate, Tally> tallies = new TreeMap<>();
    private final TreeMap<LocalDate, Long> stored = new TreeMap<>();
    private final Deque<Runnable> changes = new ArrayDeque<>();
    private boolean spoolAsked;
    private boolean spoolAway;
    private boolean storeAway;
    private LocalDate asked = LocalDate.EPOCH;
    private LocalDate since = LocalDate.EPOCH;

    void spool(LocalDate day, long accepted, long inFlight, long deadLettered, long purged) {
      tallies.put(day, new Tally(accepted, inFlight, deadLettered, purged, 0));
    }

    void stored(LocalDate day, long records) {
      stored.put(day, records);
    }

    void beforeTheSpoolIsAskedAgain(Runnable change) {
      changes.add(change);
    }

    @Override
    public SortedMap<LocalDate, Tally> tally(LocalDate from) {
      if (spoolAway) {
        throw new IllegalStateException("spool away");
      }
      if (spoolAsked && !changes.isEmpty()) {
        changes.remove().run();
      }
      spoolAsked = true;
      asked = from;
      return new TreeMap<>(tallies.tailMap(from));
    }

    @Override
    public LocalDate countedSince() {
      return since;
    }

    @Override
    public SortedMap<LocalDate, Long> stored(LocalDate from) {
      if (storeAway) {
        throw new IllegalStateException("store away");
      }
      return new TreeMap<>(stored.tailMap(from));
    }

    @Override
    public CompletionStage<Appended> append(LogBatch batch, Manner manner) {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletionStage<Fate> fate(Receipt receipt, LogId first, int records) {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletionStage<Condition> condition() {
      throw new UnsupportedOperationException();
    }

    @Override
    public Outcome store(Portion portion, Naming naming) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Duration pace() {
      return Duration.ZERO;
    }
  }
}
