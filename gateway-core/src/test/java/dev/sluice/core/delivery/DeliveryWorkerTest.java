package dev.sluice.core.delivery;

import static dev.sluice.core.port.DeliveryMetrics.PauseReason.SCHEMA;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.DeliveryMetrics;
import dev.sluice.core.port.DeliveryMetrics.PauseReason;
import dev.sluice.core.port.LogEnricher;
import dev.sluice.core.port.LogStore;
import dev.sluice.core.port.LogStore.StoreResult;
import dev.sluice.core.port.SpoolConsumer;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.logs.v1.LogRecord;
import io.opentelemetry.proto.logs.v1.ResourceLogs;
import io.opentelemetry.proto.logs.v1.ScopeLogs;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayDeque;
import java.util.BitSet;
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
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(10)
class DeliveryWorkerTest {
  private static final Duration LONG = Duration.ofHours(1);
  private static final Instant NOW = Instant.parse("2026-08-24T10:00:00.000000009Z");

  /** Everything that happens, in its order, whoever does it. */
  private final BlockingQueue<String> events = new LinkedBlockingQueue<>();

  private volatile Instant now = NOW;
  private final WaitingDeliveries deliveries = new WaitingDeliveries();
  private final ScriptedStore store = new ScriptedStore();
  private final Backoff backoff =
      new Backoff(
          Duration.ofMillis(100),
          Duration.ofMillis(400),
          p -> note("pause " + p.toMillis()),
          () -> 0L);
  private final DeliveryWorker worker =
      DeliveryWorker.start(
          "test",
          deliveries,
          store,
          LogEnricher.NONE,
          new NotingMeter(),
          new DeliveryWorker.Manner(backoff, this::sleep, () -> now, 3, 1));

  private void sleep(Duration pause) {
    note("sleep " + pause.toMillis());
    now = now.plus(pause);
  }

  private void note(String event) {
    events.add(event);
  }

  @AfterEach
  void end() {
    worker.close();
  }

  @Test
  void deliver_storeConfirms_settlesAfterwardsAndCounts() throws Exception {
    deliveries.offer("1-0", 3, 2);

    assertThat(next(3)).containsExactly("store 1-0", "settle 1-0", "stored 5 logs 2 batches PT9S");
  }

  @Test
  void deliver_several_goInTheirOrder() throws Exception {
    deliveries.offer("1-0", 1);
    deliveries.offer("2-0", 1);

    assertThat(next(6))
        .filteredOn(event -> event.startsWith("s") && !event.startsWith("stored"))
        .containsExactly("store 1-0", "settle 1-0", "store 2-0", "settle 2-0");
  }

  @Test
  void deliver_storeAsksToWait_handsOutTheSameAfterAGrowingPause() throws Exception {
    for (int i = 0; i < 4; i++) {
      store.then(() -> new StoreResult.Retryable("too many parts"));
    }
    deliveries.offer("1-0", 1);

    assertThat(next(15))
        .containsExactly(
            "store 1-0",
            "postponed STORE",
            "pause 100",
            "store 1-0",
            "postponed STORE",
            "pause 200",
            "store 1-0",
            "postponed STORE",
            "pause 400",
            "store 1-0",
            "postponed STORE",
            "pause 400",
            "store 1-0",
            "settle 1-0",
            "stored 1 logs 1 batches PT9S");
  }

  @Test
  void deliver_aSuccessBetweenFailures_startsThePausesAnew() throws Exception {
    store.then(() -> new StoreResult.Retryable("busy"));
    store.then(() -> new StoreResult.Retryable("busy"));
    store.then(StoreResult.Stored::new);
    store.then(() -> new StoreResult.Retryable("busy"));
    deliveries.offer("1-0", 1);
    deliveries.offer("2-0", 1);

    assertThat(next(15))
        .filteredOn(event -> event.startsWith("pause"))
        .containsExactly("pause 100", "pause 200", "pause 100");
  }

  @Test
  void deliver_storeThrows_isHandedOutAgain() throws Exception {
    store.then(
        () -> {
          throw new IllegalStateException("connection reset");
        });
    deliveries.offer("1-0", 1);

    assertThat(next(5))
        .containsExactly("store 1-0", "postponed STORE", "pause 100", "store 1-0", "settle 1-0");
  }

