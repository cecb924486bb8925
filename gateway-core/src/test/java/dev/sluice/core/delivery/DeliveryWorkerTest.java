package dev.sluice.core.delivery;

import static dev.sluice.core.port.DeliveryMetrics.PauseReason.SCHEMA;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.domain.RecordIds;
import dev.sluice.core.domain.ReplayId;
import dev.sluice.core.port.DeliveryMetrics;
import dev.sluice.core.port.DeliveryMetrics.PauseReason;
import dev.sluice.core.port.LogEnricher;
import dev.sluice.core.port.LogStore;
import dev.sluice.core.port.LogStore.StoreResult;
import dev.sluice.core.port.SpoolConsumer;
import dev.sluice.core.port.UnusedDeadLetterStore;
import dev.sluice.core.port.WriteResult;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.logs.v1.LogRecord;
import io.opentelemetry.proto.logs.v1.ResourceLogs;
import io.opentelemetry.proto.logs.v1.ScopeLogs;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(10)
class DeliveryWorkerTest {
  private static final Duration LONG = Duration.ofHours(1);
  private static final Instant NOW = Instant.parse("2026-08-24T10:00:00.000000009Z");

  /** All events of the worker and of the fakes, in their order. */
  private final BlockingQueue<String> events = new LinkedBlockingQueue<>();

  private volatile Instant now = NOW;
  private final QueuedConsumer deliveries = new QueuedConsumer();
  private final ScriptedStore store = new ScriptedStore();
  private final RecordingDeadLetterStore deadLetters = new RecordingDeadLetterStore();
  private final NumberingEnricher enricher = new NumberingEnricher();
  private final Backoff backoff =
      new Backoff(
          Duration.ofMillis(100),
          Duration.ofMillis(400),
          p -> recordEvent("pause " + p.toMillis()),
          () -> 0L);
  private final DeliveryWorker worker =
      DeliveryWorker.start(
          "test",
          deliveries,
          store,
          deadLetters,
          enricher,
          new RecordingMetrics(),
          new DeliveryWorker.WorkerSettings(backoff, this::sleep, () -> now, 3, 1));

  private volatile Runnable onSleep = () -> {};

  private void sleep(Duration pause) {
    onSleep.run();
    recordEvent("sleep " + pause.toMillis());
    now = now.plus(pause);
  }

  private void recordEvent(String event) {
    events.add(event);
  }

  @AfterEach
  void end() {
    worker.close();
  }

  @Test
  void deliver_stored_acksAfterwardsAndCounts() throws Exception {
    deliveries.offer("1-0", 3, 2);

    assertThat(nextEvents(3))
        .containsExactly("store 1-0", "ack 1-0", "stored 5 logs 2 batches PT9S");
  }

  @Test
  void deliver_several_areStoredInOrder() throws Exception {
    deliveries.offer("1-0", 1);
    deliveries.offer("2-0", 1);

    assertThat(nextEvents(6))
        .filteredOn(event -> event.startsWith("store ") || event.startsWith("ack "))
        .containsExactly("store 1-0", "ack 1-0", "store 2-0", "ack 2-0");
  }

  @Test
  void deliver_storeRetryable_redeliversWithGrowingBackoff() throws Exception {
    for (int i = 0; i < 4; i++) {
      store.then(() -> new StoreResult.Retryable("too many parts"));
    }
    deliveries.offer("1-0", 1);

    assertThat(nextEvents(15))
        .containsExactly(
            "store 1-0",
            "retry STORE",
            "pause 100",
            "store 1-0",
            "retry STORE",
            "pause 200",
            "store 1-0",
            "retry STORE",
            "pause 400",
            "store 1-0",
            "retry STORE",
            "pause 400",
            "store 1-0",
            "ack 1-0",
            "stored 1 logs 1 batches PT9S");
  }

  @Test
  void deliver_successBetweenFailures_resetsTheBackoff() throws Exception {
    store.then(() -> new StoreResult.Retryable("busy"));
    store.then(() -> new StoreResult.Retryable("busy"));
    store.then(StoreResult.Stored::new);
    store.then(() -> new StoreResult.Retryable("busy"));
    deliveries.offer("1-0", 1);
    deliveries.offer("2-0", 1);

    assertThat(nextEvents(15))
        .filteredOn(event -> event.startsWith("pause"))
        .containsExactly("pause 100", "pause 200", "pause 100");
  }

