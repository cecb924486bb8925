package dev.sluice.core.ingest;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.domain.LogIdGenerator;
import dev.sluice.core.ingest.IngestService.BatchLimits;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.AppendResult;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Concurrent requests through the ingest service: which share an entry and a result. */
@Timeout(30)
class RequestBatcherTest {
  private static final Duration LINGER = Duration.ofMillis(5);
  private static final IngestResult UNAVAILABLE =
      new IngestResult.Unavailable(Duration.ofSeconds(1));

  private final ScriptedSpool spool = new ScriptedSpool();
  private final ManualScheduler time = new ManualScheduler();
  private final CountingMetrics meter = new CountingMetrics();
  private final IngestService ingest = ingest(spool, 10, 1 << 20);

  private IngestService ingest(Spool into, int maxRecords, int maxBytes) {
    return IngestFixtures.ingestService(
        into, Limits.DEFAULT, new BatchLimits(maxRecords, maxBytes, LINGER), time, time, meter);
  }

  @Test
  void accept_aloneOnAnIdleGateway_isAppendedImmediately() {
    send("a");

    assertThat(entries()).containsExactly(List.of("a"));
  }

  @Test
  void accept_sequential_eachIsAppendedImmediately() {
    send("a");
    spool.accept(0);
    send("b");

    assertThat(entries()).containsExactly(List.of("a"), List.of("b"));
  }

