package dev.sluice.bench;

import java.io.IOException;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/**
 * The loss and the duplicates after a server is ended by {@code kill -9} under load and started
 * again. A lost log with a success response cannot be distinguished from a log in flight that was
 * not stored, so the count of lost logs is a lower bound: it can miss as many logs as were in
 * flight.
 *
 * @param accepted the number of log records in requests with a success response
 * @param stored the number of distinct log records in the table
 * @param lost the number of records that were accepted and not stored, at least
 * @param doubled the number of rows beyond one for each stored record
 * @param imbalance the imbalance of the server's own ledger; null when it has no ledger
 */
record CrashResult(
    String name, long accepted, long stored, long lost, long doubled, @Nullable Long imbalance) {
  private static final int LOAD_SECONDS = 6;

  /** The CPU seconds after which the server counts as under load; the kill follows later. */
  private static final double MIN_CPU_SECONDS = 0.3;

  private static final Duration KILL_DELAY = Duration.ofSeconds(2);

  static CrashResult killUnderLoad(
      BenchEngines engines,
      LogServer server,
      LoadGenerator generator,
      String name,
      int logsPerRequest,
      Duration stallTimeout)
      throws IOException, InterruptedException {
    var clickHouseAdmin = engines.database();
    var rowCounter = new RowCounter(clickHouseAdmin);
    long distinctBefore = countDistinct(clickHouseAdmin);
    long accepted;
    try (var sending = Executors.newSingleThreadExecutor()) {
      var load = sending.submit(() -> generator.send(LOAD_SECONDS));
      awaitLoad(new ProcessStats(server.pid(), Set.of()), load);
      Thread.sleep(KILL_DELAY);
      server.kill();
      accepted = load.get().succeeded() * logsPerRequest;
    } catch (ExecutionException e) {
      throw new IOException("the load generator failed", e.getCause());
    }
    if (accepted == 0) {
      throw new IOException("the server was killed before its first response: " + name);
    }
    server.restart();
    long rows = rowCounter.await(accepted, stallTimeout).rows();
    long stored = countDistinct(clickHouseAdmin) - distinctBefore;
    return new CrashResult(
        name, accepted, stored, Math.max(0, accepted - stored), rows - stored, server.imbalance());
  }

  private static void awaitLoad(ProcessStats server, Future<LoadResult> load)
      throws IOException, InterruptedException {
    double before = server.cpuSeconds();
    while (!load.isDone() && server.cpuSeconds() - before < MIN_CPU_SECONDS) {
      Thread.sleep(20);
    }
  }

  private static long countDistinct(ClickHouseAdmin clickHouseAdmin)
      throws IOException, InterruptedException {
    return clickHouseAdmin.queryLong("SELECT uniqExact(Id) FROM " + Measurement.TABLE);
  }

  boolean complete() {
    return lost == 0 && doubled == 0 && (imbalance == null || imbalance == 0);
  }
}
