package dev.sluice.api.faults;

import static dev.sluice.api.faults.Fault.Round.proven;
import static org.awaitility.Awaitility.await;

import dev.sluice.api.faults.Fault.Round;
import dev.sluice.api.faults.Site.Plan;
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
  private static final int POISONED = 20_000;
  private static final int MILLION = 1_000_000;
  private static final Duration AWAY = Duration.ofMinutes(2);
  private static final Duration SLOW = Duration.ofSeconds(60);
  private static final Duration MEASURED = Duration.ofSeconds(5);
  private static final int TENTH = 10;

  /** Requests as agents send them, at about ten thousand logs a second. */
  private static final Load.Rate BRISK = new Load.Rate(4, 500, Duration.ofMillis(190), 60);

  private StoreFaults() {}

  static List<Fault> all() {
    return List.of(
        Fault.of(
            "clickhouse-readonly",
            1,
            Plan.USUAL.withWires(),
            round -> parameters(round, "readonly=1", "164 READONLY")),
        Fault.of("clickhouse-parts", 1, Plan.USUAL, StoreFaults::parts),
        Fault.of(
            "clickhouse-memory",
            1,
            Plan.USUAL.withWires(),
            round ->
                parameters(
                    round,
                    "max_memory_usage=100000&max_untracked_memory=1000",
                    "241 MEMORY_LIMIT_EXCEEDED")),
        Fault.of("clickhouse-disk-full", 1, Plan.USUAL.smallDisk(DISK_MIB), StoreFaults::disk),
        Fault.of("column-removed", 1, Plan.USUAL, StoreFaults::column),
        Fault.of("insert-cut", 5, Plan.USUAL.withWires(), StoreFaults::cutInsert),
        Fault.of("window-overrun", 3, Plan.USUAL.withWires(), StoreFaults::overrun),
        new Fault(
            "clickhouse-slow",
            1,
            Plan.USUAL
                .withWires()
                .jvm("dev.sluice.api.boot.GatewayApplication", "-Xmx256m")
                .rate(BRISK),
            Duration.ofMinutes(2),
            StoreFaults::slow),
        Fault.of("poison", 1, Plan.USUAL.rate(BRISK), StoreFaults::poison),
        new Fault(
            "million-away", 1, Plan.USUAL.rate(BRISK), Duration.ofMinutes(2), StoreFaults::away));
  }

  /** Settings that an operator may have given to the user, here with each request. */
  private static String parameters(Round round, String parameters, String error)
      throws IOException {
    round.awaitMoment(2_000);
    round.site().awaitStored();
    round.site().toClickHouse().parameters(parameters);
    seen(round, error);
    round.over();
    round.site().toClickHouse().parameters("");
    return "error " + error;
  }

  /** Returns when the gateway has met ClickHouse's error and logs were acknowledged after it. */
  private static void seen(Round round, String error) throws IOException {
    var pattern = Pattern.compile(error);
    long before = round.site().said(pattern);
    round.site().awaitSaid(pattern, before);
    round.load().awaitAcknowledged(1_000);
    proven(round.site().spooled() > 0, "nothing waits in the spool");
  }

  private static String parts(Round round) throws IOException, InterruptedException {
    var site = round.site();
    round.awaitMoment(2_000);
    site.awaitStored();
    site.sql("SYSTEM STOP MERGES otel_logs");
    site.sql(
        "ALTER TABLE otel_logs MODIFY SETTING parts_to_delay_insert=1, parts_to_throw_insert=1");
    seen(round, "252 TOO_MANY_PARTS");
    round.over();
    site.sql("ALTER TABLE otel_logs RESET SETTING parts_to_delay_insert, parts_to_throw_insert");
    site.sql("SYSTEM START MERGES otel_logs");
    return "error 252 TOO_MANY_PARTS";
  }

  private static String disk(Round round) throws IOException, InterruptedException {
    var site = round.site();
    round.awaitMoment(2_000);
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
      seen(round, "NOT_ENOUGH_SPACE|No space left on device");
    } finally {
      round.over();
      Files.delete(ballast);
    }
    return "no space left on device";
  }

  /** One that the gateway does not bring back by itself. */
  private static String column(Round round) throws IOException, InterruptedException {
    round.awaitMoment(2_000);
    round.site().awaitStored();
    round.site().sql("ALTER TABLE otel_logs DROP COLUMN SpanId");
    seen(round, "error 16|NO_SUCH_COLUMN_IN_TABLE");
    round.over();
    round.site().sql("ALTER TABLE otel_logs ADD COLUMN SpanId String AFTER TraceId");
    return "error 16 NO_SUCH_COLUMN_IN_TABLE";
  }

  private static String cutInsert(Round round) {
    round.awaitMoment(2_000);
    cut(round, false);
    round.over();
    return "answer of an insert cut off";
  }

  private static void cut(Round round, boolean apart) {
    var wire = round.site().toClickHouse();
    int before = wire.cut();
    wire.cutAnswers(INSERTED, 1, apart);
    await("an answer to cut").atMost(Duration.ofSeconds(30)).until(() -> wire.cut() > before);
  }

  /** Before the gateway can try again, others have pushed its token out of ClickHouse's memory. */
  private static String overrun(Round round) throws IOException, InterruptedException {
    var site = round.site();
    round.awaitMoment(1_000);
    site.awaitStored();
    site.sql("ALTER TABLE otel_logs MODIFY SETTING non_replicated_deduplication_window = 2");
    cut(round, true);
    for (int i = 0; i < 5; i++) {
      site.sql(
          "INSERT INTO otel_logs (Timestamp, ServiceName, Body)"
              + " SETTINGS insert_deduplication_token = 'other-%d'"
                  .formatted(round.random().nextInt())
              + " VALUES (now64(9), 'others', 'x')");
    }
    round.over();
    site.toClickHouse().join();
    return "answer of an insert cut off, 5 inserts of others after it";
  }

  private static String slow(Round round) {
    var wire = round.site().toClickHouse();
    round.load().awaitAcknowledged(20_000);
    long usual = rate(wire, MEASURED);
    int before = round.load().acknowledged() + round.load().refused();
    wire.slow(usual / TENTH);
    long slowed = rate(wire, SLOW);
    proven(slowed < usual / (TENTH / 2), "%d of %d bytes a second".formatted(slowed, usual));
    proven(round.load().acknowledged() + round.load().refused() > before, "no client was answered");
    round.over();
    wire.slow(0);
    return "%d instead of %d KB/s for %d s"
        .formatted(slowed / 1000, usual / 1000, SLOW.toSeconds());
  }

  /** Bytes a second. */
  private static long rate(Wire wire, Duration over) {
    long before = wire.sent();
    pass(System.nanoTime() + over.toNanos());
    return (wire.sent() - before) / over.toSeconds();
  }

  private static void pass(long until) {
    while (System.nanoTime() < until) {
      LockSupport.parkNanos(until - System.nanoTime());
    }
  }

  /** One log in twenty thousand that break a rule which somebody has given to the table. */
  private static String poison(Round round) throws IOException, InterruptedException {
    var site = round.site();
    round.load().awaitAcknowledged(1_000);
    site.awaitStored();
    site.sql(
        "ALTER TABLE otel_logs ADD CONSTRAINT no_poison CHECK NOT endsWith(Body, '%s')"
            .formatted(Load.POISON));
    site.clickHouse().stop();
    int poison = round.load().poison();
    round.load().awaitAcknowledged(POISONED);
    round.over();
    site.clickHouse().restart();
    await("the poison among the dead letters")
        .atMost(Duration.ofSeconds(60))
        .until(() -> site.deadLettered().get(poison));
    proven(site.deadLettered().cardinality() == 1, "other logs are dead letters");
    return "1 dead letter, the very one";
  }

  private static String away(Round round) {
    var site = round.site();
    round.load().awaitAcknowledged(1_000);
    long end = System.nanoTime() + AWAY.toNanos();
    site.clickHouse().stop();
    int before = round.load().acknowledged();
    await("a million logs")
        .atMost(AWAY.plusMinutes(2))
        .until(() -> round.load().acknowledged() - before >= MILLION);
    pass(end);
    long waiting = site.spooled();
    int more = round.load().acknowledged() - before;
    proven(waiting > 0, "nothing waits in the spool");
    round.over();
    site.clickHouse().restart();
    return "%d logs acknowledged while it was away for %d s".formatted(more, AWAY.toSeconds());
  }
}
