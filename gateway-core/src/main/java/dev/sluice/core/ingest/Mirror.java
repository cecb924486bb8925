package dev.sluice.core.ingest;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.Coalescer.Part;
import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.MalformedOtlp;
import dev.sluice.core.otlp.OtlpRecord;
import dev.sluice.core.otlp.OtlpSink;
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
 * line each, as {@link MirrorLine} writes it.
 *
 * <p>Nobody waits for it. A request is handed over as the bytes it is, to a thread of the mirror's
 * own that goes through them once more; what lies there is bounded, and what finds no room is not
 * shown and counted. A console that is broken shows nothing, and that is all.
 *
 * <p>Safe for use by many threads.
 */
public final class Mirror implements AutoCloseable {

  /** Shows nothing. */
  public static final Mirror OFF =
      new Mirror(
          new PrintStream(OutputStream.nullOutputStream(), false),
          Limits.DEFAULT,
          new MemoryBudget(1),
          false);

  private static final System.Logger LOG = System.getLogger(Mirror.class.getName());

  /** What a small request costs while it lies here, beside its bytes. */
  private static final int OVERHEAD = 256;

  /** Written at once, so that what others print on the same console comes between lines. */
  private static final int PIECE = 16 << 10;

  private static final Duration LAST_LINES = Duration.ofSeconds(1);

  private record Taken(byte[] bytes, int length, BitSet refused, int records, long receivedNanos) {
    long holds() {
      return (long) OVERHEAD + bytes.length;
    }
  }

  private static final Taken END = new Taken(new byte[0], 0, new BitSet(0), 0, 0);

  private final PrintStream console;
  private final OtlpWalker walker;
  private final MemoryBudget room;
  private final boolean on;
  private final BlockingQueue<Taken> waiting = new LinkedBlockingQueue<>();
  private final LongAdder dropped = new LongAdder();
  private final ByteOutput lines = new ByteOutput(PIECE);
  private final Thread thread =
      Thread.ofPlatform().name("sluice-mirror").daemon().unstarted(this::run);
  private volatile boolean open;

  /**
   * @param limits by which the logs were judged
   * @param maxBytes of requests that wait to be shown, positive
   */
  public Mirror(PrintStream console, Limits limits, long maxBytes) {
    this(console, limits, new MemoryBudget(maxBytes), true);
  }

  private Mirror(PrintStream console, Limits limits, MemoryBudget room, boolean on) {
    this.console = console;
    this.walker = new OtlpWalker(limits);
    this.room = room;
    this.on = on;
    this.open = on;
  }

  /** Begins to show what is handed over; once. */
  public void start() {
    if (on) {
      thread.start();
    }
  }

  /** Shows the records of a request that were taken, some time later or never. */
  void show(Part part) {
    if (!on) {
      return;
    }
    var taken =
        new Taken(
            part.bytes(), part.length(), part.refused(), part.records(), part.receivedNanos());
    if (open && room.reserve(taken.holds())) {
      waiting.add(taken);
    } else {
      dropped.add(taken.records());
    }
  }

  /** Logs that were taken and had no chance to be shown, of any severity. */
  public long dropped() {
    return dropped.sum();
  }

  private void run() {
    try {
      for (var next = waiting.take(); next.records() > 0; next = waiting.take()) {
        try {
          print(next);
        } catch (MalformedOtlp | RuntimeException e) { // it was judged, so it is our mistake
          LOG.log(System.Logger.Level.WARNING, "a request could not be shown", e);
          dropped.add(next.records());
        } finally {
          room.release(next.holds());
        }
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt(); // it was not worth waiting for
    }
  }

  private void print(Taken taken) throws MalformedOtlp {
    if (!console.checkError()) {
      lines.clear();
      walker.walk(taken.bytes(), 0, taken.length(), new Lines(taken));
      flush();
    }
    if (console.checkError()) { // once broken, it stays so
      dropped.add(taken.records());
    }
  }

  private void flush() {
    console.write(lines.array(), 0, lines.size());
    console.flush();
    lines.clear();
  }

  private final class Lines implements OtlpSink {
    private final Taken taken;

    private Lines(Taken taken) {
      this.taken = taken;
    }

    @Override
    public void accepted(OtlpRecord log) {
      if (!taken.refused().get(log.ordinal()) && MirrorLine.isShown(log)) {
        MirrorLine.append(log, taken.receivedNanos(), lines);
        if (lines.size() > PIECE) {
          flush();
        }
      }
    }

    @Override
    public void refused(int ordinal, String field, String reason) {}
  }

  /** Shows what was handed over before, if that does not take long, and nothing any more. */
  @Override
  public void close() {
    if (!open) {
      return;
    }
    open = false;
    waiting.add(END);
    try {
      if (!thread.join(LAST_LINES)) {
        thread.interrupt();
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    } catch (IllegalThreadStateException _) {
      // it was never started
    }
  }
}