  @Test
  void deliver_oneOfManyIsRefused_theOthersAreStoredAndItIsADeadLetter() throws Exception {
    store.refuse(5);
    deliveries.offer("1-0", 3, 5);

    assertThat(next(11))
        .containsExactly(
            "store 1-0",
            "store 1-0/0 again",
            "store 1-0/1 again",
            "store 1-0/10 again",
            "store 1-0/100 again",
            "store 1-0/101 again",
            "store 1-0/11 again",
            "letter log 5 because refused is 5",
            "settle 1-0",
            "dead letters 1",
            "stored 7 logs 2 batches PT9S");
    assertThat(store.records()).containsExactlyInAnyOrder(0, 1, 2, 3, 4, 6, 7);
    assertThat(worker.trouble()).isEmpty();
  }

  @Test
  void deliver_aLoneRecordIsRefused_isADeadLetterAtOnce() throws Exception {
    store.refuse(0);
    deliveries.offer("1-0", 1);

    assertThat(next(5))
        .containsExactly(
            "store 1-0",
            "letter log 0 because refused is 0",
            "settle 1-0",
            "dead letters 1",
            "stored 0 logs 1 batches PT9S");
  }

  @Test
  void deliver_storeIsBusyAmongThePieces_goesOnWhereItStopped() throws Exception {
    store.refuse(0);
    store.then(null);
    store.then(() -> new StoreResult.Retryable("too many parts"));
    deliveries.offer("1-0", 4);

    assertThat(next(12))
        .containsExactly(
            "store 1-0",
            "store 1-0/0 again",
            "postponed STORE",
            "pause 100",
            "store 1-0/0 again",
            "store 1-0/00 again",
            "store 1-0/01 again",
            "store 1-0/1 again",
            "letter log 0 because refused is 0",
            "settle 1-0",
            "dead letters 1",
            "stored 3 logs 1 batches PT9S");
  }

  @Test
  void deliver_noRoomForDeadLetters_waitsAndDropsNothing() throws Exception {
    store.refuse(0);
    deliveries.fullForDeadLetters(2);
    deliveries.offer("1-0", 1);

    assertThat(next(13))
        .containsExactly(
            "store 1-0",
            "letter log 0 because refused is 0",
            "settle 1-0",
            "postponed DEAD_LETTERS",
            "pause 100",
            "letter log 0 because refused is 0",
            "settle 1-0",
            "postponed DEAD_LETTERS",
            "pause 200",
            "letter log 0 because refused is 0",
            "settle 1-0",
            "dead letters 1",
            "stored 0 logs 1 batches PT9S");
    assertThat(worker.trouble()).isEmpty();
  }

  @Test
  void deliver_takenOverAmongThePieces_isLeftToTheOther() throws Exception {
    store.refuse(0);
    deliveries.takenOver();
    deliveries.offer("1-0", 4);

    assertThat(next(3)).containsExactly("store 1-0", "postponed STORE", "pause 100");
  }

  @Test
  void deliver_moreRefusedThanMay_waitsForTheTableAndThenStoresThemAll() throws Exception {
    for (int i = 0; i < 4; i++) {
      store.refuse(i);
    }
    deliveries.offer("1-0", 4);
    var events = next(12);
    assertThat(events).contains("postponed SCHEMA").noneMatch(e -> e.startsWith("settle"));
    // while it is as it was, one record tells
    assertThat(events.subList(events.size() - 3, events.size()))
        .containsExactly("store 1-0/11 again", "postponed SCHEMA", "pause 200");
    assertThat(worker.trouble())
        .hasValueSatisfying(t -> assertThat(t.pauseReason()).isEqualTo(SCHEMA));

    store.refuseNone();

    String event;
    do {
      event = next(1).getFirst();
    } while (!event.startsWith("stored"));
    assertThat(event).isEqualTo("stored 4 logs 1 batches PT9S");
    assertThat(store.records()).containsExactlyInAnyOrder(0, 1, 2, 3);
  }

  @Test
  void deliver_tablesAreMisshapen_waitsAndSaysSo() throws Exception {
    store.then(() -> new StoreResult.SchemaMismatch("no column Body"));
    deliveries.offer("1-0", 1);

    assertThat(next(5))
        .containsExactly("store 1-0", "postponed SCHEMA", "pause 100", "store 1-0", "settle 1-0");
  }