  @Test
  void deliver_storeThrows_isRedelivered() throws Exception {
    store.then(
        () -> {
          throw new IllegalStateException("connection reset");
        });
    deliveries.offer("1-0", 1);

    assertThat(nextEvents(5))
        .containsExactly("store 1-0", "retry STORE", "pause 100", "store 1-0", "ack 1-0");
  }

  @Test
  void deliver_storeRetryable_storesAgainWithTheSameIds() throws Exception {
    store.then(() -> new StoreResult.Retryable("busy"));
    deliveries.offer("1-0", 1);
    deliveries.offer("2-0", 1);

    assertThat(nextEvents(8)).contains("ack 1-0", "ack 2-0");
    assertThat(store.ids()).containsExactly(1L, 1L, 2L);
  }

  @Test
  void deliver_bisection_storesAllSlicesWithTheSameIds() throws Exception {
    store.reject(2);
    store.then(null);
    store.then(() -> new StoreResult.Retryable("busy"));
    deliveries.offer("1-0", 3);

    assertThat(nextEvents(10)).contains("ack 1-0");
    assertThat(store.ids()).hasSizeGreaterThan(3).containsOnly(1L);
  }

  @Test
  void deliver_dictionaryFails_storesNothingUntilTheIdsAreWritten() throws Exception {
    enricher.then(() -> new WriteResult.Retryable("no connection"));
    enricher.then(
        () -> {
          throw new IllegalStateException("dictionary not readable");
        });
    enricher.then(() -> new WriteResult.SchemaMismatch("no column Text"));
    deliveries.offer("1-0", 1);

    assertThat(nextEvents(9))
        .containsExactly(
            "retry STORE",
            "pause 100",
            "retry STORE",
            "pause 200",
            "retry SCHEMA",
            "pause 400",
            "store 1-0",
            "ack 1-0",
            "stored 1 logs 1 batches PT9S");
    assertThat(store.ids()).containsExactly(4L);
  }

  @Test
  void deliver_oneOfManyRejected_storesTheOthersAndDeadLettersIt() throws Exception {
    store.reject(5);
    deliveries.offer("1-0", 3, 5);

    assertThat(nextEvents(11))
        .containsExactly(
            "store 1-0",
            "store 1-0/0 redelivered",
            "store 1-0/1 redelivered",
            "store 1-0/10 redelivered",
            "store 1-0/100 redelivered",
            "store 1-0/101 redelivered",
            "store 1-0/11 redelivered",
            "dead letter log 5 because rejected record 5",
            "ack 1-0",
            "dead letters 1",
            "stored 7 logs 2 batches PT9S");
    assertThat(store.records()).containsExactlyInAnyOrder(0, 1, 2, 3, 4, 6, 7);
    assertThat(worker.pauseState()).isEmpty();
  }

  @Test
  void deliver_singleRecordRejected_isDeadLetteredImmediately() throws Exception {
    store.reject(0);
    deliveries.offer("1-0", 1);

    assertThat(nextEvents(5))
        .containsExactly(
            "store 1-0",
            "dead letter log 0 because rejected record 0",
            "ack 1-0",
            "dead letters 1",
            "stored 0 logs 1 batches PT9S");
  }

  @Test
  void deliver_storeRetryableDuringBisection_resumesWhereItStopped() throws Exception {
    store.reject(0);
    store.then(null);
    store.then(() -> new StoreResult.Retryable("too many parts"));
    deliveries.offer("1-0", 4);

    assertThat(nextEvents(12))
        .containsExactly(
            "store 1-0",
            "store 1-0/0 redelivered",
            "retry STORE",
            "pause 100",
            "store 1-0/0 redelivered",
            "store 1-0/00 redelivered",
            "store 1-0/01 redelivered",
            "store 1-0/1 redelivered",
            "dead letter log 0 because rejected record 0",
            "ack 1-0",
            "dead letters 1",
            "stored 3 logs 1 batches PT9S");
  }

