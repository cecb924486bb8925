package dev.sluice.bench;

import java.io.IOException;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/**
 * What it costs that a server is ended by {@code kill -9} under load, and started again. A log that
 * was answered with success and is lost looks like one under way that was not stored either, so
 * what is lost is told but for as many as were under way.
 *
 * @param accepted log records answered with success
 * @param stored different log records that are in the table
 * @param lost accepted and not stored, at least
 * @param doubled rows beyond one for each stored record
 * @param imbalance of the server's own ledger, null when it keeps none
 */
record Killed(
    String name, long accepted, long stored, long lost, long doubled, @Nullable Long imbalance) {
  private static final int SENDING = 6;

  /** Of the server's; it has begun to work then, and goes on for as long again and more. */
  private static final double WORKED = 0.3;

  private static final Duration UNTIL_KILLED = Duration.ofSeconds(2);

  static Killed underLoad(
      Engines engines,
      LogServer server,
      Generator generator,
      String name,
      int logsPerRequest,
      Duration patience)
      throws IOException, InterruptedException {
    var database = engines.database();
    var arrivals = new Arrivals(database);
    long different = different(database);
    long accepted;
    try (var sending = Executors.newSingleThreadExecutor()) {
      var load = sending.submit(() -> generator.send(SENDING));
      awaitWork(new Watched(server.pid(), Set.of()), load);
      Thread.sleep(UNTIL_KILLED);
      server.kill();
      accepted = load.get().taken() * logsPerRequest;
    } catch (ExecutionException e) {
      throw new IOException("the load generator failed", e.getCause());
    }
    if (accepted == 0) {
      throw new IOException("it was killed before it had answered: " + name);
    }
    server.restart();
    long rows = arrivals.await(accepted, patience).rows();
    long stored = different(database) - different;
    return new Killed(
        name, accepted, stored, Math.max(0, accepted - stored), rows - stored, server.imbalance());
  }

  private static void awaitWork(Watched server, Future<Load> load)
      throws IOException, InterruptedException {
    double before = server.cpuSeconds();
    while (!load.isDone() && server.cpuSeconds() - before < WORKED) {
      Thread.sleep(20);
    }
  }

  private static long different(Database database) throws IOException, InterruptedException {
    return database.number("SELECT uniqExact(Id) FROM " + Measurement.TABLE);
  }

  boolean complete() {
    return lost == 0 && doubled == 0 && (imbalance == null || imbalance == 0);
  }
}
