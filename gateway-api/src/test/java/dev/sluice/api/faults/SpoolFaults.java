package dev.sluice.api.faults;

import static dev.sluice.api.faults.Fault.Round.verify;
import static org.awaitility.Awaitility.await;

import dev.sluice.api.faults.Fault.Round;
import dev.sluice.api.faults.TestSite.SitePlan;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.regex.Pattern;

/** Faults of the spool: a Redis that is full, and a Redis whose responses are lost. */
final class SpoolFaults {
  /** Logs that do not compress, so that the memory of Redis is full within seconds. */
  private static final Workload.LoadProfile BULKY =
      new Workload.LoadProfile(4, 50, Duration.ofMillis(50), 600);

  private static final long HEADROOM_BYTES = 8 << 20;

  /** The response of Redis to an append, single or the first of several. */
  private static final Pattern APPENDED = Pattern.compile("\\$\\d+\r\n\\d{13}-\\d+\r\n");

  private static final Pattern OUT_OF_MEMORY = Pattern.compile("OOM|Redis is full");

  private SpoolFaults() {}

  static List<Fault> all() {
    return List.of(
        Fault.of(
            "redis-full", 1, SitePlan.REDIS_ONLY.rate(BULKY), round -> fillRedis(round, false)),
        Fault.of(
            "redis-full-restart",
            1,
            SitePlan.REDIS_ONLY.rate(BULKY),
            round -> fillRedis(round, true)),
        Fault.of(
            "append-cut", 5, SitePlan.REDIS_ONLY.withProxies(), SpoolFaults::dropAppendResponse));
  }

  /**
   * Redis does not get more memory afterwards: it drains with the commands that it permits when
   * full.
   */
  private static String fillRedis(Round round, boolean restart)
      throws IOException, InterruptedException {
    var site = round.site();
    round.awaitRandomProgress(1_000);
    site.clickHouse().stop();
    long limit = memory(site, "used_memory") + HEADROOM_BYTES;
    site.redis(redis -> redis.configSet("maxmemory", Long.toString(limit)));
    round.workload().awaitRejected(20);
    await("a full Redis")
        .atMost(Duration.ofSeconds(60))
        .until(() -> memory(site, "used_memory") > limit - HEADROOM_BYTES / 4);
    verify(round.workload().refused() > 0, "no request was rejected");
    site.awaitLogMatch(OUT_OF_MEMORY, 0);
    if (restart) {
      int status = site.gateway().kill();
      verify(status == GatewayUnderTest.SIGKILL_EXIT_STATUS, "exit status " + status);
      site.gateway().start();
      site.gateway().awaitLive();
      round.workload().awaitRejected(5);
    }
    long waiting = site.spoolEntries();
    verify(waiting > 0, "the spool is empty");
    round.markFaultEnd();
    site.clickHouse().restart();
    return "full with %d entries, requests rejected%s"
        .formatted(waiting, restart ? ", restarted" : "");
  }

  private static long memory(TestSite site, String what) {
    var info = site.redis(redis -> redis.info("memory"));
    return info.lines()
        .filter(line -> line.startsWith(what + ":"))
        .mapToLong(line -> Long.parseLong(line.substring(line.indexOf(':') + 1)))
        .findFirst()
        .orElseThrow();
  }

  private static String dropAppendResponse(Round round) {
    round.awaitRandomProgress(2_000);
    var faultInjectingProxy = round.site().redisProxy();
    int before = faultInjectingProxy.droppedResponses();
    faultInjectingProxy.dropResponses(APPENDED, 1, false);
    await("a dropped response")
        .atMost(Duration.ofSeconds(30))
        .until(() -> faultInjectingProxy.droppedResponses() > before);
    round.markFaultEnd();
    return "response to an append dropped";
  }
}