  @Test
  void deliver_deadLettersNotWritten_pausesAndAcksNothingBefore() throws Exception {
    store.reject(0);
    deadLetters.then(new WriteResult.Retryable("too many parts"));
    deadLetters.then(null);
    deadLetters.then(new WriteResult.SchemaMismatch("no such column"));
    deliveries.offer("1-0", 1);

    assertThat(nextEvents(14))
        .containsExactly(
            "store 1-0",
            "dead letter log 0 because rejected record 0",
            "retry STORE",
            "pause 100",
            "dead letter log 0 because rejected record 0",
            "retry STORE",
            "pause 200",
            "dead letter log 0 because rejected record 0",
            "retry SCHEMA",
            "pause 400",
            "dead letter log 0 because rejected record 0",
            "ack 1-0",
            "dead letters 1",
            "stored 0 logs 1 batches PT9S");
    assertThat(worker.pauseState()).isEmpty();
  }

  /** Its dead letters of an earlier attempt may be stored now. */
  @Test
  void deliver_redelivered_reportsToTheDeadLettersBeforeTheAck() throws Exception {
    deliveries.offerAgain("1-0", 2);

    assertThat(nextEvents(4))
        .containsExactly(
            "store 1-0 redelivered",
            "no dead letters 1-0",
            "ack 1-0",
            "stored 2 logs 1 batches PT9S");
  }

  /** Another worker may have stored the record meanwhile. */
  @Test
  void deliver_leaseLostBeforeTheDeadLetters_writesAndAcksNothing() throws Exception {
    store.reject(0);
    store.then(
        () -> {
          deliveries.loseLease();
          return null;
        });
    deliveries.offer("1-0", 1);

    assertThat(nextEvents(3)).containsExactly("store 1-0", "retry STORE", "pause 100");
  }

  @Test
  void deliver_leaseLostDuringEnrichment_storesNothing() throws Exception {
    enricher.then(
        () -> {
          deliveries.loseLease();
          return new WriteResult.Written();
        });
    deliveries.offer("1-0", 1);

    assertThat(nextEvents(2)).containsExactly("retry STORE", "pause 100");
  }

  @Test
  void deliver_leaseLostDuringBisection_isAbandoned() throws Exception {
    store.reject(0);
    store.then(
        () -> {
          deliveries.loseLease();
          return null;
        });
    deliveries.offer("1-0", 4);

    assertThat(nextEvents(3)).containsExactly("store 1-0", "retry STORE", "pause 100");
  }

  @Test
  void deliver_tooManyRejected_pausesUntilTheSchemaFitsAndStoresAll() throws Exception {
    for (int i = 0; i < 4; i++) {
      store.reject(i);
    }
    deliveries.offer("1-0", 4);
    var events = nextEvents(12);
    assertThat(events).contains("retry SCHEMA").noneMatch(e -> e.startsWith("ack"));
    // while the schema is unchanged, only one record is retried
    assertThat(events.subList(events.size() - 3, events.size()))
        .containsExactly("store 1-0/11 redelivered", "retry SCHEMA", "pause 200");
    assertThat(worker.pauseState())
        .hasValueSatisfying(t -> assertThat(t.pauseReason()).isEqualTo(SCHEMA));

    store.acceptAll();

    String event;
    do {
      event = nextEvents(1).getFirst();
    } while (!event.startsWith("stored"));
    assertThat(event).isEqualTo("stored 4 logs 1 batches PT9S");
    assertThat(store.records()).containsExactlyInAnyOrder(0, 1, 2, 3);
  }

  @Test
  void deliver_schemaMismatch_pausesAndReportsIt() throws Exception {
    store.then(() -> new StoreResult.SchemaMismatch("no column Body"));
    deliveries.offer("1-0", 1);

    assertThat(nextEvents(5))
        .containsExactly("store 1-0", "retry SCHEMA", "pause 100", "store 1-0", "ack 1-0");
  }

  @Test
  void deliver_corruptBatch_skipsIt() throws Exception {
    var id = UUID.randomUUID();
    store.then(() -> new StoreResult.Corrupt(id, "17 records instead of 18"));
    deliveries.offer("1-0", 1);

    assertThat(nextEvents(3))
        .containsExactly("store 1-0", "skip 17 records instead of 18", "store 1-0");
  }

