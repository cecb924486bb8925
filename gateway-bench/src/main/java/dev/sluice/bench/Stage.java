package dev.sluice.bench;

import dev.sluice.bench.RequestBodies.BodyFormat;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The stages of the design, each with one idea more than the stage before. A stage is selected by
 * its number.
 */
enum Stage {
  SYNCHRONOUS_INSERT(
      1,
      "synchronous insert",
      "Each request is one insert, row by row in JSON, and waits for it.",
      "the logs are in the table",
      DeliveryGuarantee.AT_LEAST_ONCE),
  FIRE_AND_FORGET(
      2,
      "fire-and-forget, async_insert",
      "The response does not wait for the insert, and ClickHouse combines many inserts into few"
          + " (`async_insert=1, wait_for_async_insert=0`).",
      "nothing: the logs are in the memory of the server, then of ClickHouse; a crash of either"
          + " loses them, and a failed insert is not reported",
      DeliveryGuarantee.NONE),
  COALESCING(
      3,
      "request coalescing",
      "Requests that arrive during an insert share the next insert and wait for it.",
      "the logs are in the table",
      DeliveryGuarantee.AT_LEAST_ONCE),
  REDIS_STREAMS(
      4,
      "Redis Streams",
      "The request waits only for a Redis stream; one consumer inserts the entries of up to a"
          + " second together.",
      "the logs are in Redis; they will be stored, and stored twice when the consumer dies"
          + " between the insert and its acknowledgement",
      DeliveryGuarantee.AT_LEAST_ONCE),
  PARALLEL_DELIVERY(
      5,
      "parallel delivery",
      "Several consumers on virtual threads share the stream and insert concurrently.",
      "the same as the stage before",
      DeliveryGuarantee.AT_LEAST_ONCE),
  COLUMNAR(
      6,
      "columnar Native path",
      "The gateway: requests share compressed stream entries, and ClickHouse receives columns"
          + " (`Native`) instead of rows to parse, with a deduplication token.",
      "the logs are in Redis; they will be stored exactly once",
      DeliveryGuarantee.EXACTLY_ONCE),
  PROTOBUF(
      7,
      "Protobuf instead of JSON",
      "The same gateway receives OTLP, which it validates without a conversion.",
      "the same as the stage before",
      DeliveryGuarantee.EXACTLY_ONCE);

  /**
   * The settings of the gateway stages. The report compares the path of a log into the table; the
   * earlier stages know neither templates nor encoded resources.
   */
  private static final List<String> COMMON_SETTINGS =
      List.of("--sluice.templates.enabled=false", "--sluice.dictionary.encode-resources=false");

  /**
   * The stall timeout of a stage without a guarantee: ClickHouse writes its buffer within a second,
   * so a row that is missing after this time is lost.
   */
  private static final Duration BEST_EFFORT_TIMEOUT = Duration.ofSeconds(15);

  final String description;
  final String successMeaning;
  private final int number;
  private final String title;
  private final DeliveryGuarantee guarantee;

  Stage(
      int number,
      String title,
      String description,
      String successMeaning,
      DeliveryGuarantee guarantee) {
    this.number = number;
    this.title = title;
    this.description = description;
    this.successMeaning = successMeaning;
    this.guarantee = guarantee;
  }

  /** The guarantee for a log with a success response, whatever process is killed. */
  private enum DeliveryGuarantee {
    NONE,
    AT_LEAST_ONCE,
    EXACTLY_ONCE
  }

  static List<Stage> parse(String numbers) {
    return Arrays.stream(numbers.strip().split("[\\s,]+"))
        .map(Integer::valueOf)
        .map(
            number ->
                Arrays.stream(values())
                    .filter(each -> each.number == number)
                    .findFirst()
                    .orElseThrow(() -> new IllegalArgumentException("unknown stage: " + number)))
        .toList();
  }

  String title() {
    return number + " " + title;
  }

  /** Returns the format of the requests of this stage. */
  BodyFormat bodyFormat() {
    return this == PROTOBUF ? BodyFormat.OTLP : BodyFormat.JSON;
  }

  String path() {
    return this == PROTOBUF ? "/v1/logs" : "/api/v1/logs";
  }

  /** Returns the time without a new row after which missing rows count as lost. */
  Duration stallTimeout() {
    return guarantee == DeliveryGuarantee.NONE ? BEST_EFFORT_TIMEOUT : RowCounter.STALL_TIMEOUT;
  }

  /** Starts the server of this stage on empty engines. */
  LogServer start(BenchEngines engines, Path folder) throws IOException, InterruptedException {
    var settings = new ArrayList<>(List.of(engines.settings()));
    settings.addAll(COMMON_SETTINGS);
    var gateway = new Gateway(folder.resolve("gateway"), settings.toArray(String[]::new));
    if (guarantee == DeliveryGuarantee.EXACTLY_ONCE) {
      return gateway;
    }
    gateway.close(); // it created the table, which is the same for all stages
    return new BaselineServer(number, folder, engines.settings());
  }

  /** Whether the results satisfy the guarantee of this stage. */
  boolean keepsGuarantee(CaseResult caseResult, CrashResult crash) {
    return switch (guarantee) {
      case NONE -> true;
      case AT_LEAST_ONCE -> caseResult.lost() == 0 && crash.lost() == 0;
      case EXACTLY_ONCE -> caseResult.complete() && crash.complete();
    };
  }
}