  @Test
  void deliver_aBatchIsCorrupt_setsItAside() throws Exception {
    var id = UUID.randomUUID();
    store.then(() -> new StoreResult.Corrupt(id, "17 records instead of 18"));
    deliveries.offer("1-0", 1);

    assertThat(next(3))
        .containsExactly("store 1-0", "set aside 17 records instead of 18", "store 1-0");
  }

  @Test
  void deliver_storeWantsAPace_beginsNoMoreOften() throws Exception {
    store.pace(Duration.ofMillis(600));
    deliveries.offer("1-0", 1);
    assertThat(next(3)).containsExactly("store 1-0", "settle 1-0", "stored 1 logs 1 batches PT9S");
    deliveries.offer("2-0", 1);

    assertThat(next(5))
        .containsExactly("sleep 250", "sleep 250", "sleep 100", "store 2-0", "settle 2-0");
    assertThat(deliveries.gathered()).isEqualTo(Duration.ofMillis(600));
  }

  @Test
  void deliver_storeWantsMoreCompany_gathersForLongerAndStoresAtOnce() throws Exception {
    store.gather(Duration.ofSeconds(9));
    deliveries.offer("1-0", 1);
    assertThat(next(3)).containsExactly("store 1-0", "settle 1-0", "stored 1 logs 1 batches PT9S");
    deliveries.offer("2-0", 1);

    assertThat(next(2)).containsExactly("store 2-0", "settle 2-0");
    assertThat(deliveries.gathered()).isEqualTo(Duration.ofSeconds(9));
  }

  /** Else two would ask for twice as many inserts as one. */
  @Test
  void deliver_storeWantsAPaceOfTwoWorkers_eachBeginsHalfAsOften() throws Exception {
    store.pace(Duration.ofMillis(100));
    try (var waiting = new WaitingDeliveries();
        var _ =
            DeliveryWorker.start(
                "one of two",
                waiting,
                store,
                LogEnricher.NONE,
                new NotingMeter(),
                new DeliveryWorker.Manner(backoff, this::sleep, () -> now, 3, 2))) {
      waiting.offer("1-0", 1);
      assertThat(next(3))
          .containsExactly("store 1-0", "settle 1-0", "stored 1 logs 1 batches PT9S");
      waiting.offer("2-0", 1);

      assertThat(next(2)).containsExactly("sleep 200", "store 2-0");
    }
  }

  @Test
  void deliver_clockSetBack_keepsThePaceAndNoMore() throws Exception {
    store.pace(Duration.ofMillis(100));
    deliveries.offer("1-0", 1);
    assertThat(next(3)).containsExactly("store 1-0", "settle 1-0", "stored 1 logs 1 batches PT9S");

    now = now.minus(Duration.ofHours(1));
    deliveries.offer("2-0", 1);

    assertThat(next(2)).containsExactly("sleep 100", "store 2-0");
  }

  @Test
  void deliver_settlingFails_storesAgainUnderTheSameToken() throws Exception {
    deliveries.failToSettle();
    deliveries.offer("1-0", 1);

    assertThat(next(7))
        .containsExactly(
            "store 1-0",
            "settle 1-0",
            "postponed SPOOL",
            "pause 100",
            "store 1-0",
            "settle 1-0",
            "stored 1 logs 1 batches PT9S");
  }

  @Test
  void next_spoolOutOfReach_asksAgainAfterAPause() throws Exception {
    deliveries.failNext();
    deliveries.offer("1-0", 1);

    assertThat(next(3)).containsExactly("postponed SPOOL", "pause 100", "store 1-0");
  }

  @Test
  void drain_somethingWaits_deliversItAndEnds() {
    store.hold();
    for (int i = 1; i <= 20; i++) {
      deliveries.offer(i + "-0", 1);
    }

    worker.drain();
    store.release();

    assertThat(worker.end(LONG)).isTrue();
    assertThat(worker.alive()).isFalse();
    assertThat(deliveries.waiting()).isZero();
    assertThat(events).filteredOn(event -> event.startsWith("settle")).hasSize(20);
  }