  @Test
  void deliver_minInsertInterval_isRespected() throws Exception {
    store.setMinInsertInterval(Duration.ofMillis(600));
    deliveries.offer("1-0", 1);
    assertThat(nextEvents(3))
        .containsExactly("store 1-0", "ack 1-0", "stored 1 logs 1 batches PT9S");
    deliveries.offer("2-0", 1);

    assertThat(nextEvents(5))
        .containsExactly("sleep 250", "sleep 250", "sleep 100", "store 2-0", "ack 2-0");
    assertThat(deliveries.lastLinger()).isEqualTo(Duration.ofMillis(600));
  }

  /** An interval of the past would hold a delivery for up to a minute after the merges. */
  @Test
  void deliver_minInsertIntervalShrinks_shortensTheWait() throws Exception {
    store.setMinInsertInterval(Duration.ofMillis(600));
    deliveries.offer("1-0", 1);
    assertThat(nextEvents(3))
        .containsExactly("store 1-0", "ack 1-0", "stored 1 logs 1 batches PT9S");
    onSleep = () -> store.setMinInsertInterval(Duration.ofMillis(300));
    deliveries.offer("2-0", 1);

    assertThat(nextEvents(3)).containsExactly("sleep 250", "sleep 50", "store 2-0");
  }

  @Test
  void deliver_preferredLinger_pollsForLongerAndStoresImmediately() throws Exception {
    store.setPreferredLinger(Duration.ofSeconds(9));
    deliveries.offer("1-0", 1);
    assertThat(nextEvents(3))
        .containsExactly("store 1-0", "ack 1-0", "stored 1 logs 1 batches PT9S");
    deliveries.offer("2-0", 1);

    assertThat(nextEvents(2)).containsExactly("store 2-0", "ack 2-0");
    assertThat(deliveries.lastLinger()).isEqualTo(Duration.ofSeconds(9));
  }

  /** Without the factor, two workers would insert twice as often as one. */
  @Test
  void deliver_minInsertIntervalOfTwoWorkers_isDoubledForEach() throws Exception {
    store.setMinInsertInterval(Duration.ofMillis(100));
    try (var secondConsumer = new QueuedConsumer();
        var _ =
            DeliveryWorker.start(
                "one of two",
                secondConsumer,
                store,
                deadLetters,
                (_, _) -> new WriteResult.Written(),
                new RecordingMetrics(),
                new DeliveryWorker.WorkerSettings(backoff, this::sleep, () -> now, 3, 2))) {
      secondConsumer.offer("1-0", 1);
      assertThat(nextEvents(3))
          .containsExactly("store 1-0", "ack 1-0", "stored 1 logs 1 batches PT9S");
      secondConsumer.offer("2-0", 1);

      assertThat(nextEvents(2)).containsExactly("sleep 200", "store 2-0");
    }
  }

  @Test
  void deliver_clockSetBack_waitsForOneInterval() throws Exception {
    store.setMinInsertInterval(Duration.ofMillis(100));
    deliveries.offer("1-0", 1);
    assertThat(nextEvents(3))
        .containsExactly("store 1-0", "ack 1-0", "stored 1 logs 1 batches PT9S");

    now = now.minus(Duration.ofHours(1));
    deliveries.offer("2-0", 1);

    assertThat(nextEvents(2)).containsExactly("sleep 100", "store 2-0");
  }

  @Test
  void deliver_ackFails_storesAgainUnderTheSameToken() throws Exception {
    deliveries.failAck();
    deliveries.offer("1-0", 1);

    assertThat(nextEvents(7))
        .containsExactly(
            "store 1-0",
            "ack 1-0",
            "retry SPOOL",
            "pause 100",
            "store 1-0",
            "ack 1-0",
            "stored 1 logs 1 batches PT9S");
  }

  @Test
  void poll_spoolUnreachable_retriesAfterBackoff() throws Exception {
    deliveries.failPoll();
    deliveries.offer("1-0", 1);

    assertThat(nextEvents(3)).containsExactly("retry SPOOL", "pause 100", "store 1-0");
  }

