package dev.sluice.api.faults;

import static dev.sluice.api.faults.Fault.Round.verify;

import dev.sluice.api.faults.Fault.Round;
import dev.sluice.api.faults.TestSite.SitePlan;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/** Faults of processes: killed or stopped. */
final class ProcessFaults {
  private static final int ROUNDS = 20;

  /**
   * At the default rate these logs take more than a second, so that a random moment hits every
   * stage of the pipeline.
   */
  private static final int MAX_LOGS_BEFORE_FAULT = 2_500;

  private static final Path CLOCK = Path.of("target/faults/clock").toAbsolutePath();
  private static final Duration CLOCK_SKEW = Duration.ofHours(1);
  private static final Duration STOP_DURATION = Duration.ofSeconds(30);

  private ProcessFaults() {}

  static List<Fault> all() {
    return List.of(
        Fault.of("gateway-kill", ROUNDS, SitePlan.REDIS_ONLY, ProcessFaults::killGateway),
        Fault.of("redis-kill", ROUNDS, SitePlan.REDIS_ONLY, ProcessFaults::killRedis),
        Fault.of("clickhouse-kill", ROUNDS, SitePlan.REDIS_ONLY, ProcessFaults::killClickHouse),
        Fault.of("all-kill", ROUNDS, SitePlan.REDIS_ONLY, ProcessFaults::killAll),
        Fault.of("redis-stop", 1, SitePlan.REDIS_ONLY, ProcessFaults::stopRedis),
        Fault.of("clickhouse-stop", 1, SitePlan.REDIS_ONLY, ProcessFaults::stopClickHouse),
        Fault.of(
            "two-gateways",
            1,
            SitePlan.REDIS_ONLY.gateways(2, "--sluice.redis.consumer-idle-timeout=5s"),
            ProcessFaults::killOneOfTwo),
        Fault.of(
            "clock-back",
            1,
            SitePlan.REDIS_ONLY.jvm(
                SkewedClockGateway.class.getName(),
                "-Xmx512m",
                "-D" + SkewedClockGateway.FILE + "=" + CLOCK),
            ProcessFaults::setClockBack));
  }

  private static String killGateway(Round round) throws IOException, InterruptedException {
    round.awaitRandomProgress(MAX_LOGS_BEFORE_FAULT);
    int status = round.site().gateway().kill();
    verify(status == GatewayUnderTest.SIGKILL_EXIT_STATUS, "exit status " + status);
    round.markFaultEnd();
    round.site().gateway().start();
    return "killed by SIGKILL";
  }

  private static String killRedis(Round round) {
    round.awaitRandomProgress(MAX_LOGS_BEFORE_FAULT);
    var redis = round.site().redis();
    var old = handle(redis.pid());
    redis.kill();
    old.onExit().join();
    redis.stop(); // stop() prevents the automatic restart, whose delay grows
    round.workload().awaitRejected(1);
    round.markFaultEnd();
    redis.restart();
    verify(redis.pid() != old.pid(), "process " + old.pid() + " still runs");
    return "a new process, requests rejected";
  }

  private static String killClickHouse(Round round) {
    round.awaitRandomProgress(MAX_LOGS_BEFORE_FAULT);
    var clickHouse = round.site().clickHouse();
    var old = handle(clickHouse.pid());
    clickHouse.kill();
    old.onExit().join();
    clickHouse.stop();
    round.markFaultEnd();
    clickHouse.restart();
    verify(clickHouse.pid() != old.pid(), "process " + old.pid() + " still runs");
    return "a new process";
  }

  private static String killAll(Round round) throws IOException, InterruptedException {
    round.awaitRandomProgress(MAX_LOGS_BEFORE_FAULT);
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
    verify(status == GatewayUnderTest.SIGKILL_EXIT_STATUS, "exit status " + status);
    round.markFaultEnd();
    site.gateway().start();
    site.clickHouse().restart();
    site.redis().restart();
    verify(site.redis().pid() != oldRedis.pid(), "Redis still runs");
    verify(site.clickHouse().pid() != oldClickHouse.pid(), "ClickHouse still runs");
    return "killed by SIGKILL, two new engine processes";
  }