  @Test
  void end_nothingWaits_endsInTime() {
    assertThat(worker.alive()).isTrue();

    assertThat(worker.end(LONG)).isTrue();

    assertThat(worker.alive()).isFalse();
  }

  @Test
  void end_storeHangs_interruptsAndLeavesItUnsettled() throws Exception {
    store.then(
        () -> {
          new CountDownLatch(1).await(); // hangs
          return new StoreResult.Stored();
        });
    deliveries.offer("1-0", 1);
    assertThat(next(1)).containsExactly("store 1-0");

    assertThat(worker.end(Duration.ZERO)).isFalse();

    assertThat(worker.alive()).isFalse();
    assertThat(deliveries.waiting()).isEqualTo(1);
    assertThat(events).isEmpty();
  }

  /** What clients of databases do: the interrupt becomes one more failed request. */
  @Test
  void end_storeSwallowsTheInterrupt_endsNevertheless() throws Exception {
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
    assertThat(next(1)).containsExactly("store 1-0");

    assertThat(worker.end(Duration.ZERO)).isFalse();

    assertThat(worker.alive()).isFalse();
    assertThat(deliveries.waiting()).isEqualTo(1);
  }

  @Test
  void end_again_doesNotForgetThatSomethingWasLeft() throws Exception {
    store.then(
        () -> {
          new CountDownLatch(1).await(); // hangs
          return new StoreResult.Stored();
        });
    deliveries.offer("1-0", 1);
    assertThat(next(1)).containsExactly("store 1-0");
    worker.end(Duration.ZERO);

    assertThat(worker.end(LONG)).isFalse();
  }

  @Test
  void end_callerIsInterrupted_interruptsTheWorkerAndRestoresTheFlag() throws Exception {
    store.hold();
    deliveries.offer("1-0", 1);
    assertThat(next(1)).containsExactly("store 1-0");
    Thread.currentThread().interrupt();

    boolean drained = worker.end(LONG);

    assertThat(Thread.interrupted()).isTrue();
    assertThat(drained).isFalse();
  }

  @Test
  void deliver_anError_isHandedOutAgainToo() throws Exception {
    store.then(
        () -> {
          throw new OutOfMemoryError("thrown by the test");
        });
    deliveries.offer("1-0", 1);

    assertThat(next(5))
        .containsExactly("store 1-0", "postponed STORE", "pause 100", "store 1-0", "settle 1-0");
    assertThat(worker.alive()).isTrue();
  }

  @Test
  void close_always_closesTheDeliveriesAfterTheWorkerEnded() throws Exception {
    worker.close();

    assertThat(events).containsExactly("closed");
    assertThat(worker.alive()).isFalse();
  }

  private List<String> next(int count) throws InterruptedException {
    var seen = new java.util.ArrayList<String>();
    while (seen.size() < count) {
      var event = events.poll(5, TimeUnit.SECONDS);
      if (event == null) {
        throw new AssertionError("only " + seen);
      }
      seen.add(event);
    }
    return seen;
  }

  /** Hands out the oldest until it is settled, as a real spool does. */
  private final class WaitingDeliveries implements SpoolConsumer {
    private final Deque<Delivery> waiting = new ArrayDeque<>();
    private boolean nextFails;
    private boolean settleFails;
    private boolean takenOver;
    private int full;
    private volatile Duration gathered = Duration.ZERO;

    Duration gathered() {
      return gathered;
    }

    synchronized void fullForDeadLetters(int times) {
      full = times;
    }

    synchronized void offer(String token, int... records) {
      var batches = new java.util.ArrayList<LogBatch>();
      int first = 0;
      for (int count : records) {
        batches.add(batch(count, batches.size(), first));
        first += count;
      }
      waiting.add(new Delivery(token, batches, false));
      notifyAll();
    }

    synchronized void failNext() {
      nextFails = true;
    }

    synchronized void failToSettle() {
      settleFails = true;
    }

    synchronized void takenOver() {
      takenOver = true;
    }

    synchronized int waiting() {
      return waiting.size();
    }