  @Test
  void drain_deliveriesPending_deliversThemAndStops() {
    store.hold();
    for (int i = 1; i <= 20; i++) {
      deliveries.offer(i + "-0", 1);
    }

    worker.drain();
    store.release();

    assertThat(worker.shutdown(LONG)).isTrue();
    assertThat(worker.isAlive()).isFalse();
    assertThat(deliveries.pendingCount()).isZero();
    assertThat(events).filteredOn(event -> event.startsWith("ack")).hasSize(20);
  }

  @Test
  void shutdown_nothingPending_stopsInTime() {
    assertThat(worker.isAlive()).isTrue();

    assertThat(worker.shutdown(LONG)).isTrue();

    assertThat(worker.isAlive()).isFalse();
  }

  @Test
  void shutdown_storeHangs_interruptsAndLeavesItUnacked() throws Exception {
    store.then(
        () -> {
          new CountDownLatch(1).await(); // hangs
          return new StoreResult.Stored();
        });
    deliveries.offer("1-0", 1);
    assertThat(nextEvents(1)).containsExactly("store 1-0");

    assertThat(worker.shutdown(Duration.ZERO)).isFalse();

    assertThat(worker.isAlive()).isFalse();
    assertThat(deliveries.pendingCount()).isEqualTo(1);
    assertThat(events).isEmpty();
  }

  /** Like a database client that reports an interrupt as a failed request. */
  @Test
  void shutdown_storeSwallowsTheInterrupt_stopsNevertheless() throws Exception {
    for (int i = 0; i < 3; i++) {
      store.then(
          () -> {
            try {
              new CountDownLatch(1).await(); // hangs
            } catch (InterruptedException e) {
              throw new IllegalStateException("request failed", e);
            }
            return new StoreResult.Stored();
          });
    }
    deliveries.offer("1-0", 1);
    assertThat(nextEvents(1)).containsExactly("store 1-0");

    assertThat(worker.shutdown(Duration.ZERO)).isFalse();

    assertThat(worker.isAlive()).isFalse();
    assertThat(deliveries.pendingCount()).isEqualTo(1);
  }

  @Test
  void shutdown_repeated_stillReportsUndeliveredRecords() throws Exception {
    store.then(
        () -> {
          new CountDownLatch(1).await(); // hangs
          return new StoreResult.Stored();
        });
    deliveries.offer("1-0", 1);
    assertThat(nextEvents(1)).containsExactly("store 1-0");
    worker.shutdown(Duration.ZERO);

    assertThat(worker.shutdown(LONG)).isFalse();
  }

  @Test
  void shutdown_callerInterrupted_interruptsTheWorkerAndRestoresTheFlag() throws Exception {
    store.hold();
    deliveries.offer("1-0", 1);
    assertThat(nextEvents(1)).containsExactly("store 1-0");
    Thread.currentThread().interrupt();

    boolean drained = worker.shutdown(LONG);

    assertThat(Thread.interrupted()).isTrue();
    assertThat(drained).isFalse();
  }

  @Test
  void deliver_error_isRedelivered() throws Exception {
    store.then(
        () -> {
          throw new OutOfMemoryError("thrown by the test");
        });
    deliveries.offer("1-0", 1);

    assertThat(nextEvents(5))
        .containsExactly("store 1-0", "retry STORE", "pause 100", "store 1-0", "ack 1-0");
    assertThat(worker.isAlive()).isTrue();
  }

  @Test
  void close_always_closesTheConsumerAfterTheWorkerStopped() throws Exception {
    worker.close();

    assertThat(events).containsExactly("closed");
    assertThat(worker.isAlive()).isFalse();
  }

  private List<String> nextEvents(int count) throws InterruptedException {
    var seen = new java.util.ArrayList<String>();
    while (seen.size() < count) {
      var event = events.poll(5, TimeUnit.SECONDS);
      if (event == null) {
        throw new AssertionError("only these events: " + seen);
      }
      seen.add(event);
    }
    return seen;
  }

