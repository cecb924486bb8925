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

/**
 * Faults of the store: a ClickHouse that rejects, whose responses are lost, that is slow or
 * unavailable.
 */
final class StoreFaults {
  /** The part of a ClickHouse response that shows that an insert has stored rows. */
  private static final Pattern INSERTED = Pattern.compile("\"written_rows\":\"[1-9]");

  private static final int DISK_MIB = 256;
  private static final int LOGS_AROUND_POISON = 20_000;
  private static final int MILLION = 1_000_000;
  private static final Duration OUTAGE = Duration.ofMinutes(2);
  private static final Duration THROTTLE_PERIOD = Duration.ofSeconds(60);
  private static final Duration MEASURE_PERIOD = Duration.ofSeconds(5);
  private static final int SLOWDOWN_FACTOR = 10;

  /** Requests like those of agents, about ten thousand logs per second. */
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
                .jvm("dev.sluice.api.config.GatewayApplication", "-Xmx256m")
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

  /** Adds settings to each request of the gateway, as if an operator had set them for its user. */
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

  /**
   * Waits until the gateway has reported the ClickHouse error and further logs are acknowledged.
   */
  private static void awaitError(Round round, String error) throws IOException {
    var pattern = Pattern.compile(error);
    long before = round.site().countLogMatches(pattern);
    round.site().awaitLogMatch(pattern, before);
    round.workload().awaitAcknowledged(1_000);
    verify(round.site().spoolEntries() > 0, "the spool is empty");
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
      // the disk is full
    }
    try {
      awaitError(round, "NOT_ENOUGH_SPACE|No space left on device");
    } finally {
      round.markFaultEnd();
      Files.delete(ballast);
    }
    return "no space left on device";
  }

  /** Removes a column that the gateway does not add by itself. */
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
    return "response to an insert dropped";
  }

  private static void dropResponse(Round round, boolean apart) {
    var faultInjectingProxy = round.site().clickHouseProxy();
    int before = faultInjectingProxy.droppedResponses();
    faultInjectingProxy.dropResponses(INSERTED, 1, apart);
    await("a dropped response")
        .atMost(Duration.ofSeconds(30))
        .until(() -> faultInjectingProxy.droppedResponses() > before);
  }

  /**
   * Before the gateway can retry, inserts of other clients remove its token from the deduplication
   * window of ClickHouse.
   */
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
    return "response to an insert dropped, then 5 inserts of other clients";
  }

  private static String throttleInserts(Round round) {
    var faultInjectingProxy = round.site().clickHouseProxy();
    round.workload().awaitAcknowledged(20_000);
    long usual = rate(faultInjectingProxy, MEASURE_PERIOD);
    int before = round.workload().acknowledged() + round.workload().refused();
    faultInjectingProxy.throttle(usual / SLOWDOWN_FACTOR);
    long slowed = rate(faultInjectingProxy, THROTTLE_PERIOD);
    verify(
        slowed < usual / (SLOWDOWN_FACTOR / 2),
        "%d of %d bytes per second".formatted(slowed, usual));
    verify(
        round.workload().acknowledged() + round.workload().refused() > before,
        "no client got a response");
    round.markFaultEnd();
    faultInjectingProxy.throttle(0);
    return "%d instead of %d KB/s for %d s"
        .formatted(slowed / 1000, usual / 1000, THROTTLE_PERIOD.toSeconds());
  }

  /** Returns the bytes per second to the engine. */
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

  /**
   * Sends one log, among twenty thousand, that violates a constraint which the test adds to the
   * table.
   */
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
    await("the poison record in the dead letters")
        .atMost(Duration.ofSeconds(60))
        .until(() -> site.deadLetteredNumbers().get(poison));
    verify(site.deadLetteredNumbers().cardinality() == 1, "other logs are dead letters");
    return "1 dead letter, the poison record";
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
    verify(waiting > 0, "the spool is empty");
    round.markFaultEnd();
    site.clickHouse().restart();
    return "%d logs acknowledged during an outage of %d s".formatted(more, OUTAGE.toSeconds());
  }
}
