package dev.sluice.core.ingest;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.RequestBatcher.PendingRequest;
import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.MalformedOtlpException;
import dev.sluice.core.otlp.OtlpRecord;
import dev.sluice.core.otlp.OtlpRecordVisitor;
import dev.sluice.core.otlp.OtlpWalker;
import java.io.OutputStream;
import java.io.PrintStream;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.LongAdder;

/**
 * A mirror that prints accepted logs of severity INFO and above on the console, one line per log,
 * formatted by {@link ConsoleLogFormatter}.
 *
 * <p>Ingest never waits for the mirror. The mirror queues the bytes of a request, and its own
 * thread reads them and prints the logs. The queue is bounded in bytes; when it is full, the logs
 * of a request are dropped and counted. A broken console has no other effect: nothing is printed.
 *
 * <p>Thread-safe.
 */
public final class ConsoleMirror implements AutoCloseable {

  /** A mirror that prints nothing. */
  public static final ConsoleMirror OFF =
      new ConsoleMirror(
          new PrintStream(OutputStream.nullOutputStream(), false),
          Limits.DEFAULT,
          new MemoryBudget(1),
          false);

  private static final System.Logger LOG = System.getLogger(ConsoleMirror.class.getName());

  /** The memory of a queued request in addition to its bytes. */
  private static final int REQUEST_OVERHEAD_BYTES = 256;

  /**
   * The size at which buffered lines are written in one call, so that the output of other writers
   * to the same console appears between lines.
   */
  private static final int CHUNK_BYTES = 16 << 10;

  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(1);

  private record MirroredRequest(byte[] bytes, int length, int records, long receivedNanos) {
    long reservedBytes() {
      return (long) REQUEST_OVERHEAD_BYTES + bytes.length;
    }
  }

  private static final MirroredRequest END_MARKER = new MirroredRequest(new byte[0], 0, 0, 0);

  private final PrintStream console;
  private final OtlpWalker walker;
  private final MemoryBudget budget;
  private final boolean enabled;
  private final BlockingQueue<MirroredRequest> queue = new LinkedBlockingQueue<>();
  private final LongAdder dropped = new LongAdder();
  private final ByteOutput lines = new ByteOutput(CHUNK_BYTES);
  private final Thread thread =
      Thread.ofPlatform().name("sluice-mirror").daemon().unstarted(this::run);
  private volatile boolean open;

  /**
   * @param limits the limits with which the logs were validated
   * @param maxBytes the maximum size of the queued requests in bytes, positive
   */
  public ConsoleMirror(PrintStream console, Limits limits, long maxBytes) {
    this(console, limits, new MemoryBudget(maxBytes), true);
  }

  private ConsoleMirror(PrintStream console, Limits limits, MemoryBudget budget, boolean enabled) {
    this.console = console;
    this.walker = new OtlpWalker(limits);
    this.budget = budget;
    this.enabled = enabled;
    this.open = enabled;
  }

  /** Starts the thread of the mirror. Call it once. */
  public void start() {
    if (enabled) {
      thread.start();
    }
  }

  /**
   * Queues the accepted records of a request for printing, or drops them when the queue is full.
   */
  void offer(PendingRequest request) {
    if (!enabled) {
      return;
    }
    var mirrored =
        new MirroredRequest(
            request.bytes(), request.length(), request.acceptedCount(), request.receivedNanos());
    if (open && budget.reserve(mirrored.reservedBytes())) {
      queue.add(mirrored);
    } else {
      dropped.add(mirrored.records());
    }
  }

  /** Returns the number of accepted logs, of any severity, that were dropped. */
  public long dropped() {
    return dropped.sum();
  }

  private void run() {
    try {
      for (var next = queue.take(); next.records() > 0; next = queue.take()) {
        try {
          print(next);
        } catch (MalformedOtlpException | RuntimeException e) {
          // a bug, because the request is validated
          LOG.log(
              System.Logger.Level.WARNING,
              "console mirror failed to print a request; its logs are dropped",
              e);
          dropped.add(next.records());
        } finally {
          budget.release(next.reservedBytes());
        }
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt(); // close() timed out
    }
  }

  private void print(MirroredRequest request) throws MalformedOtlpException {
    if (!console.checkError()) {
      lines.clear();
      walker.walk(request.bytes(), 0, request.length(), new LineVisitor(request));
      flush();
    }
    if (console.checkError()) { // the error state of a PrintStream is permanent
      dropped.add(request.records());
    }
  }

  private void flush() {
    console.write(lines.array(), 0, lines.size());
    console.flush();
    lines.clear();
  }

  private final class LineVisitor implements OtlpRecordVisitor {
    private final MirroredRequest request;

    private LineVisitor(MirroredRequest request) {
      this.request = request;
    }

    @Override
    public void visitRecord(OtlpRecord log) {
      if (ConsoleLogFormatter.isShown(log)) {
        ConsoleLogFormatter.append(log, request.receivedNanos(), lines);
        if (lines.size() > CHUNK_BYTES) {
          flush();
        }
      }
    }

    @Override
    public void visitRejected(int ordinal, String field, String reason) {}
  }

  /** Prints the queued logs for at most one second, and stops the mirror. */
  @Override
  public void close() {
    if (!open) {
      return;
    }
    open = false;
    queue.add(END_MARKER);
    try {
      if (!thread.join(CLOSE_TIMEOUT)) {
        thread.interrupt();
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    } catch (IllegalThreadStateException _) {
      // start() was never called
    }
  }
}
