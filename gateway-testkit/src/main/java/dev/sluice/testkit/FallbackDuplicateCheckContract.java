package dev.sluice.testkit;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.ReplayId;
import dev.sluice.core.port.DeliveryStatusReader;
import dev.sluice.core.port.DeliveryStatusReader.DeliveryStatus;
import dev.sluice.core.port.FallbackDuplicateCheck;
import dev.sluice.core.port.FallbackDuplicateCheck.DuplicateStatus;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.core.port.Spool.Receipt;
import dev.sluice.core.port.SpoolConsumer;
import dev.sluice.core.port.SpoolConsumer.Delivery;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The contract of a fallback spool whose consumer has a {@link FallbackDuplicateCheck}. Each test
 * has an empty spool, whose limits of a delivery are at least 60 records.
 */
@Timeout(60)
public abstract class FallbackDuplicateCheckContract {
  private final Map<UUID, DuplicateStatus> known = new ConcurrentHashMap<>();
  private final FallbackDuplicateCheck check =
      appendId -> known.getOrDefault(appendId, DuplicateStatus.UNKNOWN);

  protected abstract Spool spool();

  protected abstract DeliveryStatusReader deliveryStatuses();

  /** Returns the consumer of the spool with this check, the same within one process. */
  protected abstract SpoolConsumer consumer(FallbackDuplicateCheck duplicateCheck);

  /** Simulates a kill of the process; a spool that does not survive its process does nothing. */
  protected void kill() throws Exception {}

  @Test
  void poll_unknownBatch_waitsAndDelaysNoOther() throws Exception {
    var before = LogBatches.of(10);
    var doubtful = LogBatches.of(20);
    var behind = LogBatches.of(30);
    append(before, AppendMode.SYNC);
    var receipt = append(doubtful, AppendMode.POSSIBLE_DUPLICATE);
    append(behind, AppendMode.SYNC);

    var delivery = poll().orElseThrow();
    consumer(check).ack(delivery);

    SpoolContract.assertSameBatches(delivery.batches(), List.of(before, behind));
    assertThat(delivery.redelivered()).isFalse();
    for (int i = 0; i < 2; i++) {
      assertThat(poll()).isEmpty();
      SpoolContract.assertRecords(spool(), 60, 20);
      assertThat(statusOf(receipt)).isEqualTo(new DeliveryStatus.Pending());
      kill();
    }
  }

  @Test
  void poll_uniqueBatches_areDeliveredAloneAsRedelivered() throws Exception {
    var doubtful = LogBatches.list(2, 10);
    for (var batch : doubtful) {
      append(batch, AppendMode.POSSIBLE_DUPLICATE);
      known.put(batch.appendId(), DuplicateStatus.UNIQUE);
    }

    for (var batch : doubtful) {
      var delivery = pollDecided().orElseThrow();
      SpoolContract.assertSameBatches(delivery.batches(), List.of(batch));
      assertThat(delivery.redelivered()).isTrue();
      consumer(check).ack(delivery);
    }

    assertThat(pollDecided()).isEmpty();
    SpoolContract.assertRecords(spool(), 20, 0);
  }

  @Test
  void poll_uniqueBatchNotAcked_isRedeliveredWithoutAnotherCheck() throws Exception {
    var doubtful = LogBatches.of(10);
    append(doubtful, AppendMode.POSSIBLE_DUPLICATE);
    known.put(doubtful.appendId(), DuplicateStatus.UNIQUE);
    var delivery = pollDecided().orElseThrow();

    known.clear();
    kill();
    var redelivery = poll().orElseThrow();

    assertThat(redelivery.token()).isEqualTo(delivery.token());
    assertThat(redelivery.redelivered()).isTrue();
    consumer(check).ack(redelivery);
    assertThat(poll()).isEmpty();
    SpoolContract.assertRecords(spool(), 10, 0);
  }

  /** The primary counts the records of the batch as accepted. */
  @Test
  void poll_deliveredBatch_isDroppedAndNotCounted() throws Exception {
    append(LogBatches.of(5), AppendMode.SYNC);
    var doubtful = LogBatches.of(10);
    var receipt = append(doubtful, AppendMode.POSSIBLE_DUPLICATE);
    consumer(check).ack(poll().orElseThrow());
    known.put(doubtful.appendId(), DuplicateStatus.DELIVERED);

    assertThat(poll()).isEmpty();

    for (int i = 0; i < 2; i++) {
      assertThat(poll()).isEmpty();
      SpoolContract.assertRecords(spool(), 5, 0);
      assertThat(statusOf(receipt)).isEqualTo(new DeliveryStatus.Delivered());
      kill();
    }
  }

  @Test
  void poll_deliveredReplay_leavesTheCountOfAcceptedRecords() throws Exception {
    var log = LogBatches.of(1);
    var replay =
        new LogBatch(
            ReplayId.of(log.firstId(), 1),
            log.tenant(),
            log.receivedNanos(),
            log.firstId(),
            1,
            log.expandedBytes(),
            log.payload());
    append(replay, AppendMode.POSSIBLE_DUPLICATE);
    known.put(replay.appendId(), DuplicateStatus.DELIVERED);

    assertThat(pollDecided()).isEmpty();

    SpoolContract.assertRecords(spool(), 0, 0);
  }

  private Optional<Delivery> poll() throws InterruptedException {
    return consumer(check).poll(Duration.ZERO, Duration.ZERO);
  }

  /** Polls again when the first poll has only found the batches that need a check. */
  private Optional<Delivery> pollDecided() throws InterruptedException {
    var delivery = poll();
    return delivery.isPresent() ? delivery : poll();
  }

  private DeliveryStatus statusOf(Receipt receipt) throws Exception {
    return deliveryStatuses().statusOf(receipt).toCompletableFuture().get(30, SECONDS);
  }

  private Receipt append(LogBatch batch, AppendMode appendMode) throws Exception {
    var appendResult = spool().append(batch, appendMode).toCompletableFuture().get(30, SECONDS);
    assertThat(appendResult).isInstanceOf(AppendResult.Accepted.class);
    return ((AppendResult.Accepted) appendResult).receipt();
  }
}
