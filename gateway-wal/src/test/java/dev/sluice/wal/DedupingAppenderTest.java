package dev.sluice.wal;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.LogBatch;
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

  /** Of two that are encoded side by side the smaller is ready first. */
  @Test
  void append_largeAndSmallAlternating_keepsTheOrder() throws Exception {
    var batches =
        IntStream.range(0, 60).mapToObj(i -> LogBatches.of(i % 2 == 0 ? 500 : 1)).toList();

    var appends = batches.stream().map(wal.spool()::append).toList();

    for (var append : appends) {
      assertThat(append.toCompletableFuture().get(30, SECONDS))
          .isInstanceOf(AppendResult.Accepted.class);
    }
    var deliveries = wal.newConsumer();
    var inTheLog = new ArrayList<UUID>();
    while (inTheLog.size() < batches.size()) {
      var delivery = deliveries.poll(Duration.ofSeconds(5)).orElseThrow();
      delivery.batches().stream().map(LogBatch::appendId).forEach(inTheLog::add);
      deliveries.ack(delivery);
    }
    assertThat(inTheLog).isEqualTo(batches.stream().map(LogBatch::appendId).toList());
  }

  @Test
  void append_afterClose_isUnavailableAndReservesNothing() throws Exception {
    wal.spool().close();

    assertThat(wal.spool().append(LogBatches.of(1)).toCompletableFuture().get(30, SECONDS))
        .isInstanceOf(AppendResult.Unavailable.class);
  }
}
