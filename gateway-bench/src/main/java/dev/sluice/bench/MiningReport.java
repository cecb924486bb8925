package dev.sluice.bench;

import dev.sluice.core.otlp.SampleLogs;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/**
 * How much does a gateway store, from the first request to the last row, when it tells each log its
 * template, and how much when it does not? Two gateways, each on engines of its own, take turns of
 * some seconds while the other rests, in the order ABBA, and the median of what two turns say is
 * the figure: on a machine that others share, what is far apart in time cannot be compared. A turn
 * ends when the last log is stored; the machine's own share is taken until all is quiet again,
 * ClickHouse's merges among it.
 *
 * <p>Run by {@code make bench-mining}; {@code SECONDS_EACH} and {@code ROUNDS} in the environment,
 * 8 and 8 by default. Ends with status 1 when less than nine tenths are stored with templates, or a
 * log is missing.
 */
public final class MiningReport {
  private static final int LOGS = 500;
  private static final int BODIES = 512;
  private static final int SENDERS = 16;
  private static final int WARM_UP_SECONDS = 15;
  private static final double WANTED = 0.9;
  private static final String LINE = "%-12s %12s %12s %14s %14s%n";

  private final List<byte[]> bodies = bodies();
  private final int seconds;

  private MiningReport(int seconds) {
    this.seconds = seconds;
  }

  /** One of the two, and what was sent to it. */
  private static final class Side implements AutoCloseable {
    private final String name;
    private final Path folder = Workplace.make();
    private final Gateway gateway;
    private final Sender sender;
    private long acknowledged;

    Side(boolean templates, List<byte[]> bodies) throws IOException, InterruptedException {
      name = templates ? "on" : "off";
      gateway =
          new Gateway(
              folder,
              "--sluice.templates.enabled=" + templates,
              "--sluice.embedded.clickhouse.http-port=0",
              "--sluice.embedded.clickhouse.tcp-port=0",
              "--sluice.embedded.redis.port=0",
              "--sluice.embedded.cache=" + Path.of(".cache/sluice").toAbsolutePath());
      sender = new Sender(gateway.port(), bodies, "");
    }

    /** Logs stored per second. */
    double turn(int seconds, boolean shown) throws IOException, InterruptedException {
      var watched = gateway.watched();
      double cpu = watched.counters().cpuSeconds();
      double machine = Workplace.busySeconds();
      long begun = System.nanoTime();
      var sent = sender.send(SENDERS, seconds, 0);
      long logs = sent.taken() * LOGS;
      acknowledged += logs;
      double took = (gateway.awaitDrained().nanos() - begun) / 1e9;
      boolean quiet = Workplace.awaitQuiet();
      cpu = watched.counters().cpuSeconds() - cpu;
      machine = Workplace.busySeconds() - machine;
      if (shown) {
        System.out.printf(
            LINE,
            name,
            "%,.0f".formatted(logs / sent.seconds()),
            "%,.0f".formatted(logs / took),
            "%.2f".formatted(cpu * 1e6 / logs),
            "%.2f".formatted(machine * 1e6 / logs) + (quiet ? "" : ", not quiet"));
      }
      return logs / took;
    }

    /** What was stored without an answer is more than was acknowledged. */
    boolean complete() throws IOException, InterruptedException {
      var ledger = gateway.ledger();
      long stored = ledger.path("stored").asLong();
      long imbalance = ledger.path("imbalance").asLong();
      boolean complete = stored >= acknowledged && imbalance == 0;
      if (!complete) {
        System.out.printf(
            "%s: %,d logs acknowledged, %,d stored, imbalance %d%n",
            name, acknowledged, stored, imbalance);
      }
      return complete;
    }

    @Override
    public void close() throws InterruptedException {
      gateway.close();
    }
  }

  public static void main(String[] arguments) throws Exception {
    int seconds = Integer.parseInt(System.getenv().getOrDefault("SECONDS_EACH", "8"));
    int rounds = Integer.parseInt(System.getenv().getOrDefault("ROUNDS", "8"));
    System.exit(new MiningReport(seconds).run(Math.max(1, rounds)) ? 0 : 1);
  }

  private boolean run(int rounds) throws IOException, InterruptedException {
    var ratios = new double[rounds];
    Path[] folders;
    boolean complete;
    try (var off = new Side(false, bodies);
        var on = new Side(true, bodies)) {
      folders = new Path[] {off.folder, on.folder};
      System.out.println(Workplace.machine(off.folder));
      System.out.printf(
          LINE, "templates", "accepted/s", "stored/s", "CPU us/log", "machine us/log");
      off.turn(WARM_UP_SECONDS, false);
      on.turn(WARM_UP_SECONDS, false);
      for (int round = 0; round < rounds; round++) {
        boolean offFirst = round % 2 == 0;
        double first = (offFirst ? off : on).turn(seconds, true);
        double second = (offFirst ? on : off).turn(seconds, true);
        ratios[round] = offFirst ? second / first : first / second;
      }
      complete = off.complete();
      complete &= on.complete();
    }
    if (complete) { // else they say why
      for (var folder : folders) {
        Workplace.delete(folder);
      }
    }
    Arrays.sort(ratios);
    double ratio = (ratios[(rounds - 1) / 2] + ratios[rounds / 2]) / 2;
    System.out.printf(
        "with / without: %.2f, from %.2f to %.2f (at least %.2f is wanted)%n",
        ratio, ratios[0], ratios[rounds - 1], WANTED);
    return complete && ratio >= WANTED;
  }

  private static List<byte[]> bodies() {
    var random = new Random(42);
    var bodies = new byte[BODIES][];
    Arrays.setAll(bodies, _ -> SampleLogs.body(random, LOGS));
    return List.of(bodies);
  }
}
