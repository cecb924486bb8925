package dev.sluice.wal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.port.DailyCounts.RecordCounts;
import dev.sluice.core.port.DeliveryStatusReader;
import dev.sluice.core.port.FallbackDuplicateCheck;
import dev.sluice.core.port.FallbackDuplicateCheck.DuplicateStatus;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.core.port.SpoolConsumer;
import dev.sluice.testkit.FallbackDuplicateCheckContract;
import dev.sluice.testkit.LogBatches;
import dev.sluice.testkit.SpoolContract;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class WalDuplicateCheckTest extends FallbackDuplicateCheckContract {
  @RegisterExtension final WalFixture wal;
  private @Nullable SpoolConsumer current;

  WalDuplicateCheckTest() throws IOException {
    wal = new WalFixture(Compression.ZSTD);
  }

  @Override
  protected Spool spool() {
    return wal.spool();
  }

  @Override
  protected DeliveryStatusReader deliveryStatuses() {
    return wal.spool();
  }

  @Override
  protected SpoolConsumer consumer(FallbackDuplicateCheck duplicateCheck) {
    if (current == null) {
      current = wal.spool().newConsumer(duplicateCheck);
    }
    return current;
  }

  @Override
  protected void kill() throws IOException {
    assertThat(wal.spool().skippedEntries()).as("possible duplicates are not skipped").isZero();
    wal.kill();
    current = null;
  }

  /** An earlier release may have appended some frames of such a delivery to Redis already. */
  @Test
  void poll_uncertainDeliveryOfAnEarlierRelease_checksEachFrame() throws Exception {
    var batches = LogBatches.list(2, 10);
    for (var batch : batches) {
      assertThat(wal.spool().append(batch, AppendMode.SYNC).toCompletableFuture().join())
          .isInstanceOf(AppendResult.Accepted.class);
    }
    var last = FramePosition.of(statusPosition(2));
    wal.spool().close();
    try (var journal = Journal.open(wal.node().resolve("journal"), _ -> {})) {
      journal.append(
          "{\"event\":\"handed-out\",\"last\":\"%s\",\"certain\":false}".formatted(last));
    }
    wal.reopen();

    assertThat(
            wal.spool()
                .newConsumer(_ -> DuplicateStatus.UNKNOWN)
                .poll(Duration.ZERO, Duration.ZERO))
        .isEmpty();
    assertThat(wal.spool().recordCounts()).isEqualTo(new RecordCounts(20, 20, 0));
    wal.kill();

    var first = batches.getFirst().appendId();
    var consumer =
        wal.spool()
            .newConsumer(
                id -> id.equals(first) ? DuplicateStatus.DELIVERED : DuplicateStatus.UNIQUE);
    var delivery = consumer.poll(Duration.ZERO, Duration.ZERO).orElseThrow();
    consumer.ack(delivery);

    SpoolContract.assertSameBatches(delivery.batches(), List.of(batches.getLast()));
    assertThat(consumer.poll(Duration.ZERO, Duration.ZERO)).isEmpty();
    wal.kill();
    assertThat(wal.spool().recordCounts()).isEqualTo(new RecordCounts(10, 0, 0));
  }

  private String statusPosition(int frame) throws IOException {
    return wal.spool().walStatus().segments().getLast().file().replaceAll("[.].*", "")
        + "/"
        + frame;
  }
}
