package dev.sluice.api.faults;

import static dev.sluice.api.faults.Fault.Round.proven;
import static org.awaitility.Awaitility.await;

import dev.sluice.api.faults.Fault.Round;
import dev.sluice.api.faults.Site.Plan;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.regex.Pattern;

/** A Redis that takes no more, or whose answers do not arrive. */
final class SpoolFaults {
  /** Logs that do not compress, so that memory fills within seconds. */
  private static final Load.Rate BULKY = new Load.Rate(4, 50, Duration.ofMillis(50), 600);

  private static final long ROOM = 8 << 20;

  /** What Redis says of an entry that it has appended, by itself or as the first of several. */
  private static final Pattern APPENDED = Pattern.compile("\\$\\d+\r\n\\d{13}-\\d+\r\n");

  private static final Pattern OUT_OF_MEMORY = Pattern.compile("OOM|Redis is full");

  private SpoolFaults() {}

  static List<Fault> all() {
    return List.of(
        Fault.of("redis-full", 1, Plan.USUAL.rate(BULKY), round -> fill(round, false)),
        Fault.of("redis-full-restart", 1, Plan.USUAL.rate(BULKY), round -> fill(round, true)),
        Fault.of("append-cut", 5, Plan.USUAL.withWires(), SpoolFaults::cutAppend));
  }

  /** Nobody gives Redis more memory afterwards: it drains through what it allows when full. */
  private static String fill(Round round, boolean restart)
      throws IOException, InterruptedException {
    var site = round.site();
    round.awaitMoment(1_000);
    site.clickHouse().stop();
    long limit = memory(site, "used_memory") + ROOM;
    site.redis(redis -> redis.configSet("maxmemory", Long.toString(limit)));
    round.load().awaitTurnedAway(20);
    await("a Redis that is full")
        .atMost(Duration.ofSeconds(60))
        .until(() -> memory(site, "used_memory") > limit - ROOM / 4);
    proven(round.load().refused() > 0, "no request was refused");
    site.awaitSaid(OUT_OF_MEMORY, 0);
    if (restart) {
      int status = site.gateway().kill();
      proven(status == GatewayProcess.KILLED, "exit status " + status);
      site.gateway().start();
      site.gateway().awaitAlive();
      round.load().awaitTurnedAway(5);
    }
    long waiting = site.spooled();
    proven(waiting > 0, "nothing waits in the spool");
    round.over();
    site.clickHouse().restart();
    return "full with %d entries, refused%s".formatted(waiting, restart ? ", restarted" : "");
  }

  private static long memory(Site site, String what) {
    var info = site.redis(redis -> redis.info("memory"));
    return info.lines()
        .filter(line -> line.startsWith(what + ":"))
        .mapToLong(line -> Long.parseLong(line.substring(line.indexOf(':') + 1)))
        .findFirst()
        .orElseThrow();
  }

  private static String cutAppend(Round round) {
    round.awaitMoment(2_000);
    var wire = round.site().toRedis();
    int before = wire.cut();
    wire.cutAnswers(APPENDED, 1, false);
    await("an answer to cut").atMost(Duration.ofSeconds(30)).until(() -> wire.cut() > before);
    round.over();
    return "answer of an append cut off";
  }
}