  /** A consumer that returns the oldest delivery until it is acknowledged, like a real spool. */
  private final class QueuedConsumer implements SpoolConsumer {
    private final Deque<Delivery> pending = new ArrayDeque<>();
    private boolean pollFails;
    private boolean ackFails;
    private boolean leaseLost;
    private volatile Duration lastLinger = Duration.ZERO;

    Duration lastLinger() {
      return lastLinger;
    }

    synchronized void offer(String token, int... records) {
      offer(token, false, records);
    }

    synchronized void offerAgain(String token, int... records) {
      offer(token, true, records);
    }

    private void offer(String token, boolean redelivered, int... records) {
      var batches = new java.util.ArrayList<LogBatch>();
      int first = 0;
      for (int count : records) {
        batches.add(batch(count, batches.size(), first));
        first += count;
      }
      pending.add(new Delivery(token, batches, redelivered));
      notifyAll();
    }

    synchronized void failPoll() {
      pollFails = true;
    }

    synchronized void failAck() {
      ackFails = true;
    }

    synchronized void loseLease() {
      leaseLost = true;
    }

    synchronized int pendingCount() {
      return pending.size();
    }

    @Override
    public synchronized Optional<Delivery> poll(Duration timeout, Duration linger)
        throws InterruptedException {
      lastLinger = linger;
      if (pending.isEmpty() && timeout.isPositive()) {
        wait(timeout.toMillis());
      }
      if (!pending.isEmpty() && pollFails) {
        pollFails = false;
        throw new IllegalStateException("spool unreachable");
      }
      return Optional.ofNullable(pending.peek());
    }

    @Override
    public synchronized boolean renewLease(Delivery delivery) {
      return !leaseLost && pending.contains(delivery);
    }

    @Override
    public void flush() {}

    @Override
    public void skip(UUID appendId, String reason) {
      recordEvent("skip " + reason);
    }

    @Override
    public synchronized void ack(Delivery delivery) {
      recordEvent("ack " + delivery.token());
      if (ackFails) {
        ackFails = false;
        throw new IllegalStateException("ack failed");
      }
      pending.remove(delivery);
    }

    @Override
    public void close() {
      recordEvent("closed");
    }
  }

  /** Creates a batch of logs whose bodies are numbered over the whole delivery. */
  private static LogBatch batch(int records, int ageOffset, int first) {
    var logs = ScopeLogs.newBuilder();
    for (int i = first; i < first + records; i++) {
      logs.addLogRecords(
          LogRecord.newBuilder().setBody(AnyValue.newBuilder().setStringValue("log " + i)));
    }
    long received = (NOW.getEpochSecond() - 9 + ageOffset) * 1_000_000_000L + NOW.getNano();
    return new LogBatch(
        UUID.randomUUID(),
        "t",
        received,
        new LogId(1, 1),
        records,
        1,
        ExportLogsServiceRequest.newBuilder()
            .addResourceLogs(ResourceLogs.newBuilder().addScopeLogs(logs))
            .build()
            .toByteArray());
  }

  private static String body(LogBatch log) {
    try {
      var records =
          ExportLogsServiceRequest.parseFrom(log.otlp())
              .getResourceLogs(0)
              .getScopeLogs(0)
              .getLogRecordsList();
      assertThat(records).hasSize(1);
      return records.getFirst().getBody().getStringValue();
    } catch (InvalidProtocolBufferException e) {
      throw new AssertionError(e);
    }
  }

  /** An enricher whose ids are the number of its call; it runs a script of results first. */
  private static final class NumberingEnricher implements LogEnricher {
    private final Queue<Supplier<WriteResult>> script = new ConcurrentLinkedQueue<>();
    private int calls;

    void then(Supplier<WriteResult> step) {
      script.add(step);
    }

    @Override
    public WriteResult enrich(List<LogBatch> batches, RecordIds into) {
      calls++;
      into.clear();
      into.addRecord(0, 0, calls);
      var step = script.poll();
      return step == null ? new WriteResult.Written() : step.get();
    }
  }

  /** A store that runs a script of results, and then stores every record that is not rejected. */
  private final class ScriptedStore implements LogStore {
    interface Step {
      @Nullable StoreResult run() throws InterruptedException;
    }

