package dev.sluice.bench;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.dictionary.ContentId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import tools.jackson.databind.json.JsonMapper;

/**
 * Many logs of many templates, as they lie in the store after an hour, and questions about them in
 * other words. ClickHouse makes the logs up itself: a few templates have most of them, as in any
 * system.
 *
 * @param templates at most {@link #MOST}
 * @param logs of the hour before now
 */
record ManyTemplates(int templates, long logs) {
  private static final List<String> SUBJECTS =
      List.of(
          "connection to the database",
          "read replica",
          "payment",
          "order",
          "session",
          "cache entry",
          "disk volume",
          "certificate",
          "worker thread",
          "message",
          "queue consumer",
          "index shard",
          "file upload",
          "webhook",
          "DNS lookup",
          "TLS handshake",
          "HTTP request",
          "row lock",
          "snapshot",
          "nightly backup",
          "leader election",
          "heartbeat",
          "configuration file",
          "user login",
          "password reset",
          "access token",
          "rate limiter",
          "background job",
          "cron task",
          "container",
          "pod",
          "cluster node",
          "volume mount",
          "image pull",
          "load balancer",
          "health check",
          "file descriptor",
          "heap space",
          "garbage collection",
          "schema migration",
          "transaction",
          "table partition",
          "offset commit",
          "email",
          "invoice",
          "shipment",
          "coupon",
          "search query",
          "thumbnail",
          "audit record");

  /** What happened, and how somebody asks who does not know the message. */
  private static final List<List<String>> EVENTS =
      List.of(
          List.of("timed out after <*> ms", "took too long"),
          List.of("was refused by <*>", "was turned away"),
          List.of("failed with code <*>", "did not work"),
          List.of("started on <*>", "came up"),
          List.of("stopped after <*> s", "went down"),
          List.of("completed in <*> ms", "is done"),
          List.of("was retried <*> times", "had to be tried again"),
          List.of("was cancelled by <*>", "was called off"),
          List.of("expired at <*>", "ran out"),
          List.of("was created with id <*>", "came into being"),
          List.of("was deleted from <*>", "was removed"),
          List.of("was moved to <*>", "went elsewhere"),
          List.of("exceeded limit <*>", "was over its quota"),
          List.of("is missing on <*>", "cannot be found"),
          List.of("was rejected as invalid: <*>", "was malformed"),
          List.of("was restored from <*>", "came back from a copy"),
          List.of("is waiting for <*>", "hangs"),
          List.of("was throttled for <*> ms", "was slowed down"),
          List.of("was lost on <*>", "disappeared"),
          List.of("was reopened by <*>", "was opened once more"));

  private static final List<String> DETAILS =
      List.of(
          "", " during rollout", " in the primary region", " on the standby", " after failover");

  private static final List<String> SERVICES =
      List.of("gateway", "checkout", "payment", "catalog", "sessions", "mailer");

  private static final List<String> FORMS =
      List.of(
          "why did it happen that the %s %s", "%s %s", "which %s %s today", "users say the %s %s");

  /** As many as can be put together. */
  static final int MOST = SUBJECTS.size() * EVENTS.size() * DETAILS.size();

  private static final long HOUR = 3_600_000_000_000L;

  /** Of an insert: larger ones want memory. */
  private static final long BLOCK = 1_000_000;

  /** In turn; those that come twice are asked once. */
  private static final int QUESTIONS = 3_000;

  private static final String PLAN = "bench_templates";

  /** Rows of the dictionary, and what the logs are made by. */
  private static final String DICTIONARY =
      """
      INSERT INTO log_templates (Tenant, TemplateId, Text, FirstSeen, LastSeen)
      SELECT 'default', Id, Text, fromUnixTimestamp64Nano(toInt64(%d)), now64(9) FROM %s""";

  /** Of numbers from 0 to n, which come as often as one over their place. */
  private static final String LOGS =
      """
      INSERT INTO otel_logs (Timestamp, SeverityNumber, SeverityText, ServiceName, Body,
        ResourceAttributes, LogAttributes, Id, Tenant, TemplateId, ObservedTimestamp,
        ReceivedTimestamp)
      SELECT
        time, Severity, Severity = 17 ? 'ERROR' : 'INFO', Service,
        replaceOne(Text, '<*>', lower(hex(sipHash64(number)))),
        map('service.name', Service), map('log.logger', 'shop.' || Service),
        toFixedString(unhex(leftPad(hex(intDiv(nanos, 1000000) * 65536), 16, '0')
          || leftPad(hex(number), 16, '0')), 16),
        'default', Id, time, time
      FROM (
        SELECT number, toInt64(%1$d + number * %2$d) AS nanos,
          fromUnixTimestamp64Nano(nanos) AS time,
          toUInt32(least(exp(randUniform(0, log(%5$d + 1))) - 1, %5$d - 1)) AS n
        FROM numbers(%3$d, %4$d)) AS numbers
      INNER JOIN %6$s AS plan ON plan.N = numbers.n
      SETTINGS max_insert_threads = 1, min_insert_block_size_rows = %4$d,
        min_insert_block_size_bytes = 2000000000""";