    @Override
    public synchronized Optional<Delivery> poll(Duration patience, Duration gather)
        throws InterruptedException {
      gathered = gather;
      if (waiting.isEmpty() && patience.isPositive()) {
        wait(patience.toMillis());
      }
      if (!waiting.isEmpty() && nextFails) {
        nextFails = false;
        throw new IllegalStateException("spool away");
      }
      return Optional.ofNullable(waiting.peek());
    }

    @Override
    public synchronized boolean renewLease(Delivery delivery) {
      return !takenOver && waiting.contains(delivery);
    }

    @Override
    public void flush() {}

    @Override
    public void skip(UUID appendId, String reason) {
      note("set aside " + reason);
    }

    @Override
    public synchronized boolean ack(Delivery delivery, List<DeadLetter> deadLetters) {
      for (var letter : deadLetters) {
        note("letter " + body(letter.log()) + " because " + letter.reason());
      }
      note("settle " + delivery.token());
      if (!deadLetters.isEmpty() && full-- > 0) {
        return false;
      }
      if (settleFails) {
        settleFails = false;
        throw new IllegalStateException("cannot settle");
      }
      waiting.remove(delivery);
      return true;
    }

    @Override
    public int skippedEntries() {
      return 0;
    }

    @Override
    public void close() {
      note("closed");
    }
  }

  /** Logs whose bodies count them over the whole delivery. */
  private static LogBatch batch(int records, int younger, int first) {
    var logs = ScopeLogs.newBuilder();
    for (int i = first; i < first + records; i++) {
      logs.addLogRecords(
          LogRecord.newBuilder().setBody(AnyValue.newBuilder().setStringValue("log " + i)));
    }
    long received = (NOW.getEpochSecond() - 9 + younger) * 1_000_000_000L + NOW.getNano();
    return new LogBatch(
        UUID.randomUUID(),
        "t",
        received,
        new LogId(1, 1),
        records,
        1,
        new BitSet(),
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

  /** Answers from a script, then with success for ever. */
  private final class ScriptedStore implements LogStore {
    interface Step {
      @Nullable StoreResult play() throws InterruptedException;
    }

    private final Set<Integer> refused = ConcurrentHashMap.newKeySet();
    private final Queue<Integer> stored = new ConcurrentLinkedQueue<>();
    private volatile Duration pace = Duration.ZERO;
    private volatile Duration gather = Duration.ZERO;
    private final Queue<Step> script = new ConcurrentLinkedQueue<>();
    private final CountDownLatch released = new CountDownLatch(1);
    private volatile boolean held;

    /** A step that is null leaves it to the records. */
    void then(@Nullable Step step) {
      script.add(step == null ? () -> null : step);
    }

    void hold() {
      held = true;
    }

    void release() {
      released.countDown();
    }

    /** From now on portions with the record at this place are refused. */
    void refuse(int record) {
      refused.add(record);
    }

    void refuseNone() {
      refused.clear();
    }

    void pace(Duration pace) {
      this.pace = pace;
    }

    void gather(Duration gather) {
      this.gather = gather;
    }

    List<Integer> records() {
      return List.copyOf(stored);
    }

    @Override
    public StoreResult store(DeliverySlice deliverySlice, LogEnricher logEnricher)
        throws InterruptedException {
      note("store " + deliverySlice.token() + (deliverySlice.redelivered() ? " again" : ""));
      if (held) {
        released.await();
      }
      var step = script.poll();
      var storeResult = step == null ? null : step.play();
      if (storeResult != null) {
        return storeResult;
      }
      var bad =
          IntStream.range(deliverySlice.from(), deliverySlice.to())
              .filter(refused::contains)
              .findFirst();
      if (bad.isPresent()) {
        return new StoreResult.Rejected("refused is " + bad.getAsInt());
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
      return pace;
    }

    @Override
    public Duration preferredLinger() {
      return gather;
    }
  }

  private final class NotingMeter implements DeliveryMetrics {
    @Override
    public void recordStored(long records, int batches, Duration took, Duration sinceReceived) {
      note("stored %d logs %d batches %s".formatted(records, batches, sinceReceived.plus(took)));
    }

    @Override
    public void recordDeadLettered(int records) {
      note("dead letters " + records);
    }

    @Override
    public void recordRetryScheduled(PauseReason pauseReason) {
      note("postponed " + pauseReason);
    }
  }
}
