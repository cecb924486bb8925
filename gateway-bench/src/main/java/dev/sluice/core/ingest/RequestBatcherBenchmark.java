package dev.sluice.core.ingest;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogIdGenerator;
import dev.sluice.core.ingest.IngestService.BatchLimits;
import dev.sluice.core.ingest.RequestBatcher.PendingRequest;
import dev.sluice.core.otlp.SampleLogs;
import dev.sluice.core.port.Spool;
import java.time.Duration;
import java.time.InstantSource;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.NullUnmarked;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Threads;
import org.openjdk.jmh.annotations.Warmup;
import org.openjdk.jmh.infra.Blackhole;

/**
 * Measures the durable requests per second of four concurrent threads.
 *
 * <p>An operation is one request of ten logs, from its validation to its response; each thread has
 * {@code outstanding} requests in flight, like the connections of an event loop. The spool is one
 * thread that spends some microseconds per entry and less on its bytes, as Redis does; {@code
 * entries} is the number of entries per second.
 */
@Fork(2)
@Threads(4)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@State(Scope.Benchmark)
@NullUnmarked // JMH fills the fields
public class RequestBatcherBenchmark {
  private static final int LOGS = 10;
  private static final BatchLimits LIMITS = new BatchLimits(10_000, 4 << 20, Duration.ofMillis(2));

  /** The work per entry, some fifteen microseconds, independent of its size. */
  private static final int ENTRY_TOKENS = 5_000;

  private static final int BYTES_PER_TOKEN = 16;

  @Param({"1", "32"})
  int outstanding;

  private final LogIdGenerator ids = new LogIdGenerator(InstantSource.system());
  private LogBatch request;
  private ScheduledExecutorService timer;
  private SlowSpool spool;
  private RequestBatcher batcher;

  /** The counters that JMH reports besides the operations. */
  @AuxCounters
  @State(Scope.Thread)
  public static class Counters {
    public long entries;
  }

  /** The requests in flight of one thread. */
  @State(Scope.Thread)
  public static class Window {
    private CompletableFuture<?>[] requests;
    private int next;

    @Setup
    public void open(RequestBatcherBenchmark benchmark) {
      requests = new CompletableFuture<?>[benchmark.outstanding];
      for (int i = 0; i < requests.length; i++) {
        requests[i] = CompletableFuture.completedFuture(null);
      }
    }

    /** Adds a request, and waits for the oldest one. */
    private Object add(CompletableFuture<?> request) {
      requests[next] = request;
      next = (next + 1) % requests.length;
      return requests[next].join();
    }
  }

  @Setup
  public void open() {
    request = SampleLogs.batch(new SplittableRandom(42), LOGS);
    timer = Executors.newSingleThreadScheduledExecutor();
    spool = new SlowSpool();
    batcher = new RequestBatcher(spool, ids, this::after, LIMITS);
  }

  @TearDown
  public void close() {
    timer.shutdownNow();
    spool.close();
  }

  private void after(Duration delay, Runnable task) {
    var _ = timer.schedule(task, delay.toNanos(), TimeUnit.NANOSECONDS);
  }

  private PendingRequest pendingRequest() {
    return new PendingRequest(
        request.tenant(),
        false,
        request.receivedNanos(),
        request.otlp(),
        request.otlp().length,
        LOGS,
        request.expandedBytes(),
        new CompletableFuture<>());
  }

  @Benchmark
  public Object batcher(Window window, Counters counters) {
    var completed = window.add(batcher.add(pendingRequest()));
    counters.entries += spool.entries.getAndSet(0);
    return completed;
  }

  /** A spool that spends CPU per entry in a thread of its own and stores nothing. */
  private static final class SlowSpool implements Spool, AutoCloseable {
    private final AtomicLong entries = new AtomicLong();
    private final ExecutorService thread = Executors.newSingleThreadExecutor();

    @Override
    public CompletableFuture<AppendResult> append(LogBatch batch, AppendMode appendMode) {
      return CompletableFuture.supplyAsync(
          () -> {
            Blackhole.consumeCPU(ENTRY_TOKENS + batch.otlp().length / BYTES_PER_TOKEN);
            entries.incrementAndGet();
            return new AppendResult.Accepted(new Receipt(0, "entry"));
          },
          thread);
    }

    @Override
    public CompletionStage<SpoolStatus> status() {
      throw new UnsupportedOperationException("not used by this benchmark");
    }

    @Override
    public void close() {
      thread.close();
    }
  }
}