  /** Returns when the last of them came. The tables are there already. */
  Instant make(Database database, Path folder) throws IOException, InterruptedException {
    var now = Instant.now();
    long first = now.toEpochMilli() * 1_000_000 - HOUR;
    database.ask(
        """
        CREATE TABLE %s (N UInt32, Id UUID, Service String, Severity UInt8, Text String)
        ENGINE = Memory"""
            .formatted(PLAN));
    database.insert("INSERT INTO %s FORMAT TSV".formatted(PLAN), plan(folder));
    database.ask(DICTIONARY.formatted(first, PLAN));
    for (long from = 0; from < logs; from += BLOCK) {
      database.ask(
          LOGS.formatted(first, HOUR / logs, from, Math.min(BLOCK, logs - from), templates, PLAN));
    }
    database.ask("DROP TABLE " + PLAN);
    database.awaitMerged();
    if (database.rows(Measurement.TABLE) != logs) {
      throw new IOException("%,d rows are there".formatted(database.rows(Measurement.TABLE)));
    }
    return now;
  }

  private Path plan(Path folder) throws IOException {
    var rows = new StringBuilder();
    var texts = texts();
    for (int i = 0; i < texts.size(); i++) {
      UUID id = ContentId.of(texts.get(i));
      var service = SERVICES.get(i % SERVICES.size());
      int severity = i % 3 == 0 ? 17 : 9;
      rows.append("%d\t%s\t%s\t%d\t%s%n".formatted(i, id, service, severity, texts.get(i)));
    }
    return Files.writeString(folder.resolve("plan"), rows);
  }

  /** In an order of no meaning. */
  List<String> texts() {
    if (templates > MOST) {
      throw new IllegalArgumentException(templates + " templates, at most " + MOST);
    }
    var texts = new ArrayList<String>();
    for (var subject : SUBJECTS) {
      for (var event : EVENTS) {
        for (var detail : DETAILS) {
          texts.add(subject + " " + event.getFirst() + detail);
        }
      }
    }
    Collections.shuffle(texts, new Random(7));
    return texts.subList(0, templates);
  }

  /** How somebody asks. */
  enum Asking {
    /** A sentence about all logs. */
    MEANING("by meaning"),
    /** The same of one service and the last half hour. */
    SCOPED("of a service, in half an hour"),
    /**
     * The same of all services and the time before, which ends in any second of a minute; every
     * template has come since.
     */
    PAST("of all but the last half an hour"),
    /** With a value that one log has. */
    VALUE("with a value"),
    /** By the words of messages. */
    KEYWORD("by keywords");

    final String title;

    Asking(String title) {
      this.title = title;
    }
  }

  /**
   * Bodies of requests, no two of them the same.
   *
   * @param turn in each, questions are in another order
   * @param values that a log has
   * @param end of the logs
   */
  static List<byte[]> questions(List<Asking> askings, int turn, List<String> values, Instant end) {
    var random = new Random(turn);
    var half = end.minusSeconds(1_800);
    var bodies = new LinkedHashSet<String>();
    for (int i = 0; i < QUESTIONS; i++) {
      var subject = any(SUBJECTS, random);
      var event = any(EVENTS, random);
      var words = any(FORMS, random).formatted(subject, event.getLast());
      var asked = JsonMapper.shared().createObjectNode();
      switch (any(askings, random)) {
        case MEANING -> asked.put("query", words);
        case SCOPED ->
            asked
                .put("query", words)
                .put("service", any(SERVICES, random))
                .put("from", half.toString());
        case PAST ->
            asked.put("query", words).put("to", half.minusSeconds(random.nextInt(60)).toString());
        case VALUE -> asked.put("query", words + " " + any(values, random));
        case KEYWORD ->
            asked
                .put("query", subject + " " + event.getFirst().replace("<*>", "").strip())
                .put("mode", "keyword");
      }
      bodies.add(asked.toString());
    }
    return bodies.stream().map(body -> body.getBytes(UTF_8)).toList();
  }

  /** Values that are in one log each. */
  List<String> values(Database database) throws IOException, InterruptedException {
    return database
        .ask(
            "SELECT lower(hex(sipHash64(toUInt64(number * %d)))) FROM numbers(1000) FORMAT TSV"
                .formatted(logs / 1_000))
        .lines()
        .toList();
  }

  private static <T> T any(List<T> of, Random random) {
    return of.get(random.nextInt(of.size()));
  }
}
