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

/** A Redis that is away while the write-ahead log stands in for it. */
final class FailoverFaults {
  private static final int MAX_LOGS_BEFORE_FAULT = 2_500;
  private static final Duration OUTAGE = Duration.ofSeconds(20);
  private static final Duration FLAP_INTERVAL = Duration.ofSeconds(5);
  private static final int FLAPS = 12;
  private static final Duration STOP_DURATION = Duration.ofSeconds(30);

  private static final Pattern FALLBACK_ACTIVE = Pattern.compile("logs go to the write-ahead log");
  private static final Pattern FRAME = Pattern.compile("\"frames\":[1-9]");

  /** About as long as a gateway takes to start. */
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

  /** It comes back only so that what it had can be counted. */
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
    int taken = round.workload().acknowledged() - before;
    verify(taken > 0, "nothing was acknowledged without Redis");
    // all that were numbered a while after it had gone; none of these was ever sent to Redis
    long stored = rows(site, first + MAX_LOGS_BEFORE_FAULT);
    verify(stored > 0, "nothing was stored without Redis");
    verify(site.gateway().gauge("sluice_failover_active") == 1, "Redis is not seen as away");
    round.markFaultEnd();
    site.redis().restart();
    return "%d s without it, no request failed, logs stored meanwhile"
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
    return "%d times away for %d s, no request failed"
        .formatted(FLAPS / 2, FLAP_INTERVAL.toSeconds());
  }

  /** Nobody is told that it does not answer: silent is worse than gone. */
  private static String stopRedis(Round round) throws IOException, InterruptedException {
    var site = round.site();
    round.awaitRandomProgress(MAX_LOGS_BEFORE_FAULT);
    int failed = failedRequests(round);
    int before = round.workload().acknowledged();
    long redis = site.redis().pid();
    long stoodIn = site.countLogMatches(FALLBACK_ACTIVE);
    TestSite.signal("STOP", redis);
    try {
      sleep(STOP_DURATION);
      verify(TestSite.isStopped(redis), "process " + redis + " runs");
      // not by a meter: those of Redis wait for it
      verify(site.countLogMatches(FALLBACK_ACTIVE) > stoodIn, "the log does not stand in");
    } finally {
      round.markFaultEnd();
      TestSite.signal("CONT", redis);
    }
    verify(failedRequests(round) == failed, (failedRequests(round) - failed) + " requests failed");
    verify(
        round.workload().acknowledged() > before + MAX_LOGS_BEFORE_FAULT,
        "hardly anything was acknowledged");
    return "halted for %d s, no request failed".formatted(STOP_DURATION.toSeconds());
  }

  /** The gateway ends while its log stands in, and finds Redis away, or just back, or well. */
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
    return "ended by signal 9 while its log stood in";
  }

  private static Duration pause(Random random) {
    return Duration.ofMillis(random.nextInt(2 * START_MILLIS));
  }

  /** Each gives back what its own log has, also the one that is killed while it does. */
  private static String killOneOfTwo(Round round) throws IOException, InterruptedException {
    var site = round.site();
    round.awaitRandomProgress(MAX_LOGS_BEFORE_FAULT);
    int failed = failedRequests(round);
    site.redis().kill();
    site.redis().stop();
    site.gateways().forEach(FailoverFaults::awaitFallbackActive);
    round.workload().awaitAcknowledged(2 * MAX_LOGS_BEFORE_FAULT);
    for (var gateway : site.gateways()) {
      verify(FRAME.matcher(gateway.get("/actuator/wal")).find(), "a log with nothing in it");
    }
    verify(failedRequests(round) == failed, (failedRequests(round) - failed) + " requests failed");
    site.redis().restart();
    sleep(pause(round.random()).dividedBy(4));
    int status = site.gateways().getLast().kill();
    verify(status == GatewayUnderTest.SIGKILL_EXIT_STATUS, "exit status " + status);
    round.markFaultEnd();
    site.gateways().getLast().start();
    return "both stood in, one ended by signal 9 afterwards";
  }

  private static void awaitFallbackActive(GatewayUnderTest gateway) {
    await("a log that stands in for Redis")
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
