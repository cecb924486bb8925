package dev.sluice.wal;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.port.Spool.Appended;
import dev.sluice.testkit.LogBatches;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LeftoversTest {
  @TempDir Path directory;

  @Test
  void leftIn_someDelivered_countsTheOthersUnlessItIsOurOwn() throws Exception {
    try (var wal = new WalFixture(directory, Compression.ZSTD, WalSpoolTest.BOUNDS)) {
      append(wal, 10);
      var deliveries = wal.deliveries();
      deliveries.settle(deliveries.next(Duration.ZERO).orElseThrow());
      append(wal, 20);
      append(wal, 5);
      var place = directory.resolve("life-0");

      assertThat(WalSpool.leftIn(place, null)).isEqualTo(Map.of("one", 25L));
      assertThat(WalSpool.leftIn(place, "another")).isEqualTo(Map.of("one", 25L));
      assertThat(WalSpool.leftIn(place, "one")).isEmpty();
      deliveries.settle(deliveries.next(Duration.ZERO).orElseThrow());
      assertThat(WalSpool.leftIn(place, null)).isEmpty();
    }
  }

  @Test
  void leftIn_noFolder_isNothing() throws Exception {
    assertThat(WalSpool.leftIn(directory.resolve("nowhere"), null)).isEmpty();
  }

  @Test
  void leftIn_journalDamaged_leavesThatNodeOut() throws Exception {
    try (var wal = new WalFixture(directory, Compression.ZSTD, WalSpoolTest.BOUNDS)) {
      append(wal, 10);
      Files.writeString(wal.node().resolve("journal"), "no\nno\n");

      assertThat(WalSpool.leftIn(directory.resolve("life-0"), null)).isEmpty();
    }
  }

  private static void append(WalFixture wal, int records) throws Exception {
    assertThat(wal.spool().append(LogBatches.of(records)).toCompletableFuture().get(30, SECONDS))
        .isInstanceOf(Appended.Accepted.class);
  }
}