  @Test
  void accept_whileAnAppendIsInFlight_shareTheNextEntry() {
    send("a");
    var b = send("b");
    var c = send("c1", "c2");
    assertThat(entries()).hasSize(1);

    spool.accept(0);

    assertThat(entries()).containsExactly(List.of("a"), List.of("b", "c1", "c2"));
    assertThat(spool.batches().get(1).records()).isEqualTo(3);
    assertThat(b).isNotDone();
    spool.accept(1);
    assertThat(b).isCompletedWithValue(accepted(1));
    assertThat(c).isCompletedWithValue(accepted(2));
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void accept_entryFullOfRecords_doesNotWait() {
    send("a");
    send("b1", "b2", "b3", "b4", "b5");
    send("c1", "c2", "c3", "c4");
    assertThat(entries()).hasSize(1);

    send("d");

    assertThat(entries())
        .containsExactly(
            List.of("a"), List.of("b1", "b2", "b3", "b4", "b5", "c1", "c2", "c3", "c4", "d"));
  }

  @Test
  void accept_moreThanMaxInFlight_waitForACompletionAndAreSplitIntoEntries() {
    useAllInFlightPermits();
    var waiting = new ArrayList<CompletableFuture<IngestResult>>();
    for (var name : List.of("x", "y", "z")) {
      waiting.add(send(bodies(name, 6)));
    }
    time.advance(LINGER);
    assertThat(entries()).hasSize(8);

    spool.accept(3);
    assertThat(entries()).hasSize(9).last().isEqualTo(List.of(bodies("x", 6)));
    spool.accept(8);
    assertThat(entries()).hasSize(10).last().isEqualTo(List.of(bodies("y", 6)));
    spool.accept(0);
    assertThat(entries()).hasSize(11).last().isEqualTo(List.of(bodies("z", 6)));

    spool.accept(9);
    spool.accept(10);
    assertThat(waiting).allMatch(CompletableFuture::isDone);
    assertThat(entries()).hasSize(11);
  }

  @Test
  void accept_permitReleased_entriesFillAsBefore() {
    useAllInFlightPermits();
    send("x");
    spool.accept(0);
    assertThat(entries()).hasSize(9).last().isEqualTo(List.of("x"));
    spool.accept(1);

    send("y");
    assertThat(entries()).hasSize(9);
    time.advance(LINGER);

    assertThat(entries()).hasSize(10).last().isEqualTo(List.of("y"));
  }

  @Test
  void close_moreThanMaxInFlight_appendsAll() {
    useAllInFlightPermits();
    send(bodies("x", 6));
    send(bodies("y", 6));

    ingest.close(Duration.ZERO);

    assertThat(entries()).hasSize(10);
  }

  /** Appends a single request and seven full entries: the maximum number in flight. */
  private void useAllInFlightPermits() {
    send("a");
    for (int i = 0; i < 7; i++) {
      send(bodies("full" + i + "-", 10));
    }
    assertThat(entries()).hasSize(8);
  }

  private static String[] bodies(String name, int count) {
    return IntStream.range(0, count).mapToObj(i -> name + i).toArray(String[]::new);
  }

  @Test
  void accept_oneTooManyForTheEntry_isInTheNext() {
    send("a");
    send("b1", "b2", "b3", "b4", "b5", "b6");
    send("c1", "c2", "c3", "c4", "c5");

    assertThat(entries())
        .containsExactly(List.of("a"), List.of("b1", "b2", "b3", "b4", "b5", "b6"));
    time.advance(LINGER);
    assertThat(entries()).hasSize(3).last().isEqualTo(List.of("c1", "c2", "c3", "c4", "c5"));
  }

  @Test
  void accept_entryFullOfBytes_doesNotWait() {
    int size = IngestFixtures.request("x").length;
    var small = ingest(spool, 1_000, 3 * size);
    for (var body : List.of("a", "b", "c")) {
      send(small, body);
    }
    assertThat(entries()).hasSize(1);

    send(small, "d");
    assertThat(entries()).containsExactly(List.of("a"), List.of("b", "c", "d"));

    send(small, "e");
    send(small, "f");
    send(small, "gg");
    assertThat(entries()).hasSize(3).last().isEqualTo(List.of("e", "f"));

    time.advance(LINGER);
    assertThat(entries()).hasSize(4).last().isEqualTo(List.of("gg"));
  }

  @Test
  void accept_largerThanAnEntry_isAnEntryByItself() {
    var bodies = Stream.iterate(0, i -> i + 1).limit(25).map(i -> "x" + i).toArray(String[]::new);
    send("a");
    send("b");

    send(bodies);

    assertThat(entries()).containsExactly(List.of("a"), List.of("b"), List.of(bodies));
  }

  @Test
  void accept_appendTakesLong_waitsNoLongerThanLinger() {
    send("a");
    send("b");
    time.advance(LINGER.minusNanos(1));
    send("c");
    assertThat(entries()).hasSize(1);

    time.advance(Duration.ofNanos(1));

    assertThat(entries()).containsExactly(List.of("a"), List.of("b", "c"));
  }

  @Test
  void accept_lingerOfAnAppendedEntryElapses_doesNotFlushTheNext() {
    send("a");
    send("b");
    time.advance(LINGER.dividedBy(2));
    spool.accept(0); // b is appended
    send("c");

    time.advance(LINGER.dividedBy(2).plusNanos(1)); // the linger of b elapses

    assertThat(entries()).containsExactly(List.of("a"), List.of("b"));
    time.advance(LINGER.dividedBy(2));
    assertThat(entries()).containsExactly(List.of("a"), List.of("b"), List.of("c"));
  }

  @Test
  void accept_twoAppendsInFlight_onlyTheLastCompletionFlushes() {
    send("a");
    send("b");
    time.advance(LINGER);
    send("c");

    spool.accept(0);
    assertThat(entries()).hasSize(2);
    spool.accept(1);

    assertThat(entries()).containsExactly(List.of("a"), List.of("b"), List.of("c"));
  }

  @Test
  void accept_schedulerFails_appendsImmediately() {
    send("a");
    time.failFromNowOn();

    send("b");

    assertThat(entries()).containsExactly(List.of("a"), List.of("b"));
  }

  @Test
  void accept_rejectedRecordsAmongOthers_areNotInTheEntry() {
    send("first");
    var a = send("a", "bad a");
    var b = send("bad b", "b1", "bad b", "b2");
    var c = send("c");
    var none = send("bad d");
    spool.accept(0);
    spool.accept(1);

    var batch = spool.batches().get(1);
    assertThat(IngestFixtures.accepted(batch)).containsExactly("a", "b1", "b2", "c");
    assertThat(batch.records()).isEqualTo(4);
    assertThat(counts(a)).containsExactly(1, 1);
    assertThat(counts(b)).containsExactly(2, 2);
    assertThat(counts(c)).containsExactly(1, 0);
    assertThat(counts(none)).containsExactly(0, 1);
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void accept_malformedRequest_doesNotAffectOthers() {
    send("first");
    var a = send("a");
    var broken = send(ingest, new byte[] {0});
    var b = send("b");
    spool.accept(0);
    spool.accept(1);

    assertThat(broken).isCompletedWithValueMatching(it -> it instanceof IngestResult.Malformed);
    assertThat(IngestFixtures.accepted(spool.batches().get(1))).containsExactly("a", "b");
    assertThat(a).isCompletedWithValue(accepted(1));
    assertThat(b).isCompletedWithValue(accepted(1));
  }

  @Test
  void accept_expandedBytesOfAnEntry_areTheSumOfItsRequests() {
    send("aa");
    send("aa");
    send("aa");
    spool.accept(0);

    assertThat(spool.batches().get(1).expandedBytes())
        .isEqualTo(2 * spool.batches().get(0).expandedBytes());
  }

  @Test
  void accept_spoolUnavailable_failsExactlyThatEntry() {
    var a = send("a");
    var b = send("b");
    var c = send("c1", "bad", "c2");
    spool.accept(0);
    var d = send("d");

    spool.appendFuture(1).complete(new AppendResult.Unavailable(Duration.ofSeconds(7), "full"));
    spool.accept(2);

    var unavailable = new IngestResult.Unavailable(Duration.ofSeconds(7));
    assertThat(a).isCompletedWithValue(accepted(1));
    assertThat(b).isCompletedWithValue(unavailable);
    assertThat(c).isCompletedWithValue(unavailable);
    assertThat(d).isCompletedWithValue(accepted(1));
    assertThat(meter.unavailable).hasValue(3);
    assertThat(meter.accepted).hasValue(2);
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void accept_appendFails_failsThatEntryAndContinues() {
    var a = send("a");
    var b = send("b");

    spool.appendFuture(0).completeExceptionally(new IllegalStateException("connection reset"));
    spool.accept(1);

    assertThat(a).isCompletedWithValue(UNAVAILABLE);
    assertThat(b).isCompletedWithValue(accepted(1));
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void accept_spoolThrows_isUnavailableAndStaysIdle() {
    spool.failFromNowOn();

    assertThat(send("a")).isCompletedWithValue(UNAVAILABLE);
    assertThat(send("b")).isCompletedWithValue(UNAVAILABLE);
    assertThat(entries()).hasSize(2);
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void accept_entries_haveUniqueAppendIdsAndConsecutiveLogIds() {
    send("a1", "a2", "a3");
    send("b1", "bad", "b2");
    spool.accept(0);
    spool.accept(1);
    send("c");

    var batches = spool.batches();
    assertThat(batches).extracting(LogBatch::appendId).doesNotHaveDuplicates();
    assertThat(batches.get(1).firstId()).isEqualTo(batches.get(0).firstId().plus(3));
    assertThat(batches.get(2).firstId()).isEqualTo(batches.get(1).firstId().plus(2));
  }

  /** With a recursion, a spool that completes synchronously would overflow the stack. */
  @Test
  void accept_synchronousSpoolUnderLoad_doesNotRecurse() {
    int requests = 20_000;
    var depths = new ArrayList<Integer>();
    var results = new ArrayList<CompletableFuture<IngestResult>>();
    var self = new IngestService[1];
    var feeding =
        new ImmediateSpool(
            _ -> {
              depths.add(new Throwable().getStackTrace().length);
              if (results.size() < requests) {
                results.add(send(self[0], "next")); // arrives during this append
              }
            });
    self[0] = ingest(feeding, 10, 1 << 20);

    send(self[0], "first");

    assertThat(results).hasSize(requests).allMatch(CompletableFuture::isDone);
    assertThat(depths).hasSize(requests + 1);
    assertThat(Collections.max(depths)).isLessThan(depths.getFirst() + 20);
  }

  @Test
  void accept_manyThreads_everyAcceptedRecordIsInExactlyOneEntry() throws Exception {
    var batches = new ConcurrentLinkedQueue<LogBatch>();
    int threads = 8;
    int bursts = 30;
    int each = 60;
    var start = new CyclicBarrier(threads);
    var accepted = Collections.synchronizedList(new ArrayList<String>());
    var unavailable = Collections.synchronizedList(new ArrayList<String>());
    try (var io = Executors.newFixedThreadPool(2);
        var clients = Executors.newFixedThreadPool(threads)) {
      var slow = new ThreadedSpool(io, batches);
      var ingest = ingest(slow, 10, 1 << 20);
      var jobs = new ArrayList<Callable<Void>>();
      for (int t = 0; t < threads; t++) {
        int thread = t;
        jobs.add(
            () -> {
              for (int burst = 0; burst < bursts; burst++) {
                var requests = new LinkedHashMap<String, byte[]>();
                for (int i = 0; i < each; i++) {
                  var one = thread + "/" + burst + "/" + i;
                  requests.put(one, IngestFixtures.request(one + "a", "bad " + one, one + "b"));
                }
                start.await();
                var results = new LinkedHashMap<String, CompletableFuture<IngestResult>>();
                requests.forEach((one, bytes) -> results.put(one, send(ingest, bytes)));
                for (var sent : results.entrySet()) {
                  var result = sent.getValue().get();
                  var list = result instanceof IngestResult.Accepted ? accepted : unavailable;
                  list.add(sent.getKey() + "a");
                  list.add(sent.getKey() + "b");
                }
              }
              return null;
            });
      }
      io.execute(
          () -> {
            while (!clients.isTerminated()) { // the clock advances while clients run
              time.advance(Duration.ofMillis(1));
              Thread.onSpinWait();
            }
          });
      for (var job : clients.invokeAll(jobs)) {
        job.get();
      }
    }

    assertThat(batches.stream().flatMap(batch -> IngestFixtures.accepted(batch).stream()))
        .containsExactlyInAnyOrderElementsOf(accepted);
    assertThat(unavailable).isNotEmpty();
    assertThat(ids(batches)).doesNotHaveDuplicates().hasSameSizeAs(accepted);
    assertThat(meter.received).hasValue(3L * threads * bursts * each);
    assertThat(meter.accepted).hasValue(accepted.size());
    assertThat(meter.unavailable).hasValue(unavailable.size());
    assertThat(meter.balances()).isTrue();
    assertThat(new HashSet<>(accepted)).doesNotContainAnyElementsOf(unavailable);
  }

  /** Calls the batcher directly, so that the test stresses mostly its shared state. */
  @Test
  void add_manyThreads_completesEachRequestOnce() throws Exception {
    int threads = 4;
    int each = 30_000;
    var appended = new LongAdder();
    var counting = new ImmediateSpool(batch -> appended.add(batch.records()));
    var requestBatcher =
        new RequestBatcher(
            counting, new LogIdGenerator(time), (_, _) -> {}, new BatchLimits(10, 1 << 20, LINGER));
    var start = new CyclicBarrier(threads);
    var results = new ConcurrentLinkedQueue<CompletableFuture<RequestBatcher.AppendOutcome>>();
    Callable<Void> adding =
        () -> {
          start.await();
          for (int i = 0; i < each; i++) {
            results.add(requestBatcher.add(request()));
          }
          return null;
        };
    try (var pool = Executors.newFixedThreadPool(threads)) {
      for (var done : pool.invokeAll(Collections.nCopies(threads, adding))) {
        done.get();
      }
    }

    assertThat(results).hasSize(threads * each).allMatch(CompletableFuture::isDone);
    assertThat(appended.sum()).isEqualTo((long) threads * each);
  }

  /** A walker that is released too early would count the records of another request. */
  @Test
  void accept_manyThreadsWithRequestsOfManySizes_eachGetsItsOwnCount() throws Exception {
    int threads = 4;
    int each = 20_000;
    var appended = new LongAdder();
    var ingest =
        IngestFixtures.ingestService(
            new ImmediateSpool(batch -> appended.add(batch.records())),
            Limits.DEFAULT,
            new BatchLimits(1, 1, LINGER),
            time,
            (_, _) -> {},
            new CountingMetrics());
    var bodies = new ArrayList<byte[]>();
    for (int size = 0; size < threads; size++) {
      bodies.add(
          IngestFixtures.request(Collections.nCopies(size * size, "x").toArray(String[]::new)));
    }
    var start = new CyclicBarrier(threads);
    var tasks = new ArrayList<Callable<Long>>();
    for (int size = 0; size < threads; size++) {
      var body = bodies.get(size);
      int expected = size * size;
      tasks.add(
          () -> {
            start.await();
            long wrong = 0;
            for (int i = 0; i < each; i++) {
              wrong += send(ingest, body).join().equals(accepted(expected)) ? 0 : 1;
            }
            return wrong;
          });
    }

    try (var pool = Executors.newFixedThreadPool(threads)) {
      for (var done : pool.invokeAll(tasks)) {
        assertThat(done.get()).isZero();
      }
    }

    assertThat(appended.sum()).isEqualTo(each * (1L + 4 + 9));
  }

  private static RequestBatcher.PendingRequest request() {
    return new RequestBatcher.PendingRequest(
        "t", false, 1, new byte[1], 1, 1, 1, new CompletableFuture<>());
  }

  /** A spool that accepts a batch before it returns, after a callback of the test. */
  private record ImmediateSpool(Consumer<LogBatch> onAppend) implements Spool {
    @Override
    public CompletableFuture<AppendResult> append(LogBatch batch, AppendMode appendMode) {
      onAppend.accept(batch);
      return CompletableFuture.completedFuture(
          new AppendResult.Accepted(new Spool.Receipt(0, "1")));
    }

    @Override
    public CompletionStage<SpoolStatus> status() {
      return CompletableFuture.completedFuture(new SpoolStatus(null, null, 0, 0));
    }
  }

  /** A spool that completes on another thread; every seventh append is unavailable. */
  private static final class ThreadedSpool implements Spool {
    private final Executor executor;
    private final ConcurrentLinkedQueue<LogBatch> accepted;
    private final AtomicInteger appends = new AtomicInteger();

    ThreadedSpool(Executor executor, ConcurrentLinkedQueue<LogBatch> accepted) {
      this.executor = executor;
      this.accepted = accepted;
    }

    @Override
    public CompletableFuture<AppendResult> append(LogBatch batch, AppendMode appendMode) {
      boolean full = appends.incrementAndGet() % 7 == 0;
      return CompletableFuture.supplyAsync(
          () -> {
            if (full) {
              return new AppendResult.Unavailable(Duration.ofSeconds(1), "full");
            }
            accepted.add(batch);
            return new AppendResult.Accepted(new Spool.Receipt(0, "1"));
          },
          executor);
    }

    @Override
    public CompletionStage<SpoolStatus> status() {
      return CompletableFuture.completedFuture(new SpoolStatus(null, null, 0, 0));
    }
  }

  private static List<LogId> ids(Iterable<LogBatch> batches) {
    var ids = new ArrayList<LogId>();
    for (var batch : batches) {
      for (int i = 0; i < batch.records(); i++) {
        ids.add(batch.firstId().plus(i));
      }
    }
    return ids;
  }

  private CompletableFuture<IngestResult> send(String... bodies) {
    return send(ingest, bodies);
  }

  private static CompletableFuture<IngestResult> send(IngestService ingest, String... bodies) {
    return send(ingest, IngestFixtures.request(bodies));
  }

  private static CompletableFuture<IngestResult> send(IngestService ingest, byte[] request) {
    return IngestFixtures.submit(ingest, IngestFixtures.context("otlp"), OtlpPayload.of(request))
        .result();
  }

  private List<List<String>> entries() {
    return spool.batches().stream().map(IngestFixtures::accepted).toList();
  }

  private static IngestResult accepted(int records) {
    return IngestResult.Accepted.all(records, AckLevel.DURABLE);
  }

  private static List<Integer> counts(CompletableFuture<IngestResult> result) {
    return result.join()
            instanceof IngestResult.Accepted(var accepted, _, var rejected, _, _, _, _, _)
        ? List.of(accepted, rejected)
        : List.of();
  }
}
