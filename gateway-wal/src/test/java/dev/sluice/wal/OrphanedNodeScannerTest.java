package dev.sluice.wal;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.port.FallbackDuplicateCheck.DuplicateStatus;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.testkit.LogBatches;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class OrphanedNodeScannerTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(30);

  @RegisterExtension final WalFixture wal;

  OrphanedNodeScannerTest() throws IOException {
    wal = new WalFixture(Compression.ZSTD);
  }

  @Test
  void orphanedRecords_someDelivered_countsTheRestExceptOfTheOwnNode() throws Exception {
    append(10);
    var consumer = wal.newConsumer();
    consumer.ack(consumer.poll(Duration.ZERO, Duration.ZERO).orElseThrow());
    append(20);
    append(5);
    var walDirectory = wal.walDirectory();

    assertThat(WalSpool.orphanedRecords(walDirectory, null)).isEqualTo(Map.of("one", 25L));
    assertThat(WalSpool.orphanedRecords(walDirectory, "another")).isEqualTo(Map.of("one", 25L));
    assertThat(WalSpool.orphanedRecords(walDirectory, "one")).isEmpty();
    consumer.ack(consumer.poll(Duration.ZERO, Duration.ZERO).orElseThrow());
    assertThat(WalSpool.orphanedRecords(walDirectory, null)).isEmpty();
  }

  @Test
  void orphanedRecords_skippedBeforeTheAckedPosition_isCounted() throws Exception {
    assertThat(
            wal.spool()
                .append(LogBatches.of(7), AppendMode.POSSIBLE_DUPLICATE)
                .toCompletableFuture())
        .succeedsWithin(TIMEOUT);
    append(10);
    var consumer = wal.spool().newConsumer(_ -> DuplicateStatus.UNKNOWN);
    consumer.ack(consumer.poll(Duration.ZERO, Duration.ZERO).orElseThrow());
    append(5);

    assertThat(WalSpool.orphanedRecords(wal.walDirectory(), null)).isEqualTo(Map.of("one", 12L));
  }

  @Test
  void orphanedRecords_noDirectory_isEmpty() throws Exception {
    assertThat(WalSpool.orphanedRecords(wal.walDirectory().resolve("nowhere"), null)).isEmpty();
  }

  @Test
  void orphanedRecords_journalDamaged_omitsThatNode() throws Exception {
    append(10);
    Files.writeString(wal.node().resolve("journal"), "no\nno\n");

    assertThat(WalSpool.orphanedRecords(wal.walDirectory(), null)).isEmpty();
  }

  private void append(int records) throws Exception {
    assertThat(
            wal.spool()
                .append(LogBatches.of(records), AppendMode.SYNC)
                .toCompletableFuture()
                .get(30, SECONDS))
        .isInstanceOf(AppendResult.Accepted.class);
  }
}
