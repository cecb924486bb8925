package dev.sluice.bench;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.templates.dictionary.ContentId;
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
 * A data set of many logs of many templates, as a store contains them after an hour, and search
 * queries about them in other words. ClickHouse generates the logs; as in real systems, a few
 * templates have most of them.
 *
 * @param templates the number of templates, at most {@link #MAX_TEMPLATES}
 * @param logs the number of logs, in the hour before the load
 */
record TemplateDataset(int templates, long logs) {
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

  /** Events: the words of the message, and the words of a user who does not know the message. */
  private static final List<List<String>> EVENTS =
      List.of(
          List.of("timed out after <*> ms", "took too long"),
          List.of("was refused by <*>", "was sent back"),
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

  private static final List<String> QUERY_FORMATS =
      List.of(
          "why did it happen that the %s %s", "%s %s", "which %s %s today", "users say the %s %s");

  /** The number of combinations of subject, event and detail. */
  static final int MAX_TEMPLATES = SUBJECTS.size() * EVENTS.size() * DETAILS.size();

  private static final long HOUR = 3_600_000_000_000L;

  /** The rows of one insert; larger inserts need more memory. */
  private static final long INSERT_ROWS = 1_000_000;

  /** The number of generated queries; duplicates are removed. */
  private static final int QUERIES = 3_000;

  private static final String PLAN_TABLE = "bench_templates";

  /** The insert of the dictionary rows, from the table that also generates the logs. */
  private static final String DICTIONARY_SQL =
      """
      INSERT INTO log_templates (Tenant, TemplateId, Text, FirstSeen, LastSeen)
      SELECT 'default', Id, Text, fromUnixTimestamp64Nano(toInt64(%d)), now64(9) FROM %s""";

  /**
   * The insert of the logs. The template with the number n occurs with a frequency proportional to
   * one over its rank.
   */
  private static final String LOGS_SQL =
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

  /** Loads the data set into the tables, which must exist. Returns the time of the last log. */
  Instant load(ClickHouseAdmin clickHouseAdmin, Path folder)
      throws IOException, InterruptedException {
    var now = Instant.now();
    long first = now.toEpochMilli() * 1_000_000 - HOUR;
    clickHouseAdmin.query(
        """
        CREATE TABLE %s (N UInt32, Id UUID, Service String, Severity UInt8, Text String)
        ENGINE = Memory"""
            .formatted(PLAN_TABLE));
    clickHouseAdmin.insert("INSERT INTO %s FORMAT TSV".formatted(PLAN_TABLE), writePlan(folder));
    clickHouseAdmin.query(DICTIONARY_SQL.formatted(first, PLAN_TABLE));
    for (long from = 0; from < logs; from += INSERT_ROWS) {
      clickHouseAdmin.query(
          LOGS_SQL.formatted(
              first, HOUR / logs, from, Math.min(INSERT_ROWS, logs - from), templates, PLAN_TABLE));
    }
    clickHouseAdmin.query("DROP TABLE " + PLAN_TABLE);
    clickHouseAdmin.awaitMerges();
    if (clickHouseAdmin.countRows(Measurement.TABLE) != logs) {
      throw new IOException(
          "the table has %,d rows instead of %,d"
              .formatted(clickHouseAdmin.countRows(Measurement.TABLE), logs));
    }
    return now;
  }

  private Path writePlan(Path folder) throws IOException {
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

  /** Returns the texts of the templates in a pseudo-random order. */
  List<String> texts() {
    if (templates > MAX_TEMPLATES) {
      throw new IllegalArgumentException(templates + " templates, at most " + MAX_TEMPLATES);
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

  /** The kinds of search queries. */
  enum QueryKind {
    /** A sentence, over all logs. */
    MEANING("by meaning"),
    /** A sentence, over the logs of one service in the last half hour. */
    SCOPED("one service, last half hour"),
    /**
     * A sentence, over the logs of all services before the last half hour. The end of the range is
     * at any second of a minute, and every template also has logs after it.
     */
    PAST("all services, before the last half hour"),
    /** A sentence with a value that one log contains. */
    VALUE("with a value"),
    /** The words of a message. */
    KEYWORD("by keywords");

    final String title;

    QueryKind(String title) {
      this.title = title;
    }
  }

  /**
   * Returns distinct request bodies.
   *
   * @param kinds the kinds of queries
   * @param round the seed: each round has another order
   * @param values the values that a log contains
   * @param end the time of the last log
   */
  static List<byte[]> queryBodies(
      List<QueryKind> kinds, int round, List<String> values, Instant end) {
    var random = new Random(round);
    var half = end.minusSeconds(1_800);
    var bodies = new LinkedHashSet<String>();
    for (int i = 0; i < QUERIES; i++) {
      var subject = pick(SUBJECTS, random);
      var event = pick(EVENTS, random);
      var words = pick(QUERY_FORMATS, random).formatted(subject, event.getLast());
      var request = JsonMapper.shared().createObjectNode();
      switch (pick(kinds, random)) {
        case MEANING -> request.put("query", words);
        case SCOPED ->
            request
                .put("query", words)
                .put("service", pick(SERVICES, random))
                .put("from", half.toString());
        case PAST ->
            request.put("query", words).put("to", half.minusSeconds(random.nextInt(60)).toString());
        case VALUE -> request.put("query", words + " " + pick(values, random));
        case KEYWORD ->
            request
                .put("query", subject + " " + event.getFirst().replace("<*>", "").strip())
                .put("mode", "keyword");
      }
      bodies.add(request.toString());
    }
    return bodies.stream().map(body -> body.getBytes(UTF_8)).toList();
  }

  /** Returns values that occur in exactly one log each. */
  List<String> values(ClickHouseAdmin clickHouseAdmin) throws IOException, InterruptedException {
    return clickHouseAdmin
        .query(
            "SELECT lower(hex(sipHash64(toUInt64(number * %d)))) FROM numbers(1000) FORMAT TSV"
                .formatted(logs / 1_000))
        .lines()
        .toList();
  }

  private static <T> T pick(List<T> values, Random random) {
    return values.get(random.nextInt(values.size()));
  }
}
