package dev.sluice.wal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.RecordIds;
import dev.sluice.core.failover.FailoverSpool;
import dev.sluice.core.ledger.Ledger;
import dev.sluice.core.port.LogStore.DeliverySlice;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.testkit.InMemoryDeadLetterStore;
import dev.sluice.testkit.InMemoryLogStore;
import dev.sluice.testkit.InMemorySpool;
import dev.sluice.testkit.LogBatches;
import dev.sluice.testkit.ManualClock;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The WAL in the ledger, on days without appends to the WAL. */
@Timeout(60)
class WalLedgerTest {
  private final LogBatch batch = LogBatches.of(5);
  private final LocalDate firstDay = batch.day();
  private final ManualClock clock =
      new ManualClock(Instant.ofEpochSecond(0, batch.receivedNanos()).toString());

  @RegisterExtension final WalFixture wal;

  WalLedgerTest() throws IOException {
    wal = new WalFixture(Compression.ZSTD, clock);
  }

  @Test
  void count_unusedStandby_isCompleteFromTheFirstDay() throws Exception {
    var redis = new InMemorySpool();
    var store = new InMemoryLogStore();
    redis.append(batch, AppendMode.SYNC);
    var delivery = redis.consumer().poll(Duration.ZERO, Duration.ZERO).orElseThrow();
    store.store(new DeliverySlice(delivery.token(), List.of(batch), 0, 5, false), RecordIds.NONE);
    redis.consumer().ack(delivery);

    clock.advance(Duration.ofDays(1));
    wal.reopen();

    try (var both = standby(redis)) {
      var ledgerReport =
          new Ledger(both, store, new InMemoryDeadLetterStore(), clock, Duration.ofDays(7), null)
              .count();
      assertThat(ledgerReport.from()).isEqualTo(firstDay);
      assertThat(ledgerReport.days()).containsOnlyKeys(firstDay);
    }
  }

  private FailoverSpool standby(InMemorySpool redis) {
    var spool = wal.spool();
    return new FailoverSpool(
        FailoverSpool.SpoolTarget.of("Redis", redis),
        redis,
        redis,
        FailoverSpool.SpoolTarget.of("the WAL", spool),
        new FailoverSpool.FailoverSettings(
            "node", Duration.ofSeconds(1), Duration.ofSeconds(1), 10, Duration.ofDays(1)),
        clock,
        clock,
        clock);
  }

  /** Uses a journal in the format of an earlier release. */
  @Test
  void countsCompleteSince_journalWithoutIt_isTheFirstCountedDayElseToday() throws Exception {
    wal.spool().close();
    var file = wal.node().resolve("journal");
    Files.delete(file);
    try (var journal = Journal.open(file, _ -> {})) {
      journal.append("{\"event\":\"base\",\"version\":1,\"records\":0,\"letters\":0}");
    }
    clock.advance(Duration.ofDays(1));
    wal.reopen();
    assertThat(wal.spool().countsCompleteSince()).isEqualTo(firstDay.plusDays(1));

    wal.spool().append(batch, AppendMode.SYNC).toCompletableFuture().join();

    assertThat(wal.spool().countsCompleteSince()).isEqualTo(firstDay);
  }
}
