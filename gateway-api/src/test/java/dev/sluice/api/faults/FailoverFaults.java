package dev.sluice.api.faults;

import static dev.sluice.api.faults.Fault.Round.proven;
import static org.awaitility.Awaitility.await;

import dev.sluice.api.faults.Fault.Round;
import dev.sluice.api.faults.Site.Plan;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Pattern;

/** A Redis that is away while the write-ahead log stands in for it. */
final class FailoverFaults {
  private static final int MOMENT = 2_500;
  private static final Duration GONE = Duration.ofSeconds(20);
  private static final Duration BEAT = Duration.ofSeconds(5);
  private static final int BEATS = 12;
  private static final Duration HALT = Duration.ofSeconds(30);

  private static final Pattern STANDS_IN = Pattern.compile("logs go to the write-ahead log");
  private static final Pattern FRAME = Pattern.compile("\"frames\":[1-9]");

  /** About as long as a gateway takes to start. */
  private static final int START_MILLIS = 8_000;

  private FailoverFaults() {}

  static List<Fault> all() {
    return List.of(
        Fault.of("redis-gone", 1, Plan.BOTH, FailoverFaults::redisGone),
        Fault.of("redis-flapping", 1, Plan.BOTH, FailoverFaults::flap),
        Fault.of("redis-stop-default", 1, Plan.BOTH, FailoverFaults::halt),
        Fault.of("failover-kill", 10, Plan.BOTH, FailoverFaults::killBoth),
        Fault.of(
            "two-gateways-default",
            1,
            Plan.BOTH.gateways(2, "--sluice.redis.claim-idle=5s"),
            FailoverFaults::killOneOfTwo));
  }

  /** It comes back only so that what it had can be counted. */
  private static String redisGone(Round round) throws IOException, InterruptedException {
    var site = round.site();
    round.awaitMoment(MOMENT);
    int failed = failed(round);
    site.redis().kill();
    site.redis().stop();
    int first = site.numbers().next();
    int before = round.load().acknowledged();
    pass(GONE);
    proven(failed(round) == failed, (failed(round) - failed) + " requests failed");
    int taken = round.load().acknowledged() - before;
    proven(taken > 0, "nothing was acknowledged without Redis");
    // all that were numbered a while after it had gone; none of these was ever sent to Redis
    long stored = rows(site, first + MOMENT);
    proven(stored > 0, "nothing was stored without Redis");
    proven(site.gateway().gauge("sluice_failover_active") == 1, "Redis is not seen as away");
    round.over();
    site.redis().restart();
    return "%d s without it, no request failed, logs stored meanwhile".formatted(GONE.toSeconds());
  }

  private static int failed(Round round) {
    return round.load().refused() + round.load().unanswered();
  }

  private static long rows(Site site, int from) throws IOException, InterruptedException {
    return Long.parseLong(
        site.sql(
            """
            SELECT count() FROM otel_logs
            WHERE ServiceName = '%s' AND toUInt32OrZero(LogAttributes['n']) >= %d"""
                .formatted(site.numbers().run(), from)));
  }

  private static String flap(Round round) {
    var redis = round.site().redis();
    round.awaitMoment(MOMENT);
    int failed = failed(round);
    for (int i = 0; i < BEATS; i++) {
      if (i % 2 == 0) {
        redis.kill();
        redis.stop();
      } else {
        redis.restart();
      }
      pass(BEAT);
    }
    round.over();
    proven(failed(round) == failed, (failed(round) - failed) + " requests failed");
    return "%d times away for %d s, no request failed".formatted(BEATS / 2, BEAT.toSeconds());
  }

  /** Nobody is told that it does not answer: silent is worse than gone. */
  private static String halt(Round round) throws IOException, InterruptedException {
    var site = round.site();
    round.awaitMoment(MOMENT);
    int failed = failed(round);
    int before = round.load().acknowledged();
    long redis = site.redis().pid();
    long stoodIn = site.said(STANDS_IN);
    Site.signal("STOP", redis);
    try {
      pass(HALT);
      proven(Site.halted(redis), "process " + redis + " runs");
      // not by a meter: those of Redis wait for it
      proven(site.said(STANDS_IN) > stoodIn, "the log does not stand in");
    } finally {
      round.over();
      Site.signal("CONT", redis);
    }
    proven(failed(round) == failed, (failed(round) - failed) + " requests failed");
    proven(round.load().acknowledged() > before + MOMENT, "hardly anything was acknowledged");
    return "halted for %d s, no request failed".formatted(HALT.toSeconds());
  }

  /** The gateway ends while its log stands in, and finds Redis away, or just back, or well. */
  private static String killBoth(Round round) throws IOException, InterruptedException {
    var site = round.site();
    round.awaitMoment(MOMENT);
    site.redis().kill();
    site.redis().stop();
    awaitStandsIn(site.gateway());
    round.awaitMoment(MOMENT);
    int status = site.gateway().kill();
    proven(status == GatewayProcess.KILLED, "exit status " + status);
    boolean redisFirst = round.random().nextBoolean();
    if (redisFirst) {
      site.redis().restart();
    }
    site.gateway().start();
    if (!redisFirst) {
      pass(pause(round.random()));
      round.over();
      site.redis().restart();
    }
    round.over();
    return "ended by signal 9 while its log stood in";
  }

  private static Duration pause(Random random) {
    return Duration.ofMillis(random.nextInt(2 * START_MILLIS));
  }

  /** Each gives back what its own log has, also the one that is killed while it does. */
  private static String killOneOfTwo(Round round) throws IOException, InterruptedException {
    var site = round.site();
    round.awaitMoment(MOMENT);
    int failed = failed(round);
    site.redis().kill();
    site.redis().stop();
    site.gateways().forEach(FailoverFaults::awaitStandsIn);
    round.load().awaitAcknowledged(2 * MOMENT);
    for (var gateway : site.gateways()) {
      proven(FRAME.matcher(gateway.get("/actuator/wal")).find(), "a log with nothing in it");
    }
    proven(failed(round) == failed, (failed(round) - failed) + " requests failed");
    site.redis().restart();
    pass(pause(round.random()).dividedBy(4));
    int status = site.gateways().getLast().kill();
    proven(status == GatewayProcess.KILLED, "exit status " + status);
    round.over();
    site.gateways().getLast().start();
    return "both stood in, one ended by signal 9 afterwards";
  }

  private static void awaitStandsIn(GatewayProcess gateway) {
    await("a log that stands in for Redis")
        .atMost(Duration.ofSeconds(30))
        .ignoreExceptions()
        .until(() -> gateway.gauge("sluice_failover_active") == 1);
  }

  private static void pass(Duration time) {
    long end = System.nanoTime() + time.toNanos();
    while (System.nanoTime() < end) {
      LockSupport.parkNanos(end - System.nanoTime());
    }
  }
}
