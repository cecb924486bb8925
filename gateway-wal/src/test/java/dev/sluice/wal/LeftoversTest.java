package dev.sluice.wal;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.testkit.LogBatches;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class LeftoversTest {
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  @RegisterExtension final WalFixture wal;

  LeftoversTest() throws IOException {
    wal = new WalFixture(Compression.ZSTD);
  }

  @Test
  void leftIn_someDelivered_countsTheOthersUnlessItIsOurOwn() throws Exception {
    append(10);
    var deliveries = wal.deliveries();
    deliveries.ack(deliveries.poll(Duration.ZERO).orElseThrow());
    append(20);
    append(5);
    var place = wal.place();

    assertThat(WalSpool.leftIn(place, null)).isEqualTo(Map.of("one", 25L));
    assertThat(WalSpool.leftIn(place, "another")).isEqualTo(Map.of("one", 25L));
    assertThat(WalSpool.leftIn(place, "one")).isEmpty();
    deliveries.ack(deliveries.poll(Duration.ZERO).orElseThrow());
    assertThat(WalSpool.leftIn(place, null)).isEmpty();
  }

  @Test
  void leftIn_passedOverBeforeWhatIsDelivered_isCounted() throws Exception {
    assertThat(
            wal.spool()
                .append(LogBatches.of(7), AppendMode.POSSIBLE_DUPLICATE)
                .toCompletableFuture())
        .succeedsWithin(PATIENCE);
    append(10);
    var deliveries = wal.deliveries();
    deliveries.ack(deliveries.pollConfirmed(Duration.ZERO, Duration.ZERO).orElseThrow());
    append(5);

    assertThat(WalSpool.leftIn(wal.place(), null)).isEqualTo(Map.of("one", 12L));
  }

  @Test
  void leftIn_noFolder_isNothing() throws Exception {
    assertThat(WalSpool.leftIn(wal.place().resolve("nowhere"), null)).isEmpty();
  }

  @Test
  void leftIn_journalDamaged_leavesThatNodeOut() throws Exception {
    append(10);
    Files.writeString(wal.node().resolve("journal"), "no\nno\n");

    assertThat(WalSpool.leftIn(wal.place(), null)).isEmpty();
  }

  private void append(int records) throws Exception {
    assertThat(wal.spool().append(LogBatches.of(records)).toCompletableFuture().get(30, SECONDS))
        .isInstanceOf(AppendResult.Accepted.class);
  }
}
