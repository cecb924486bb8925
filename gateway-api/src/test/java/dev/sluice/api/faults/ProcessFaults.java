package dev.sluice.api.faults;

import static dev.sluice.api.faults.Fault.Round.proven;

import dev.sluice.api.faults.Fault.Round;
import dev.sluice.api.faults.Site.Plan;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/** Processes that end, or stand still. */
final class ProcessFaults {
  private static final int ROUNDS = 20;

  /** At the usual rate a little more than a second, in which every stage of a log has its turn. */
  private static final int MOMENT = 2_500;

  private static final Path CLOCK = Path.of("target/faults/clock").toAbsolutePath();
  private static final Duration BACK = Duration.ofHours(1);
  private static final Duration HALT = Duration.ofSeconds(30);

  private ProcessFaults() {}

  static List<Fault> all() {
    return List.of(
        Fault.of("gateway-kill", ROUNDS, Plan.USUAL, ProcessFaults::killGateway),
        Fault.of("redis-kill", ROUNDS, Plan.USUAL, ProcessFaults::killRedis),
        Fault.of("clickhouse-kill", ROUNDS, Plan.USUAL, ProcessFaults::killClickHouse),
        Fault.of("all-kill", ROUNDS, Plan.USUAL, ProcessFaults::killAll),
        Fault.of("redis-stop", 1, Plan.USUAL, ProcessFaults::haltRedis),
        Fault.of("clickhouse-stop", 1, Plan.USUAL, ProcessFaults::haltClickHouse),
        Fault.of(
            "two-gateways",
            1,
            Plan.USUAL.gateways(2, "--sluice.redis.claim-idle=5s"),
            ProcessFaults::killOneOfTwo),
        Fault.of(
            "clock-back",
            1,
            Plan.USUAL.jvm(
                WrongClock.class.getName(), "-Xmx512m", "-D" + WrongClock.FILE + "=" + CLOCK),
            ProcessFaults::setBack));
  }

  private static String killGateway(Round round) throws IOException, InterruptedException {
    round.awaitMoment(MOMENT);
    int status = round.site().gateway().kill();
    proven(status == GatewayProcess.KILLED, "exit status " + status);
    round.over();
    round.site().gateway().start();
    return "ended by signal 9";
  }

  private static String killRedis(Round round) {
    round.awaitMoment(MOMENT);
    var redis = round.site().redis();
    var old = handle(redis.pid());
    redis.kill();
    old.onExit().join();
    redis.stop(); // it would be started again by itself, after a pause that grows
    round.load().awaitTurnedAway(1);
    round.over();
    redis.restart();
    proven(redis.pid() != old.pid(), "process " + old.pid() + " lives on");
    return "another process, requests turned away";
  }

  private static String killClickHouse(Round round) {
    round.awaitMoment(MOMENT);
    var clickHouse = round.site().clickHouse();
    var old = handle(clickHouse.pid());
    clickHouse.kill();
    old.onExit().join();
    clickHouse.stop();
    round.over();
    clickHouse.restart();
    proven(clickHouse.pid() != old.pid(), "process " + old.pid() + " lives on");
    return "another process";
  }

  private static String killAll(Round round) throws IOException, InterruptedException {
    round.awaitMoment(MOMENT);
    var site = round.site();
    var oldRedis = handle(site.redis().pid());
    var oldClickHouse = handle(site.clickHouse().pid());
    site.redis().kill();
    site.clickHouse().kill();
    int status = site.gateway().kill();
    oldRedis.onExit().join();
    oldClickHouse.onExit().join();
    site.redis().stop();
    site.clickHouse().stop();
    proven(status == GatewayProcess.KILLED, "exit status " + status);
    round.over();
    site.gateway().start();
    site.clickHouse().restart();
    site.redis().restart();
    proven(site.redis().pid() != oldRedis.pid(), "Redis lives on");
    proven(site.clickHouse().pid() != oldClickHouse.pid(), "ClickHouse lives on");
    return "ended by signal 9, two other processes";
  }

  private static ProcessHandle handle(long pid) {
    return ProcessHandle.of(pid).orElseThrow();
  }

  private static String haltRedis(Round round) throws IOException, InterruptedException {
    round.awaitMoment(MOMENT);
    int turnedAway = round.load().refused() + round.load().unanswered();
    halt(round, round.site().redis().pid());
    int more = round.load().refused() + round.load().unanswered() - turnedAway;
    proven(more > 0, "no request was turned away");
    return "halted for %d s, %d requests turned away".formatted(HALT.toSeconds(), more);
  }

  private static String haltClickHouse(Round round) throws IOException, InterruptedException {
    round.awaitMoment(MOMENT);
    int before = round.load().acknowledged();
    halt(round, round.site().clickHouse().pid());
    long waiting = round.site().spooled();
    int more = round.load().acknowledged() - before;
    proven(waiting > 0, "nothing waits in the spool");
    proven(more > 0, "nothing was acknowledged meanwhile");
    return "halted for %d s, %d logs acknowledged meanwhile".formatted(HALT.toSeconds(), more);
  }

  private static void halt(Round round, long pid) throws IOException, InterruptedException {
    Site.signal("STOP", pid);
    try {
      long end = System.nanoTime() + HALT.toNanos();
      while (System.nanoTime() < end) {
        LockSupport.parkNanos(end - System.nanoTime());
      }
      proven(Site.halted(pid), "process " + pid + " runs");
    } finally {
      round.over();
      Site.signal("CONT", pid);
    }
  }

  /** The one that lives takes over what the other had in hand. */
  private static String killOneOfTwo(Round round) throws IOException, InterruptedException {
    round.load().awaitAcknowledged(5_000);
    // while ClickHouse is away, each surely has something in hand
    round.site().clickHouse().stop();
    round.load().awaitAcknowledged(5_000);
    int status = round.site().gateways().getLast().kill();
    proven(status == GatewayProcess.KILLED, "exit status " + status);
    round.over();
    round.site().clickHouse().restart();
    return "ended by signal 9, never started again";
  }

  /** The clock stays wrong: what was received before and what comes after must both be stored. */
  private static String setBack(Round round) throws IOException, InterruptedException {
    try {
      round.awaitMoment(MOMENT);
      round.site().awaitStored();
      round.over();
      var part = CLOCK.resolveSibling("clock.part");
      Files.writeString(part, "-" + BACK.toSeconds());
      Files.move(part, CLOCK, StandardCopyOption.ATOMIC_MOVE);
      round.load().awaitAcknowledged(2 * MOMENT);
      round.load().stop();
      round.site().awaitDrained(Duration.ofSeconds(30));
      var early =
          round
              .site()
              .sql(
                  """
                  SELECT countIf(ReceivedTimestamp < now() - INTERVAL 50 MINUTE), count()
                  FROM otel_logs WHERE ServiceName = '%s'"""
                      .formatted(round.site().numbers().run()))
              .split("\t", -1);
      proven(Long.parseLong(early[0]) > 0, "nothing was received an hour ago");
      proven(!early[0].equals(early[1]), "all was received an hour ago");
      return "received an hour ago: some of the logs";
    } finally {
      Files.deleteIfExists(CLOCK);
    }
  }
}