  private static ProcessHandle handle(long pid) {
    return ProcessHandle.of(pid).orElseThrow();
  }

  private static String stopRedis(Round round) throws IOException, InterruptedException {
    round.awaitRandomProgress(MAX_LOGS_BEFORE_FAULT);
    int rejectedBefore = round.workload().refused() + round.workload().unanswered();
    stopProcess(round, round.site().redis().pid());
    int more = round.workload().refused() + round.workload().unanswered() - rejectedBefore;
    verify(more > 0, "no request was rejected");
    return "halted for %d s, %d requests rejected".formatted(STOP_DURATION.toSeconds(), more);
  }

  private static String stopClickHouse(Round round) throws IOException, InterruptedException {
    round.awaitRandomProgress(MAX_LOGS_BEFORE_FAULT);
    int before = round.workload().acknowledged();
    stopProcess(round, round.site().clickHouse().pid());
    long waiting = round.site().spoolEntries();
    int more = round.workload().acknowledged() - before;
    verify(waiting > 0, "the spool is empty");
    verify(more > 0, "no log was acknowledged meanwhile");
    return "halted for %d s, %d logs acknowledged meanwhile"
        .formatted(STOP_DURATION.toSeconds(), more);
  }

  private static void stopProcess(Round round, long pid) throws IOException, InterruptedException {
    TestSite.signal("STOP", pid);
    try {
      long end = System.nanoTime() + STOP_DURATION.toNanos();
      while (System.nanoTime() < end) {
        LockSupport.parkNanos(end - System.nanoTime());
      }
      verify(TestSite.isStopped(pid), "process " + pid + " runs");
    } finally {
      round.markFaultEnd();
      TestSite.signal("CONT", pid);
    }
  }

  /** The surviving gateway takes over the in-flight deliveries of the other. */
  private static String killOneOfTwo(Round round) throws IOException, InterruptedException {
    round.workload().awaitAcknowledged(5_000);
    // while ClickHouse is unavailable, each gateway certainly has a delivery in flight
    round.site().clickHouse().stop();
    round.workload().awaitAcknowledged(5_000);
    int status = round.site().gateways().getLast().kill();
    verify(status == GatewayUnderTest.SIGKILL_EXIT_STATUS, "exit status " + status);
    round.markFaultEnd();
    round.site().clickHouse().restart();
    return "killed by SIGKILL, not restarted";
  }

  /** The clock stays wrong: logs received before and after the change must be stored. */
  private static String setClockBack(Round round) throws IOException, InterruptedException {
    try {
      round.awaitRandomProgress(MAX_LOGS_BEFORE_FAULT);
      round.site().awaitStored();
      round.markFaultEnd();
      var part = CLOCK.resolveSibling("clock.part");
      Files.writeString(part, "-" + CLOCK_SKEW.toSeconds());
      Files.move(part, CLOCK, StandardCopyOption.ATOMIC_MOVE);
      round.workload().awaitAcknowledged(2 * MAX_LOGS_BEFORE_FAULT);
      round.workload().stop();
      round.site().awaitDrained(Duration.ofSeconds(30));
      var early =
          round
              .site()
              .sql(
                  """
                  SELECT countIf(ReceivedTimestamp < now() - INTERVAL 50 MINUTE), count()
                  FROM otel_logs WHERE ServiceName = '%s'"""
                      .formatted(round.site().sequence().run()))
              .split("\t", -1);
      verify(Long.parseLong(early[0]) > 0, "no log has a receive time one hour ago");
      verify(!early[0].equals(early[1]), "all logs have a receive time one hour ago");
      return "some logs have a receive time one hour ago";
    } finally {
      Files.deleteIfExists(CLOCK);
    }
  }
}