    private final Set<Integer> rejected = ConcurrentHashMap.newKeySet();
    private final Queue<Integer> stored = new ConcurrentLinkedQueue<>();
    private final Queue<Long> ids = new ConcurrentLinkedQueue<>();
    private volatile Duration minInsertInterval = Duration.ZERO;
    private volatile Duration preferredLinger = Duration.ZERO;
    private final Queue<Step> script = new ConcurrentLinkedQueue<>();
    private final CountDownLatch released = new CountDownLatch(1);
    private volatile boolean held;

    /** Adds a step to the script; null decides by the rejected records. */
    void then(@Nullable Step step) {
      script.add(step == null ? () -> null : step);
    }

    void hold() {
      held = true;
    }

    void release() {
      released.countDown();
    }

    /** Rejects all slices with this record from now on. */
    void reject(int record) {
      rejected.add(record);
    }

    void acceptAll() {
      rejected.clear();
    }

    void setMinInsertInterval(Duration interval) {
      minInsertInterval = interval;
    }

    void setPreferredLinger(Duration linger) {
      preferredLinger = linger;
    }

    /** Returns the template id of the first record in each call. */
    List<Long> ids() {
      return List.copyOf(ids);
    }

    List<Integer> records() {
      return List.copyOf(stored);
    }

    @Override
    public StoreResult store(DeliverySlice deliverySlice, RecordIds recordIds)
        throws InterruptedException {
      ids.add(recordIds.templateLow(0));
      recordEvent(
          "store " + deliverySlice.token() + (deliverySlice.redelivered() ? " redelivered" : ""));
      if (held) {
        released.await();
      }
      var step = script.poll();
      var storeResult = step == null ? null : step.run();
      if (storeResult != null) {
        return storeResult;
      }
      var rejectedRecord =
          IntStream.range(deliverySlice.from(), deliverySlice.to())
              .filter(rejected::contains)
              .findFirst();
      if (rejectedRecord.isPresent()) {
        return new StoreResult.Rejected("rejected record " + rejectedRecord.getAsInt(), 469);
      }
      for (int i = deliverySlice.from(); i < deliverySlice.to(); i++) {
        if (!deliverySlice.redelivered() || !stored.contains(i)) {
          stored.add(i);
        }
      }
      return new StoreResult.Stored();
    }

    @Override
    public SortedMap<LocalDate, Long> storedRecords(LocalDate from) {
      return new TreeMap<>();
    }

    @Override
    public Duration minInsertInterval() {
      return minInsertInterval;
    }

    @Override
    public Duration preferredLinger() {
      return preferredLinger;
    }
  }

  /** A store of dead letters that runs a script of results, and then writes every dead letter. */
  private final class RecordingDeadLetterStore extends UnusedDeadLetterStore {
    private final Queue<Optional<WriteResult>> script = new ConcurrentLinkedQueue<>();

    /** Adds a result to the script; null throws. */
    void then(@Nullable WriteResult result) {
      script.add(Optional.ofNullable(result));
    }

    @Override
    public WriteResult write(SpoolConsumer.Delivery delivery, List<DeadLetter> letters) {
      if (letters.isEmpty()) {
        recordEvent("no dead letters " + delivery.token());
      }
      for (var letter : letters) {
        assertThat(letter.code()).isEqualTo(469);
        assertThat(letter.log().appendId()).isEqualTo(ReplayId.of(letter.log().firstId(), 1));
        recordEvent("dead letter " + body(letter.log()) + " because " + letter.reason());
      }
      var step = script.poll();
      return step == null
          ? new WriteResult.Written()
          : step.orElseThrow(() -> new IllegalStateException("connection reset"));
    }
  }

  private final class RecordingMetrics implements DeliveryMetrics {
    @Override
    public void recordStored(long records, int batches, Duration duration, Duration sinceReceived) {
      recordEvent(
          "stored %d logs %d batches %s".formatted(records, batches, sinceReceived.plus(duration)));
    }

    @Override
    public void recordDeadLettered(int records) {
      recordEvent("dead letters " + records);
    }

    @Override
    public void recordRetryScheduled(PauseReason pauseReason) {
      recordEvent("retry " + pauseReason);
    }
  }
}
