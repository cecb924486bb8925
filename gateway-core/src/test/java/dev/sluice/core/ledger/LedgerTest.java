package dev.sluice.core.ledger;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.RecordIds;
import dev.sluice.core.port.DailyCounts;
import dev.sluice.core.port.DailyCounts.RecordCounts;
import dev.sluice.core.port.DeadLetterStore.DeadLetterCounts;
import dev.sluice.core.port.LogStore;
import dev.sluice.core.port.UnusedDeadLetterStore;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class LedgerTest {
  private static final LocalDate TODAY = LocalDate.of(2026, 8, 24);
  private static final LocalDate YESTERDAY = TODAY.minusDays(1);
  private static final Duration WEEK = Duration.ofDays(7);

  private final FakeSpoolAndStore fakeSpoolAndStore = new FakeSpoolAndStore();
  private final Ledger ledger = ledger(WEEK, null);

  private Ledger ledger(Duration window, @Nullable Duration retention) {
    return new Ledger(
        fakeSpoolAndStore,
        fakeSpoolAndStore,
        fakeSpoolAndStore.deadLetters,
        () -> Instant.parse("2026-08-24T10:00:00Z"),
        window,
        retention);
  }

  @Test
  void count_nothingPending_balancesAndReportsTheDays() {
    fakeSpoolAndStore.spool(YESTERDAY, 100, 0);
    fakeSpoolAndStore.deadLetters(YESTERDAY, 2, 1, 2);
    fakeSpoolAndStore.spool(TODAY, 50, 20);
    fakeSpoolAndStore.stored(YESTERDAY, 95);
    fakeSpoolAndStore.stored(TODAY, 30);

    var ledgerReport = ledger.count();

    assertThat(ledgerReport.unavailable()).isEmpty();
    assertThat(ledgerReport.total())
        .isEqualTo(
            new Ledger.LedgerBalance(
                new RecordCounts(150, 20, 0), new DeadLetterCounts(2, 1, 2), 125L, 0L));
    assertThat(ledgerReport.days().get(YESTERDAY))
        .isEqualTo(
            new Ledger.LedgerBalance(
                new RecordCounts(100, 0, 0), new DeadLetterCounts(2, 1, 2), 95L, 0L));
    assertThat(ledgerReport.from()).isEqualTo(TODAY.minusDays(6));
  }

  @Test
  void count_recordsMissing_isPositive() {
    fakeSpoolAndStore.spool(TODAY, 50, 0);
    fakeSpoolAndStore.stored(TODAY, 47);

    assertThat(ledger.count().total().imbalance()).isEqualTo(3);
  }

  @Test
  void count_recordsDuplicated_isNegative() {
    fakeSpoolAndStore.spool(TODAY, 50, 0);
    fakeSpoolAndStore.stored(TODAY, 51);

    var ledgerReport = ledger.count();

    assertThat(ledgerReport.days())
        .extractingByKey(TODAY)
        .isEqualTo(
            new Ledger.LedgerBalance(new RecordCounts(50, 0, 0), DeadLetterCounts.NONE, 51L, -1L));
    assertThat(ledgerReport.total().imbalance()).isEqualTo(1);
  }

  @Test
  void count_missingAndDuplicatedOnDifferentDays_doesNotCancelOut() {
    fakeSpoolAndStore.spool(YESTERDAY, 50, 0);
    fakeSpoolAndStore.spool(TODAY, 50, 0);
    fakeSpoolAndStore.stored(YESTERDAY, 49);
    fakeSpoolAndStore.stored(TODAY, 51);

    assertThat(ledger.count().total().imbalance()).isEqualTo(2);
  }

  @Test
  void count_rowsOfADayUnknownToTheSpool_areNegative() {
    fakeSpoolAndStore.stored(YESTERDAY, 4);

    assertThat(ledger.count().days())
        .extractingByKey(YESTERDAY)
        .isEqualTo(new Ledger.LedgerBalance(RecordCounts.NONE, DeadLetterCounts.NONE, 4L, -4L));
  }

  /** The records of a delivery are in the store for some time before its acknowledgement. */
  @Test
  void count_storedAndNotAckedYet_balances() {
    fakeSpoolAndStore.spool(TODAY, 50, 20);
    fakeSpoolAndStore.stored(TODAY, 50);

    assertThat(ledger.count().total().imbalance()).isZero();
  }

  @Test
  void count_deliveredBetweenTheQueries_balances() {
    fakeSpoolAndStore.spool(TODAY, 50, 20);
    fakeSpoolAndStore.stored(TODAY, 50);
    fakeSpoolAndStore.beforeTheSecondSpoolQuery(() -> fakeSpoolAndStore.spool(TODAY, 90, 40));

    assertThat(ledger.count().total().imbalance()).isZero();
  }

  @Test
  void count_imbalanceNotConfirmedByTheSecondCount_isZero() {
    fakeSpoolAndStore.spool(TODAY, 50, 0);
    fakeSpoolAndStore.stored(TODAY, 48);
    fakeSpoolAndStore.beforeTheSecondSpoolQuery(() -> fakeSpoolAndStore.stored(TODAY, 50));

    assertThat(ledger.count().total().imbalance()).isZero();
  }

  @Test
  void count_imbalanceThatShrinks_isTheConfirmedPart() {
    fakeSpoolAndStore.spool(TODAY, 50, 0);
    fakeSpoolAndStore.stored(TODAY, 40);
    fakeSpoolAndStore.beforeTheSecondSpoolQuery(() -> fakeSpoolAndStore.stored(TODAY, 48));

    assertThat(ledger.count().total().imbalance()).isEqualTo(2);
  }

  @Test
  void count_storeUnavailable_reportsTheSpoolsCounts() {
    fakeSpoolAndStore.spool(TODAY, 50, 20);
    fakeSpoolAndStore.storeUnavailable = true;

    var ledgerReport = ledger.count();

    assertThat(ledgerReport.unavailable()).containsEntry("store", "store unavailable");
    assertThat(ledgerReport.total().spool()).isEqualTo(new RecordCounts(50, 20, 0));
    assertThat(ledgerReport.total().stored()).isNull();
    assertThat(ledgerReport.total().imbalance()).isNull();
  }

  @Test
  void count_spoolUnavailable_reportsTheStoresCounts() {
    fakeSpoolAndStore.stored(TODAY, 30);
    fakeSpoolAndStore.spoolUnavailable = true;

    var ledgerReport = ledger.count();

    assertThat(ledgerReport.unavailable()).containsEntry("spool", "spool unavailable");
    assertThat(ledgerReport.total().stored()).isEqualTo(30);
    assertThat(ledgerReport.total().imbalance()).isNull();
  }

  @Test
  void count_daysBeforeCountsAreComplete_areOmitted() {
    fakeSpoolAndStore.completeSince = YESTERDAY;
    fakeSpoolAndStore.stored(TODAY.minusDays(3), 500);
    fakeSpoolAndStore.stored(YESTERDAY, 300);
    fakeSpoolAndStore.spool(YESTERDAY, 100, 0); // the spool started in the middle of that day
    fakeSpoolAndStore.spool(TODAY, 50, 0);
    fakeSpoolAndStore.stored(TODAY, 49);

    var ledgerReport = ledger.count();

    assertThat(ledgerReport.from()).isEqualTo(TODAY);
    assertThat(ledgerReport.days()).containsOnlyKeys(TODAY);
    assertThat(ledgerReport.total())
        .isEqualTo(
            new Ledger.LedgerBalance(new RecordCounts(50, 0, 0), DeadLetterCounts.NONE, 49L, 1L));
  }

  @Test
  void count_firstDayOfTheStore_isCounted() {
    fakeSpoolAndStore.completeSince = YESTERDAY;
    fakeSpoolAndStore.spool(YESTERDAY, 100, 0);
    fakeSpoolAndStore.stored(YESTERDAY, 101);

    assertThat(ledger.count().days())
        .extractingByKey(YESTERDAY)
        .isEqualTo(
            new Ledger.LedgerBalance(
                new RecordCounts(100, 0, 0), DeadLetterCounts.NONE, 101L, -1L));
  }

  /** Rows that are older than the spool may be before the window, which is not queried. */
  @Test
  void count_countsCompleteSinceTheFirstDayOfTheWindow_omitsThatDay() {
    fakeSpoolAndStore.completeSince = TODAY.minusDays(6);
    fakeSpoolAndStore.stored(TODAY.minusDays(6), 10);

    var ledgerReport = ledger.count();

    assertThat(ledgerReport.from()).isEqualTo(TODAY.minusDays(5));
    assertThat(ledgerReport.total().imbalance()).isZero();
  }

  @Test
  void count_spoolReplacedToday_reportsNoDay() {
    fakeSpoolAndStore.completeSince = TODAY;
    fakeSpoolAndStore.stored(YESTERDAY, 10);
    fakeSpoolAndStore.stored(TODAY, 10);

    var ledgerReport = ledger.count();

    assertThat(ledgerReport.days()).isEmpty();
    assertThat(ledgerReport.total().imbalance()).isZero();
    assertThat(ledgerReport.unavailable()).isEmpty();
  }

  /** A dead letter is written before the acknowledgement of its delivery. */
  @Test
  void count_deadLetteredAndNotAckedYet_balances() {
    fakeSpoolAndStore.spool(TODAY, 50, 10);
    fakeSpoolAndStore.deadLetters(TODAY, 1, 0, 0);
    fakeSpoolAndStore.stored(TODAY, 49);

    assertThat(ledger.count().total().imbalance()).isZero();
  }

  @Test
  void count_deadLetterMissing_isAnImbalance() {
    fakeSpoolAndStore.spool(TODAY, 50, 0);
    fakeSpoolAndStore.stored(TODAY, 49);

    assertThat(ledger.count().total().imbalance()).isEqualTo(1);
  }

  @Test
  void count_deadLetterThatIsStored_isAnImbalance() {
    fakeSpoolAndStore.spool(TODAY, 50, 0);
    fakeSpoolAndStore.deadLetters(TODAY, 1, 0, 0);
    fakeSpoolAndStore.stored(TODAY, 50);

    assertThat(ledger.count().days().get(TODAY))
        .extracting(Ledger.LedgerBalance::imbalance)
        .isEqualTo(-1L);
  }

  /** The gateway was killed in the replay: the record is in flight, stored, or neither. */
  @ParameterizedTest
  @CsvSource({"0, 49", "1, 49", "1, 50", "0, 50"})
  void count_replayStarted_balances(long inFlight, long stored) {
    fakeSpoolAndStore.spool(TODAY, 50, inFlight);
    fakeSpoolAndStore.deadLetters(TODAY, 0, 1, 0);
    fakeSpoolAndStore.stored(TODAY, stored);

    assertThat(ledger.count().total().imbalance()).isZero();
  }

  @Test
  void count_deliveredBetweenTheSpoolAndTheDeadLetters_balances() {
    fakeSpoolAndStore.spool(TODAY, 50, 50);
    fakeSpoolAndStore.stored(TODAY, 0);
    fakeSpoolAndStore.beforeTheSecondSpoolQuery(
        () -> {
          fakeSpoolAndStore.spool(TODAY, 50, 0);
          fakeSpoolAndStore.deadLetters(TODAY, 50, 0, 0);
        });

    assertThat(ledger.count().total().imbalance()).isZero();
  }

  @Test
  void count_dayOfDeadLettersOnly_isReported() {
    fakeSpoolAndStore.deadLetters(YESTERDAY, 0, 0, 1);

    assertThat(ledger.count().days().get(YESTERDAY))
        .extracting(Ledger.LedgerBalance::imbalance)
        .isEqualTo(-1L);
  }

  /** Rows expire after the retention, from their receipt; only complete days are counted. */
  @ParameterizedTest
  @CsvSource({"7, , 6", "7, 30, 6", "7, 7, 5", "7, 8, 6", "7, 3, 1", "7, 2, 0", "1, , 0"})
  void count_retention_shortensTheWindow(long window, @Nullable Long retention, long daysBack) {
    var storeRetention = retention == null ? null : Duration.ofDays(retention);

    assertThat(ledger(Duration.ofDays(window), storeRetention).count().from())
        .isEqualTo(TODAY.minusDays(daysBack));
    assertThat(fakeSpoolAndStore.queriedFrom).isEqualTo(TODAY.minusDays(daysBack));
  }

  /** At the end of today the oldest log of today is one day old. */
  @ParameterizedTest
  @ValueSource(strings = {"PT30M", "PT5H", "P1D"})
  void count_retentionBelowADay_isUnavailable(Duration retention) {
    var ledgerReport = ledger(WEEK, retention).count();

    assertThat(ledgerReport.from()).isEqualTo(TODAY);

    assertThat(ledgerReport.total().imbalance()).isNull();
    assertThat(ledgerReport.unavailable()).containsKey("ledger");
  }

  /** Dead letters with the counts that the test sets. */
  private static final class FakeDeadLetterCounts extends UnusedDeadLetterStore {
    private final TreeMap<LocalDate, DeadLetterCounts> counts = new TreeMap<>();

    @Override
    public SortedMap<LocalDate, DeadLetterCounts> counts(LocalDate from) {
      return new TreeMap<>(counts.tailMap(from));
    }
  }

  /** A spool and a store with the counts that the test sets. */
  private static final class FakeSpoolAndStore implements DailyCounts, LogStore {
    private final TreeMap<LocalDate, RecordCounts> counts = new TreeMap<>();
    private final TreeMap<LocalDate, Long> stored = new TreeMap<>();
    private final FakeDeadLetterCounts deadLetters = new FakeDeadLetterCounts();
    private final Deque<Runnable> changes = new ArrayDeque<>();
    private boolean spoolQueried;
    private boolean spoolUnavailable;
    private boolean storeUnavailable;
    private LocalDate queriedFrom = LocalDate.EPOCH;
    private LocalDate completeSince = LocalDate.EPOCH;

    void spool(LocalDate day, long accepted, long inFlight) {
      counts.put(day, new RecordCounts(accepted, inFlight, 0));
    }

    void deadLetters(LocalDate day, long deadLettered, long replaying, long purged) {
      deadLetters.counts.put(day, new DeadLetterCounts(deadLettered, replaying, purged));
    }

    void stored(LocalDate day, long records) {
      stored.put(day, records);
    }

    void beforeTheSecondSpoolQuery(Runnable change) {
      changes.add(change);
    }

    @Override
    public SortedMap<LocalDate, RecordCounts> recordCounts(LocalDate from) {
      if (spoolUnavailable) {
        throw new IllegalStateException("spool unavailable");
      }
      if (spoolQueried && !changes.isEmpty()) {
        changes.remove().run();
      }
      spoolQueried = true;
      queriedFrom = from;
      return new TreeMap<>(counts.tailMap(from));
    }

    @Override
    public LocalDate countsCompleteSince() {
      return completeSince;
    }

    @Override
    public SortedMap<LocalDate, Long> storedRecords(LocalDate from) {
      if (storeUnavailable) {
        throw new IllegalStateException("store unavailable");
      }
      return new TreeMap<>(stored.tailMap(from));
    }

    @Override
    public StoreResult store(DeliverySlice deliverySlice, RecordIds ids) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Duration minInsertInterval() {
      return Duration.ZERO;
    }
  }
}
