package dev.sluice.api.faults;

import static dev.sluice.api.faults.Fault.Round.verify;
import static org.awaitility.Awaitility.await;

import dev.sluice.api.faults.Fault.Round;
import dev.sluice.api.faults.TestSite.SitePlan;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Pattern;

/** A ClickHouse that refuses, that answers and is not heard, that is slow or not there. */
final class StoreFaults {
  /** How ClickHouse tells that an insert has stored something. */
  private static final Pattern INSERTED = Pattern.compile("\"written_rows\":\"[1-9]");

  private static final int DISK_MIB = 256;
  private static final int LOGS_AROUND_POISON = 20_000;
  private static final int MILLION = 1_000_000;
  private static final Duration OUTAGE = Duration.ofMinutes(2);
  private static final Duration THROTTLE_PERIOD = Duration.ofSeconds(60);
  private static final Duration MEASURE_PERIOD = Duration.ofSeconds(5);
  private static final int SLOWDOWN_FACTOR = 10;

  /** Requests as agents send them, at about ten thousand logs a second. */
  private static final Workload.LoadProfile HIGH_RATE =
      new Workload.LoadProfile(4, 500, Duration.ofMillis(190), 60);

  private StoreFaults() {}

  static List<Fault> all() {
    return List.of(
        Fault.of(
            "clickhouse-readonly",
            1,
            SitePlan.REDIS_ONLY.withProxies(),
            round -> overrideSettings(round, "readonly=1", "164 READONLY")),
        Fault.of("clickhouse-parts", 1, SitePlan.REDIS_ONLY, StoreFaults::tooManyParts),
        Fault.of(
            "clickhouse-memory",
            1,
            SitePlan.REDIS_ONLY.withProxies(),
            round ->
                overrideSettings(
                    round,
                    "max_memory_usage=100000&max_untracked_memory=1000",
                    "241 MEMORY_LIMIT_EXCEEDED")),
        Fault.of(
            "clickhouse-disk-full",
            1,
            SitePlan.REDIS_ONLY.withClickHouseDisk(DISK_MIB),
            StoreFaults::fillDisk),
        Fault.of("column-removed", 1, SitePlan.REDIS_ONLY, StoreFaults::dropColumn),
        Fault.of(
            "insert-cut", 5, SitePlan.REDIS_ONLY.withProxies(), StoreFaults::dropInsertResponse),
        Fault.of(
            "window-overrun",
            3,
            SitePlan.REDIS_ONLY.withProxies(),
            StoreFaults::overrunDeduplicationWindow),
        new Fault(
            "clickhouse-slow",
            1,
            SitePlan.REDIS_ONLY
                .withProxies()
                .jvm("dev.sluice.api.boot.GatewayApplication", "-Xmx256m")
                .rate(HIGH_RATE),
            Duration.ofMinutes(2),
            StoreFaults::throttleInserts),
        Fault.of("poison", 1, SitePlan.REDIS_ONLY.rate(HIGH_RATE), StoreFaults::poison),
        new Fault(
            "million-away",
            1,
            SitePlan.REDIS_ONLY.rate(HIGH_RATE),
            Duration.ofMinutes(2),
            StoreFaults::millionDuringOutage));
  }

  /** Settings that an operator may have given to the user, here with each request. */
  private static String overrideSettings(Round round, String parameters, String error)
      throws IOException {
    round.awaitRandomProgress(2_000);
    round.site().awaitStored();
    round.site().clickHouseProxy().setExtraParameters(parameters);
    awaitError(round, error);
    round.markFaultEnd();
    round.site().clickHouseProxy().setExtraParameters("");
    return "error " + error;
  }

  /** Returns when the gateway has met ClickHouse's error and logs were acknowledged after it. */
  private static void awaitError(Round round, String error) throws IOException {
    var pattern = Pattern.compile(error);
    long before = round.site().countLogMatches(pattern);
    round.site().awaitLogMatch(pattern, before);
    round.workload().awaitAcknowledged(1_000);
    verify(round.site().spoolEntries() > 0, "nothing waits in the spool");
  }

  private static String tooManyParts(Round round) throws IOException, InterruptedException {
    var site = round.site();
    round.awaitRandomProgress(2_000);
    site.awaitStored();
    site.sql("SYSTEM STOP MERGES otel_logs");
    site.sql(
        "ALTER TABLE otel_logs MODIFY SETTING parts_to_delay_insert=1, parts_to_throw_insert=1");
    awaitError(round, "252 TOO_MANY_PARTS");
    round.markFaultEnd();
    site.sql("ALTER TABLE otel_logs RESET SETTING parts_to_delay_insert, parts_to_throw_insert");
    site.sql("SYSTEM START MERGES otel_logs");
    return "error 252 TOO_MANY_PARTS";
  }

  private static String fillDisk(Round round) throws IOException, InterruptedException {
    var site = round.site();
    round.awaitRandomProgress(2_000);
    site.awaitStored();
    var ballast = site.clickHouseData().resolve("ballast");
    var block = new byte[1 << 20];
    try (var out = Files.newOutputStream(ballast)) {
      while (true) {
        out.write(block);
      }
    } catch (IOException _) {
      // full
    }
    try {
      awaitError(round, "NOT_ENOUGH_SPACE|No space left on device");
    } finally {
      round.markFaultEnd();
      Files.delete(ballast);
    }
    return "no space left on device";
  }

