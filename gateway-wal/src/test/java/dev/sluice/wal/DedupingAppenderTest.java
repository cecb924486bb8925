package dev.sluice.wal;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.testkit.LogBatches;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.UUID;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class DedupingAppenderTest {
  @RegisterExtension final WalFixture wal;

  DedupingAppenderTest() throws IOException {
    wal = new WalFixture(Compression.ZSTD);
  }

  /** The encoding of the smaller of two concurrent batches completes first. */
  @Test
  void append_largeAndSmallAlternating_keepsTheOrder() throws Exception {
    var batches =
        IntStream.range(0, 60).mapToObj(i -> LogBatches.of(i % 2 == 0 ? 500 : 1)).toList();

    var appends =
        batches.stream().map(batch -> wal.spool().append(batch, AppendMode.SYNC)).toList();

    for (var append : appends) {
      assertThat(append.toCompletableFuture().get(30, SECONDS))
          .isInstanceOf(AppendResult.Accepted.class);
    }
    var consumer = wal.newConsumer();
    var deliveredIds = new ArrayList<UUID>();
    while (deliveredIds.size() < batches.size()) {
      var delivery = consumer.poll(Duration.ofSeconds(5), Duration.ZERO).orElseThrow();
      delivery.batches().stream().map(LogBatch::appendId).forEach(deliveredIds::add);
      consumer.ack(delivery);
    }
    assertThat(deliveredIds).isEqualTo(batches.stream().map(LogBatch::appendId).toList());
  }

  @Test
  void append_afterClose_isUnavailableAndReservesNothing() throws Exception {
    wal.spool().close();

    assertThat(
            wal.spool()
                .append(LogBatches.of(1), AppendMode.SYNC)
                .toCompletableFuture()
                .get(30, SECONDS))
        .isInstanceOf(AppendResult.Unavailable.class);
  }
}
