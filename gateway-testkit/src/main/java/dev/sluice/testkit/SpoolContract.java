package dev.sluice.testkit;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.domain.ReplayId;
import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.DailyCounts;
import dev.sluice.core.port.DailyCounts.RecordCounts;
import dev.sluice.core.port.DeliveryStatusReader;
import dev.sluice.core.port.DeliveryStatusReader.DeliveryStatus;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.core.port.Spool.Receipt;
import dev.sluice.core.port.Spool.SpoolStatus;
import dev.sluice.core.port.SpoolConsumer;
import dev.sluice.core.port.SpoolConsumer.Delivery;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.common.v1.InstrumentationScope;
import io.opentelemetry.proto.logs.v1.LogRecord;
import io.opentelemetry.proto.logs.v1.ResourceLogs;
import io.opentelemetry.proto.logs.v1.ScopeLogs;
import io.opentelemetry.proto.resource.v1.Resource;
import java.time.Duration;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Executors;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The contract of every {@link Spool} with its {@link SpoolConsumer}. A subclass also has a nested
 * test class for each capability of its spool, which extends {@link DailyCountsContract}, {@link
 * DeliveryStatusContract} or {@link BacklogContract}. Each test begins with an empty spool of one
 * shard, whose deliveries are limited by {@link #MAX_RECORDS} and {@link #MAX_BYTES}.
 */
@Timeout(60)
public abstract class SpoolContract {
  /** The maximum number of log records in one delivery. */
  protected static final int MAX_RECORDS = 1_000;

  /** The maximum number of uncompressed bytes in one delivery. */
  protected static final int MAX_BYTES = 1 << 20;

  private static final Set<Thread.State> BLOCKED =
      Set.of(Thread.State.WAITING, Thread.State.TIMED_WAITING);
  private static final Duration TIMEOUT = Duration.ofSeconds(5);
  private static final Duration SHORT_TIMEOUT = Duration.ofMillis(50);

  /** Returns the spool, the same within a test. */
  protected abstract Spool spool();

  /**
   * Returns the consumer after a simulated restart of its process: the previous consumer, if any,
   * was not closed and is not used any more.
   */
  protected abstract SpoolConsumer restartConsumer();

  /** Appends, and the status of the spool. */
  @Nested
  class Append {
    @Test
    void append_oneBatch_isAcceptedAndDeliveredUnchanged() throws Exception {
      var batch = LogBatches.of(7);

      var appendResult = append(batch);

      assertThat(appendResult).isInstanceOf(AppendResult.Accepted.class);
      var delivery = restartConsumer().poll(TIMEOUT, Duration.ZERO).orElseThrow();
      assertSameBatches(delivery.batches(), List.of(batch));
    }

    @Test
    void append_sameBatchTwice_isOneEntryWithOneReceipt() throws Exception {
      var batch = LogBatches.of(7);
      var spoolConsumer = restartConsumer();
      var first = append(batch);

      var second = append(batch);

      assertThat(first).isInstanceOf(AppendResult.Accepted.class);
      assertThat(second).isEqualTo(first);
      assertRecords(spool(), 7, 7);
      var delivery = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
      assertSameBatches(delivery.batches(), List.of(batch));
      spoolConsumer.ack(delivery);
      assertThat(append(batch)).isEqualTo(first);
      assertThat(spoolConsumer.poll(SHORT_TIMEOUT, Duration.ZERO)).isEmpty();
    }

    /** Its record was accepted before, and is in flight again. */
    @Test
    void append_replay_isInFlightOnceAndNotAcceptedAgain() throws Exception {
      var log = LogBatches.of(1);
      var replay = withAppendId(log, ReplayId.of(log.firstId(), 1));
      var spoolConsumer = restartConsumer();
      append(LogBatches.of(5));

      for (int i = 0; i < 2; i++) {
        var result =
            spool()
                .append(replay, AppendMode.POSSIBLE_DUPLICATE)
                .toCompletableFuture()
                .get(30, SECONDS);
        assertThat(result).isInstanceOf(AppendResult.Accepted.class);
      }

      assertRecords(spool(), 5, 6);
      var delivery = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
      assertThat(delivery.redelivered()).isTrue();
      spoolConsumer.ack(delivery);
      assertRecords(spool(), 5, 0);
    }

    @Test
    void append_possibleDuplicate_isDeliveredAsRedelivered() throws Exception {
      var spoolConsumer = restartConsumer();
      assertThat(spoolConsumer.poll(SHORT_TIMEOUT, Duration.ZERO)).isEmpty();
      append(LogBatches.of(1));
      spoolConsumer.ack(spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow());
      var batch = LogBatches.of(7);

      var appendResult =
          spool()
              .append(batch, AppendMode.POSSIBLE_DUPLICATE)
              .toCompletableFuture()
              .get(30, SECONDS);

      assertThat(appendResult).isInstanceOf(AppendResult.Accepted.class);
      var redelivered = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
      assertSameBatches(redelivered.batches(), List.of(batch));
      assertThat(redelivered.redelivered()).isTrue();
      spoolConsumer.ack(redelivered);
      append(LogBatches.of(1));
      assertThat(spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow().redelivered()).isFalse();
    }

    @Test
    void append_possibleDuplicateAmongOthers_marksTheDeliveryRedelivered() throws Exception {
      var spoolConsumer = restartConsumer();
      assertThat(spoolConsumer.poll(SHORT_TIMEOUT, Duration.ZERO)).isEmpty();
      append(LogBatches.of(1));
      var _ =
          spool()
              .append(LogBatches.of(2), AppendMode.POSSIBLE_DUPLICATE)
              .toCompletableFuture()
              .get(30, SECONDS);
      append(LogBatches.of(1));

      var delivery = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();

      assertThat(delivery.records()).isEqualTo(4);
      assertThat(delivery.redelivered()).isTrue();
    }

    @Test
    void append_possibleDuplicateOfExistingBatch_isOneEntryWithOneReceipt() throws Exception {
      var batch = LogBatches.of(7);
      var first = append(batch);

      var second =
          spool()
              .append(batch, AppendMode.POSSIBLE_DUPLICATE)
              .toCompletableFuture()
              .get(30, SECONDS);

      assertThat(second).isEqualTo(first);
      assertRecords(spool(), 7, 7);
    }

    @Test
    void status_someLogs_countsPendingRecords() throws Exception {
      append(LogBatches.list(3, 10));

      var status = spool().status().toCompletableFuture().get(30, SECONDS);

      assertThat(status).isEqualTo(new SpoolStatus(null, null, 30, 0));
    }

    @Test
    void status_healthy_isAvailable() {
      assertThat(spool().status().toCompletableFuture().join().unavailableReason()).isNull();
    }

    @Test
    void append_manyThreads_eachIsDeliveredOnce() throws Exception {
      int threads = 8;
      int each = 50;
      var sent = new ArrayList<UUID>();
      try (var executor = Executors.newVirtualThreadPerTaskExecutor()) {
        var appends =
            IntStream.range(0, threads)
                .mapToObj(_ -> executor.submit(() -> appendSome(each)))
                .toList();
        for (var future : appends) {
          sent.addAll(future.get(30, SECONDS));
        }
      }

      var delivered =
          drain(restartConsumer()).stream()
              .flatMap(d -> d.batches().stream())
              .map(LogBatch::appendId);

      assertThat(delivered).hasSize(threads * each).containsExactlyInAnyOrderElementsOf(sent);
    }
  }

  /** Deliveries. */
  @Nested
  class Consume {
    @Test
    void poll_severalAppends_areOneDeliveryInOrder() throws Exception {
      var batches = LogBatches.list(5, 10);
      append(batches);

      var delivery = restartConsumer().poll(TIMEOUT, Duration.ZERO).orElseThrow();

      assertSameBatches(delivery.batches(), batches);
      assertThat(delivery.records()).isEqualTo(50);
    }

    @Test
    void poll_emptySpool_isEmptyAfterTimeout() throws Exception {
      var spoolConsumer = restartConsumer();
      long start = System.nanoTime();

      var delivery = spoolConsumer.poll(SHORT_TIMEOUT, Duration.ZERO);

      assertThat(delivery).isEmpty();
      assertThat(Duration.ofNanos(System.nanoTime() - start))
          .isBetween(SHORT_TIMEOUT.minusMillis(5), TIMEOUT);
    }

    @Test
    void poll_zeroTimeout_returnsAvailableEntries() throws Exception {
      var batches = LogBatches.list(3, 10);
      append(batches);
      var spoolConsumer = restartConsumer();

      var delivery = spoolConsumer.poll(Duration.ZERO, Duration.ZERO).orElseThrow();
      spoolConsumer.ack(delivery);

      assertSameBatches(delivery.batches(), batches);
      assertThat(spoolConsumer.poll(Duration.ZERO, Duration.ZERO)).isEmpty();
    }

    @Test
    void poll_appendWhileWaiting_returnsImmediately() throws Exception {
      var spoolConsumer = restartConsumer();
      assertThat(spoolConsumer.poll(SHORT_TIMEOUT, Duration.ZERO)).isEmpty();
      var waiting =
          new FutureTask<>(() -> spoolConsumer.poll(Duration.ofSeconds(30), Duration.ZERO));
      startAndAwaitBlocked(waiting);
      var batch = LogBatches.of(1);
      long start = System.nanoTime();

      append(batch);

      var delivery = waiting.get(30, SECONDS).orElseThrow();
      assertSameBatches(delivery.batches(), List.of(batch));
      assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(TIMEOUT);
    }

    @Test
    void poll_interrupted_throwsAndLosesNothing() throws Exception {
      var spoolConsumer = restartConsumer();
      assertThat(spoolConsumer.poll(SHORT_TIMEOUT, Duration.ZERO)).isEmpty();
      var waiting =
          new FutureTask<>(() -> spoolConsumer.poll(Duration.ofSeconds(2), Duration.ZERO));
      var thread = startAndAwaitBlocked(waiting);

      thread.interrupt();

      assertThatThrownBy(() -> waiting.get(30, SECONDS))
          .hasCauseInstanceOf(InterruptedException.class);
      var batch = LogBatches.of(1);
      append(batch);
      assertSameBatches(
          spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow().batches(), List.of(batch));
    }

    @Test
    void poll_unacked_returnsTheSameDelivery() throws Exception {
      var batches = LogBatches.list(4, 10);
      append(batches);
      var spoolConsumer = restartConsumer();
      var first = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
      append(LogBatches.of(10));

      var second = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();

      assertThat(second.token()).isEqualTo(first.token());
      assertSameBatches(second.batches(), batches);
    }

    @Test
    void poll_unackedBeforeRestart_returnsTheSameDelivery() throws Exception {
      var batches = LogBatches.list(4, 10);
      append(batches);
      var first = restartConsumer().poll(TIMEOUT, Duration.ZERO).orElseThrow();
      append(LogBatches.of(10));

      var second = restartConsumer().poll(TIMEOUT, Duration.ZERO).orElseThrow();

      assertThat(second.token()).isEqualTo(first.token());
      assertSameBatches(second.batches(), batches);
    }

    @Test
    void poll_unackedAtALimit_returnsTheSameDeliveryAlsoAfterRestart() throws Exception {
      append(LogBatches.list(10, MAX_RECORDS / 4));
      var spoolConsumer = restartConsumer();
      spoolConsumer.ack(spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow());
      var first = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();

      var second = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
      var third = restartConsumer().poll(TIMEOUT, Duration.ZERO).orElseThrow();

      assertThat(first.records()).isEqualTo(MAX_RECORDS);
      assertThat(List.of(second.token(), third.token())).containsOnly(first.token());
      assertSameBatches(second.batches(), first.batches());
      assertSameBatches(third.batches(), first.batches());
    }

    @Test
    void poll_unackedDelivery_isMarkedRedelivered() throws Exception {
      var spoolConsumer = restartConsumer();
      assertThat(spoolConsumer.poll(SHORT_TIMEOUT, Duration.ZERO)).isEmpty();
      append(LogBatches.of(10));

      var first = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
      var redelivered = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
      spoolConsumer.ack(redelivered);
      append(LogBatches.of(10));
      var second = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
      var afterRestart = restartConsumer().poll(TIMEOUT, Duration.ZERO).orElseThrow();

      assertThat(first.redelivered()).isFalse();
      assertThat(redelivered.redelivered()).isTrue();
      assertThat(second.redelivered()).isFalse();
      assertThat(afterRestart.redelivered()).isTrue();
      assertThat(afterRestart.token()).isEqualTo(second.token());
    }

    @Test
    void skip_oneBatchOfADelivery_redeliversTheRestUnderANewToken() throws Exception {
      var batches = LogBatches.list(3, 10);
      append(batches);
      var spoolConsumer = restartConsumer();
      var all = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();

      spoolConsumer.skip(batches.get(1).appendId(), "invalid content");
      append(LogBatches.of(10));
      var rest = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
      var redelivered = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();

      assertSameBatches(rest.batches(), List.of(batches.get(0), batches.get(2)));
      assertThat(rest.token()).isNotEqualTo(all.token());
      assertThat(rest.redelivered()).isTrue();
      assertThat(redelivered.token()).isEqualTo(rest.token());
    }

    @Test
    void skip_wholeDelivery_continuesAfterItAndRetainsIt() throws Exception {
      var batches = LogBatches.list(2, MAX_RECORDS);
      append(batches);
      var spoolConsumer = restartConsumer();
      var first = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();

      spoolConsumer.skip(first.batches().getFirst().appendId(), "invalid content");
      var second = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
      spoolConsumer.ack(second);

      assertSameBatches(second.batches(), batches.subList(1, 2));
      assertThat(spoolConsumer.poll(SHORT_TIMEOUT, Duration.ZERO)).isEmpty();
      assertRecords(spool(), 2 * MAX_RECORDS, MAX_RECORDS);
    }

    @Test
    void skip_batchNotInDelivery_throws() throws Exception {
      var batch = LogBatches.of(1);
      append(batch);
      var spoolConsumer = restartConsumer();

      assertThatThrownBy(() -> spoolConsumer.skip(batch.appendId(), "why"))
          .isInstanceOf(IllegalArgumentException.class);
      var _ = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
      assertThatThrownBy(() -> spoolConsumer.skip(UUID.randomUUID(), "why"))
          .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void ack_afterSkip_throwsAndAcksNothing() throws Exception {
      var batches = LogBatches.list(2, 10);
      append(batches);
      var spoolConsumer = restartConsumer();
      var all = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
      spoolConsumer.skip(batches.getFirst().appendId(), "invalid content");

      assertThatThrownBy(() -> spoolConsumer.ack(all)).isInstanceOf(IllegalArgumentException.class);

      assertRecords(spool(), 20, 20);
    }

    @Test
    void poll_differentDeliveries_haveDifferentTokens() throws Exception {
      var spoolConsumer = restartConsumer();
      append(LogBatches.of(1));
      var first = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
      spoolConsumer.ack(first);
      append(LogBatches.of(1));

      var second = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();

      assertThat(second.token()).isNotEqualTo(first.token());
    }

    @Test
    void ack_delivery_isNeverRedelivered() throws Exception {
      append(LogBatches.list(3, 10));
      var spoolConsumer = restartConsumer();

      spoolConsumer.ack(spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow());

      assertThat(spoolConsumer.poll(SHORT_TIMEOUT, Duration.ZERO)).isEmpty();
      assertThat(restartConsumer().poll(SHORT_TIMEOUT, Duration.ZERO)).isEmpty();
    }

    @Test
    void ack_unknownDelivery_throwsAndAcksNothing() throws Exception {
      append(LogBatches.of(10));
      var spoolConsumer = restartConsumer();
      var delivery = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
      var other = new Delivery("another", delivery.batches(), false);

      assertThatThrownBy(() -> spoolConsumer.ack(other))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("another");
      assertThat(spoolConsumer.poll(TIMEOUT, Duration.ZERO)).isPresent();
    }

    @Test
    void poll_moreThanMaxRecords_splitsIntoFullDeliveries() throws Exception {
      var batches = LogBatches.list(10, MAX_RECORDS / 4);
      append(batches);

      var delivered = drain(restartConsumer());

      assertThat(delivered.stream().map(Delivery::records))
          .containsExactly((long) MAX_RECORDS, (long) MAX_RECORDS, (long) MAX_RECORDS / 2);
      assertSameBatches(delivered.stream().flatMap(d -> d.batches().stream()).toList(), batches);
    }

    @Test
    void poll_moreThanMaxBytes_splits() throws Exception {
      var batches = IntStream.range(0, 5).mapToObj(_ -> incompressible(MAX_BYTES / 3)).toList();
      append(batches);

      var delivered = drain(restartConsumer());

      assertThat(delivered.stream().map(delivery -> delivery.batches().size()))
          .containsExactly(2, 2, 1);
      assertSameBatches(delivered.stream().flatMap(d -> d.batches().stream()).toList(), batches);
    }

    @Test
    void poll_batchOverAllLimits_isADeliveryByItself() throws Exception {
      var small = LogBatches.of(1);
      var large = LogBatches.of(MAX_RECORDS + 1);
      append(List.of(small, large));

      var delivered = drain(restartConsumer());

      assertThat(delivered.stream().map(Delivery::records)).containsExactly(1L, MAX_RECORDS + 1L);
    }
  }

  /** The capability {@link DailyCounts}. */
  protected abstract class DailyCountsContract {
    protected abstract DailyCounts dailyCounts();

    @Test
    void recordCounts_severalDays_areCountedSeparately() throws Exception {
      var first = LocalDate.of(2026, 3, 1);
      append(List.of(receivedOn(first, 3), receivedOn(first, 4), receivedOn(first.plusDays(2), 5)));

      assertThat(dailyCounts().recordCounts(LocalDate.EPOCH))
          .isEqualTo(
              Map.of(
                  first, new RecordCounts(7, 7, 0), first.plusDays(2), new RecordCounts(5, 5, 0)));
      assertThat(dailyCounts().recordCounts(first.plusDays(1)))
          .isEqualTo(Map.of(first.plusDays(2), new RecordCounts(5, 5, 0)));
      assertThat(dailyCounts().recordCounts()).isEqualTo(new RecordCounts(12, 12, 0));
    }

    @Test
    void recordCounts_appendPollAndAck_countAcceptedAndInFlight() throws Exception {
      var spoolConsumer = restartConsumer();
      assertThat(dailyCounts().recordCounts()).isEqualTo(new RecordCounts(0, 0, 0));

      append(List.of(LogBatches.of(MAX_RECORDS), LogBatches.of(30)));
      assertThat(dailyCounts().recordCounts())
          .isEqualTo(new RecordCounts(MAX_RECORDS + 30, MAX_RECORDS + 30, 0));

      var first = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
      assertThat(dailyCounts().recordCounts())
          .isEqualTo(new RecordCounts(MAX_RECORDS + 30, MAX_RECORDS + 30, 0));

      spoolConsumer.ack(first);
      assertThat(dailyCounts().recordCounts()).isEqualTo(new RecordCounts(MAX_RECORDS + 30, 30, 0));

      spoolConsumer.ack(spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow());
      assertThat(dailyCounts().recordCounts()).isEqualTo(new RecordCounts(MAX_RECORDS + 30, 0, 0));
    }
  }

  /** The capability {@link DeliveryStatusReader}. */
  protected abstract class DeliveryStatusContract {
    protected abstract DeliveryStatusReader deliveryStatuses();

    @Test
    void statusOf_oneEntry_isPendingUntilAcked() throws Exception {
      var batch = LogBatches.of(3);
      var spoolConsumer = restartConsumer();
      var receipt = ((AppendResult.Accepted) append(batch)).receipt();
      assertThat(statusOf(receipt)).isEqualTo(new DeliveryStatus.Pending());

      var delivery = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
      assertThat(statusOf(receipt)).isEqualTo(new DeliveryStatus.Pending());

      spoolConsumer.ack(delivery);
      assertThat(statusOf(receipt)).isEqualTo(new DeliveryStatus.Delivered());
    }

    @Test
    void statusOf_foreignReceipt_isUnknown() throws Exception {
      var batch = LogBatches.of(3);
      append(batch);

      assertThat(statusOf(new Receipt(17, "1-0"))).isInstanceOf(DeliveryStatus.Unknown.class);
    }

    private DeliveryStatus statusOf(Receipt receipt) throws Exception {
      return deliveryStatuses().statusOf(receipt).toCompletableFuture().get(30, SECONDS);
    }
  }

  /** The capability {@link Backlog}. */
  protected abstract class BacklogContract {
    protected abstract Backlog backlog();

    @Test
    void depth_appendPollAndAck_countsUnackedEntries() throws Exception {
      var spoolConsumer = restartConsumer();
      assertThat(backlog().depth()).isEqualTo(new Backlog.Depth(0, Duration.ZERO));

      append(LogBatches.list(3, 1));
      assertThat(backlog().depth().entries()).isEqualTo(3);
      assertThat(backlog().depth().oldestAge()).isLessThan(Duration.ofMinutes(1));

      var delivery = spoolConsumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
      assertThat(backlog().depth().entries()).isEqualTo(3);

      spoolConsumer.ack(delivery);
      assertThat(backlog().depth()).isEqualTo(new Backlog.Depth(0, Duration.ZERO));
    }
  }

  /**
   * Asserts the number of records in flight, and that of all accepted records if the spool counts
   * them.
   */
  static void assertRecords(Spool spool, long accepted, long inFlight) {
    assertThat(spool.status().toCompletableFuture().join().pendingRecords()).isEqualTo(inFlight);
    if (spool instanceof DailyCounts counts) {
      assertThat(counts.recordCounts()).isEqualTo(new RecordCounts(accepted, inFlight, 0));
    }
  }

  private static LogBatch withAppendId(LogBatch log, UUID appendId) {
    return new LogBatch(
        appendId,
        log.tenant(),
        log.receivedNanos(),
        log.firstId(),
        log.records(),
        log.expandedBytes(),
        log.payload());
  }

  private List<UUID> appendSome(int count) throws Exception {
    var ids = new ArrayList<UUID>();
    for (int i = 0; i < count; i++) {
      var batch = LogBatches.of(5);
      assertThat(append(batch)).isInstanceOf(AppendResult.Accepted.class);
      ids.add(batch.appendId());
    }
    return ids;
  }

  /** Returns a batch that is received late on that day in UTC. */
  private static LogBatch receivedOn(LocalDate day, int records) {
    var batch = LogBatches.of(records);
    return new LogBatch(
        batch.appendId(),
        batch.tenant(),
        day.plusDays(1).toEpochDay() * 86_400_000_000_000L - 1,
        batch.firstId(),
        batch.records(),
        batch.expandedBytes(),
        batch.otlp());
  }

  private AppendResult append(LogBatch batch) throws Exception {
    return spool().append(batch, AppendMode.SYNC).toCompletableFuture().get(30, SECONDS);
  }

  private void append(List<LogBatch> batches) throws Exception {
    for (var batch : batches) {
      assertThat(append(batch)).isInstanceOf(AppendResult.Accepted.class);
    }
  }

  private static List<Delivery> drain(SpoolConsumer spoolConsumer) throws InterruptedException {
    var drained = new ArrayList<Delivery>();
    while (true) {
      var delivery = spoolConsumer.poll(Duration.ZERO, Duration.ZERO);
      if (delivery.isEmpty()) {
        return drained;
      }
      drained.add(delivery.get());
      spoolConsumer.ack(delivery.get());
    }
  }

  private static Thread startAndAwaitBlocked(FutureTask<?> task) {
    var thread = Thread.ofVirtual().start(task);
    await().until(() -> BLOCKED.contains(thread.getState()));
    return thread;
  }

  /** Returns a batch of slightly more than {@code bytes} bytes, compressed or not. */
  private static LogBatch incompressible(int bytes) {
    var body = new byte[bytes];
    ThreadLocalRandom.current().nextBytes(body);
    var log =
        LogRecord.newBuilder()
            .setBody(AnyValue.newBuilder().setBytesValue(ByteString.copyFrom(body)));
    return LogBatches.of(
        ExportLogsServiceRequest.newBuilder()
            .addResourceLogs(
                ResourceLogs.newBuilder().addScopeLogs(ScopeLogs.newBuilder().addLogRecords(log)))
            .build()
            .toByteArray());
  }

  /**
   * Asserts that the batches hold the same logs with the same ids. The storage format of a spool is
   * not compared.
   */
  public static void assertSameBatches(List<LogBatch> actual, List<LogBatch> expected) {
    assertThat(actual.stream().map(BatchContent::of))
        .isEqualTo(expected.stream().map(BatchContent::of).toList());
  }

  /** The content of a batch that a spool must preserve. */
  private record BatchContent(
      UUID appendId,
      String tenant,
      long receivedNanos,
      LogId firstId,
      int records,
      int expandedBytes,
      List<LogWithContext> logs) {

    /** A record with its resource and scope. */
    private record LogWithContext(
        Resource resource,
        String resourceSchema,
        InstrumentationScope scope,
        String scopeSchema,
        LogRecord log) {}

    static BatchContent of(LogBatch batch) {
      return new BatchContent(
          batch.appendId(),
          batch.tenant(),
          batch.receivedNanos(),
          batch.firstId(),
          batch.records(),
          batch.expandedBytes(),
          logs(batch));
    }

    private static List<LogWithContext> logs(LogBatch batch) {
      ExportLogsServiceRequest request;
      try {
        request = ExportLogsServiceRequest.parseFrom(batch.otlp());
      } catch (InvalidProtocolBufferException e) {
        throw new AssertionError(e);
      }
      var logs = new ArrayList<LogWithContext>();
      for (var resource : request.getResourceLogsList()) {
        for (var scope : resource.getScopeLogsList()) {
          for (var log : scope.getLogRecordsList()) {
            logs.add(
                new LogWithContext(
                    resource.getResource(),
                    resource.getSchemaUrl(),
                    scope.getScope(),
                    scope.getSchemaUrl(),
                    log));
          }
        }
      }
      return logs;
    }
  }
}