  /** One that the gateway does not bring back by itself. */
  private static String dropColumn(Round round) throws IOException, InterruptedException {
    round.awaitRandomProgress(2_000);
    round.site().awaitStored();
    round.site().sql("ALTER TABLE otel_logs DROP COLUMN SpanId");
    awaitError(round, "error 16|NO_SUCH_COLUMN_IN_TABLE");
    round.markFaultEnd();
    round.site().sql("ALTER TABLE otel_logs ADD COLUMN SpanId String AFTER TraceId");
    return "error 16 NO_SUCH_COLUMN_IN_TABLE";
  }

  private static String dropInsertResponse(Round round) {
    round.awaitRandomProgress(2_000);
    dropResponse(round, false);
    round.markFaultEnd();
    return "answer of an insert cut off";
  }

  private static void dropResponse(Round round, boolean apart) {
    var faultInjectingProxy = round.site().clickHouseProxy();
    int before = faultInjectingProxy.droppedResponses();
    faultInjectingProxy.dropResponses(INSERTED, 1, apart);
    await("an answer to cut")
        .atMost(Duration.ofSeconds(30))
        .until(() -> faultInjectingProxy.droppedResponses() > before);
  }

  /** Before the gateway can try again, others have pushed its token out of ClickHouse's memory. */
  private static String overrunDeduplicationWindow(Round round)
      throws IOException, InterruptedException {
    var site = round.site();
    round.awaitRandomProgress(1_000);
    site.awaitStored();
    site.sql("ALTER TABLE otel_logs MODIFY SETTING non_replicated_deduplication_window = 2");
    dropResponse(round, true);
    for (int i = 0; i < 5; i++) {
      site.sql(
          "INSERT INTO otel_logs (Timestamp, ServiceName, Body)"
              + " SETTINGS insert_deduplication_token = 'other-%d'"
                  .formatted(round.random().nextInt())
              + " VALUES (now64(9), 'others', 'x')");
    }
    round.markFaultEnd();
    site.clickHouseProxy().heal();
    return "answer of an insert cut off, 5 inserts of others after it";
  }

  private static String throttleInserts(Round round) {
    var faultInjectingProxy = round.site().clickHouseProxy();
    round.workload().awaitAcknowledged(20_000);
    long usual = rate(faultInjectingProxy, MEASURE_PERIOD);
    int before = round.workload().acknowledged() + round.workload().refused();
    faultInjectingProxy.throttle(usual / SLOWDOWN_FACTOR);
    long slowed = rate(faultInjectingProxy, THROTTLE_PERIOD);
    verify(
        slowed < usual / (SLOWDOWN_FACTOR / 2), "%d of %d bytes a second".formatted(slowed, usual));
    verify(
        round.workload().acknowledged() + round.workload().refused() > before,
        "no client was answered");
    round.markFaultEnd();
    faultInjectingProxy.throttle(0);
    return "%d instead of %d KB/s for %d s"
        .formatted(slowed / 1000, usual / 1000, THROTTLE_PERIOD.toSeconds());
  }

  /** Bytes a second. */
  private static long rate(FaultInjectingProxy faultInjectingProxy, Duration over) {
    long before = faultInjectingProxy.bytesSent();
    sleepUntil(System.nanoTime() + over.toNanos());
    return (faultInjectingProxy.bytesSent() - before) / over.toSeconds();
  }

  private static void sleepUntil(long until) {
    while (System.nanoTime() < until) {
      LockSupport.parkNanos(until - System.nanoTime());
    }
  }

  /** One log in twenty thousand that break a rule which somebody has given to the table. */
  private static String poison(Round round) throws IOException, InterruptedException {
    var site = round.site();
    round.workload().awaitAcknowledged(1_000);
    site.awaitStored();
    site.sql(
        "ALTER TABLE otel_logs ADD CONSTRAINT no_poison CHECK NOT endsWith(Body, '%s')"
            .formatted(Workload.POISON));
    site.clickHouse().stop();
    int poison = round.workload().poison();
    round.workload().awaitAcknowledged(LOGS_AROUND_POISON);
    round.markFaultEnd();
    site.clickHouse().restart();
    await("the poison among the dead letters")
        .atMost(Duration.ofSeconds(60))
        .until(() -> site.deadLetteredNumbers().get(poison));
    verify(site.deadLetteredNumbers().cardinality() == 1, "other logs are dead letters");
    return "1 dead letter, the very one";
  }

  private static String millionDuringOutage(Round round) {
    var site = round.site();
    round.workload().awaitAcknowledged(1_000);
    long end = System.nanoTime() + OUTAGE.toNanos();
    site.clickHouse().stop();
    int before = round.workload().acknowledged();
    await("a million logs")
        .atMost(OUTAGE.plusMinutes(2))
        .until(() -> round.workload().acknowledged() - before >= MILLION);
    sleepUntil(end);
    long waiting = site.spoolEntries();
    int more = round.workload().acknowledged() - before;
    verify(waiting > 0, "nothing waits in the spool");
    round.markFaultEnd();
    site.clickHouse().restart();
    return "%d logs acknowledged while it was away for %d s".formatted(more, OUTAGE.toSeconds());
  }
}
