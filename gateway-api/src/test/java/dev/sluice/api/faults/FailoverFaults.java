package dev.sluice.api.faults;

import static dev.sluice.api.faults.Fault.Round.verify;
import static org.awaitility.Awaitility.await;

import dev.sluice.api.faults.Fault.Round;
import dev.sluice.api.faults.TestSite.SitePlan;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Pattern;

/** Faults of Redis while the write-ahead log is its fallback. */
final class FailoverFaults {
  private static final int MAX_LOGS_BEFORE_FAULT = 2_500;
  private static final Duration OUTAGE = Duration.ofSeconds(20);
  private static final Duration FLAP_INTERVAL = Duration.ofSeconds(5);
  private static final int FLAPS = 12;
  private static final Duration STOP_DURATION = Duration.ofSeconds(30);

  private static final Pattern FALLBACK_ACTIVE =
      Pattern.compile("records go to the write-ahead log");
  private static final Pattern FRAME = Pattern.compile("\"frames\":[1-9]");

  /** The approximate start time of a gateway. */
  private static final int START_MILLIS = 8_000;

  private FailoverFaults() {}

  static List<Fault> all() {
    return List.of(
        Fault.of("redis-gone", 1, SitePlan.REDIS_THEN_WAL, FailoverFaults::redisOutage),
        Fault.of("redis-flapping", 1, SitePlan.REDIS_THEN_WAL, FailoverFaults::flapRedis),
        Fault.of("redis-stop-default", 1, SitePlan.REDIS_THEN_WAL, FailoverFaults::stopRedis),
        Fault.of("failover-kill", 10, SitePlan.REDIS_THEN_WAL, FailoverFaults::killDuringFailover),
        Fault.of(
            "two-gateways-default",
            1,
            SitePlan.REDIS_THEN_WAL.gateways(2, "--sluice.redis.consumer-idle-timeout=5s"),
            FailoverFaults::killOneOfTwo));
  }

  /** Redis is restarted at the end only so that its logs can be counted. */
  private static String redisOutage(Round round) throws IOException, InterruptedException {
    var site = round.site();
    round.awaitRandomProgress(MAX_LOGS_BEFORE_FAULT);
    int failed = failedRequests(round);
    site.redis().kill();
    site.redis().stop();
    int first = site.sequence().nextUnused();
    int before = round.workload().acknowledged();
    sleep(OUTAGE);
    verify(failedRequests(round) == failed, (failedRequests(round) - failed) + " requests failed");
    int acceptedDuringOutage = round.workload().acknowledged() - before;
    verify(acceptedDuringOutage > 0, "nothing was acknowledged without Redis");
    // numbers allocated well after the kill: none of these logs was ever sent to Redis
    long stored = rows(site, first + MAX_LOGS_BEFORE_FAULT);
    verify(stored > 0, "nothing was stored without Redis");
    verify(
        site.gateway().gauge("sluice_failover_active") == 1,
        "the gateway does not report a failover");
    round.markFaultEnd();
    site.redis().restart();
    return "%d s without Redis, no request failed, logs stored meanwhile"
        .formatted(OUTAGE.toSeconds());
  }

  private static int failedRequests(Round round) {
    return round.workload().refused() + round.workload().unanswered();
  }

  private static long rows(TestSite site, int from) throws IOException, InterruptedException {
    return Long.parseLong(
        site.sql(
            """
            SELECT count() FROM otel_logs
            WHERE ServiceName = '%s' AND toUInt32OrZero(LogAttributes['n']) >= %d"""
                .formatted(site.sequence().run(), from)));
  }

  private static String flapRedis(Round round) {
    var redis = round.site().redis();
    round.awaitRandomProgress(MAX_LOGS_BEFORE_FAULT);
    int failed = failedRequests(round);
    for (int i = 0; i < FLAPS; i++) {
      if (i % 2 == 0) {
        redis.kill();
        redis.stop();
      } else {
        redis.restart();
      }
      sleep(FLAP_INTERVAL);
    }
    round.markFaultEnd();
    verify(failedRequests(round) == failed, (failedRequests(round) - failed) + " requests failed");
    return "%d outages of %d s, no request failed".formatted(FLAPS / 2, FLAP_INTERVAL.toSeconds());
  }

