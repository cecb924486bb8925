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
import java.util.BitSet;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.LongAdder;

/**
 * Shows logs that were taken to whoever looks at the console: those of severity INFO and above, a
 * line each, as {@link ConsoleLogFormatter} writes it.
 *
 * <p>Nobody waits for it. A request is handed over as the bytes it is, to a thread of the mirror's
 * own that goes through them once more; what lies there is bounded, and what finds no room is not
 * shown and counted. A console that is broken shows nothing, and that is all.
 *
 * <p>Safe for use by many threads.
 */
public final class ConsoleMirror implements AutoCloseable {

  /** Shows nothing. */
  public static final ConsoleMirror OFF =
      new ConsoleMirror(
          new PrintStream(OutputStream.nullOutputStream(), false),
          Limits.DEFAULT,
          new MemoryBudget(1),
          false);

  private static final System.Logger LOG = System.getLogger(ConsoleMirror.class.getName());

  /** What a small request costs while it lies here, beside its bytes. */
  private static final int REQUEST_OVERHEAD_BYTES = 256;

  /** Written at once, so that what others print on the same console comes between lines. */
  private static final int CHUNK_BYTES = 16 << 10;

  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(1);

  private record MirroredRequest(
      byte[] bytes, int length, BitSet excludedOrdinals, int records, long receivedNanos) {
    long reservedBytes() {
      return (long) REQUEST_OVERHEAD_BYTES + bytes.length;
    }
  }

  private static final MirroredRequest END_MARKER =
      new MirroredRequest(new byte[0], 0, new BitSet(0), 0, 0);

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
   * @param limits by which the logs were judged
   * @param maxBytes of requests that wait to be shown, positive
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

  /** Begins to show what is handed over; once. */
  public void start() {
    if (enabled) {
      thread.start();
    }
  }

  /** Shows the records of a request that were taken, some time later or never. */
  void offer(PendingRequest request) {
    if (!enabled) {
      return;
    }
    var mirrored =
        new MirroredRequest(
            request.bytes(),
            request.length(),
            request.excludedOrdinals(),
            request.acceptedCount(),
            request.receivedNanos());
    if (open && budget.reserve(mirrored.reservedBytes())) {
      queue.add(mirrored);
    } else {
      dropped.add(mirrored.records());
    }
  }

  /** Logs that were taken and had no chance to be shown, of any severity. */
  public long dropped() {
    return dropped.sum();
  }

  private void run() {
    try {
      for (var next = queue.take(); next.records() > 0; next = queue.take()) {
        try {
          print(next);
        } catch (MalformedOtlpException
            | RuntimeException e) { // it was judged, so it is our mistake
          LOG.log(System.Logger.Level.WARNING, "a request could not be shown", e);
          dropped.add(next.records());
        } finally {
          budget.release(next.reservedBytes());
        }
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt(); // it was not worth waiting for
    }
  }

  private void print(MirroredRequest request) throws MalformedOtlpException {
    if (!console.checkError()) {
      lines.clear();
      walker.walk(request.bytes(), 0, request.length(), new LineVisitor(request));
      flush();
    }
    if (console.checkError()) { // once broken, it stays so
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
      if (!request.excludedOrdinals().get(log.ordinal()) && ConsoleLogFormatter.isShown(log)) {
        ConsoleLogFormatter.append(log, request.receivedNanos(), lines);
        if (lines.size() > CHUNK_BYTES) {
          flush();
        }
      }
    }

    @Override
    public void visitRejected(int ordinal, String field, String reason) {}
  }

  /** Shows what was handed over before, if that does not take long, and nothing any more. */
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
      // it was never started
    }
  }
}