  /** Redis stops without closing its connections, so the gateway sees only missing responses. */
  private static String stopRedis(Round round) throws IOException, InterruptedException {
    var site = round.site();
    round.awaitRandomProgress(MAX_LOGS_BEFORE_FAULT);
    int failed = failedRequests(round);
    int before = round.workload().acknowledged();
    long redis = site.redis().pid();
    long failoversBefore = site.countLogMatches(FALLBACK_ACTIVE);
    TestSite.signal("STOP", redis);
    try {
      sleep(STOP_DURATION);
      verify(TestSite.isStopped(redis), "process " + redis + " runs");
      // no gauge of Redis, which would wait for Redis
      verify(
          site.countLogMatches(FALLBACK_ACTIVE) > failoversBefore,
          "the write-ahead log is not active");
    } finally {
      round.markFaultEnd();
      TestSite.signal("CONT", redis);
    }
    verify(failedRequests(round) == failed, (failedRequests(round) - failed) + " requests failed");
    verify(
        round.workload().acknowledged() > before + MAX_LOGS_BEFORE_FAULT,
        "too few logs were acknowledged");
    return "halted for %d s, no request failed".formatted(STOP_DURATION.toSeconds());
  }

  /**
   * The gateway is killed while the write-ahead log is active; at its restart, Redis is down,
   * restarting or up.
   */
  private static String killDuringFailover(Round round) throws IOException, InterruptedException {
    var site = round.site();
    round.awaitRandomProgress(MAX_LOGS_BEFORE_FAULT);
    site.redis().kill();
    site.redis().stop();
    awaitFallbackActive(site.gateway());
    round.awaitRandomProgress(MAX_LOGS_BEFORE_FAULT);
    int status = site.gateway().kill();
    verify(status == GatewayUnderTest.SIGKILL_EXIT_STATUS, "exit status " + status);
    boolean redisFirst = round.random().nextBoolean();
    if (redisFirst) {
      site.redis().restart();
    }
    site.gateway().start();
    if (!redisFirst) {
      sleep(pause(round.random()));
      round.markFaultEnd();
      site.redis().restart();
    }
    round.markFaultEnd();
    return "killed by SIGKILL during the failover";
  }

  private static Duration pause(Random random) {
    return Duration.ofMillis(random.nextInt(2 * START_MILLIS));
  }

  /** Each gateway delivers its own write-ahead log; one of them is killed meanwhile. */
  private static String killOneOfTwo(Round round) throws IOException, InterruptedException {
    var site = round.site();
    round.awaitRandomProgress(MAX_LOGS_BEFORE_FAULT);
    int failed = failedRequests(round);
    site.redis().kill();
    site.redis().stop();
    site.gateways().forEach(FailoverFaults::awaitFallbackActive);
    round.workload().awaitAcknowledged(2 * MAX_LOGS_BEFORE_FAULT);
    for (var gateway : site.gateways()) {
      verify(FRAME.matcher(gateway.get("/actuator/wal")).find(), "the write-ahead log is empty");
    }
    verify(failedRequests(round) == failed, (failedRequests(round) - failed) + " requests failed");
    site.redis().restart();
    sleep(pause(round.random()).dividedBy(4));
    int status = site.gateways().getLast().kill();
    verify(status == GatewayUnderTest.SIGKILL_EXIT_STATUS, "exit status " + status);
    round.markFaultEnd();
    site.gateways().getLast().start();
    return "failover of both gateways, one killed by SIGKILL while it delivers its write-ahead log";
  }

  private static void awaitFallbackActive(GatewayUnderTest gateway) {
    await("the failover to the write-ahead log")
        .atMost(Duration.ofSeconds(30))
        .ignoreExceptions()
        .until(() -> gateway.gauge("sluice_failover_active") == 1);
  }

  private static void sleep(Duration time) {
    long end = System.nanoTime() + time.toNanos();
    while (System.nanoTime() < end) {
      LockSupport.parkNanos(end - System.nanoTime());
    }
  }
}
