package dev.sluice.bench;

import dev.sluice.bench.RequestBodies.BodyFormat;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * How the gateway came to be what it is: each stage is the one before with one idea more. They are
 * named by their numbers.
 */
enum Stage {
  SYNCHRONOUS_INSERT(
      1,
      "synchronous insert",
      "Each request is an insert of its own, row by row in JSON, and waits for its end.",
      "the logs are in the table",
      DeliveryGuarantee.AT_LEAST_ONCE),
  FIRE_AND_FORGET(
      2,
      "fire-and-forget, async_insert",
      "The answer does not wait for the insert, and ClickHouse makes few inserts of many"
          + " (`async_insert=1, wait_for_async_insert=0`).",
      "nothing: the logs are in the memory of the server, then in ClickHouse's; each loses them"
          + " when it ends, and nobody hears of an insert that fails",
      DeliveryGuarantee.NONE),
  COALESCING(
      3,
      "request coalescing",
      "Requests that come while an insert is under way share the next one, and wait for it again.",
      "the logs are in the table",
      DeliveryGuarantee.AT_LEAST_ONCE),
  REDIS_STREAMS(
      4,
      "Redis Streams",
      "A stream stands between: the request waits for Redis alone, and one consumer makes an"
          + " insert of what has come within a second.",
      "the logs are in Redis; they will be stored, twice when an insert had been made and not"
          + " been settled",
      DeliveryGuarantee.AT_LEAST_ONCE),
  PARALLEL_DELIVERY(
      5,
      "parallel delivery",
      "Consumers on virtual threads share the stream, each with an insert of its own under way.",
      "the same",
      DeliveryGuarantee.AT_LEAST_ONCE),
  COLUMNAR(
      6,
      "columnar Native path",
      "The gateway itself: requests share packed entries of the stream, and ClickHouse is sent"
          + " columns (`Native`) instead of rows to parse, under a token.",
      "the logs are in Redis; they will be stored once",
      DeliveryGuarantee.EXACTLY_ONCE),
  PROTOBUF(
      7,
      "protobuf in place of JSON",
      "The same gateway is sent OTLP, which it only has to judge, not to translate.",
      "the same",
      DeliveryGuarantee.EXACTLY_ONCE);

  /**
   * What is compared is how a log gets into the table, not what else the gateway can tell of it:
   * the stages before know no templates and no identities of resources.
   */
  private static final List<String> COMMON_SETTINGS =
      List.of("--sluice.templates.enabled=false", "--sluice.dictionary.encode-resources=false");

  /** ClickHouse writes what it has gathered within a second; what has not come by now is lost. */
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

  /** What has become of a log that was answered with success, whatever is killed. */
  private enum DeliveryGuarantee {
    NONE,
    AT_LEAST_ONCE,
    EXACTLY_ONCE
  }

  static List<Stage> parse(String numbers) {
    return Arrays.stream(numbers.strip().split("[\\s,]+"))
        .map(Integer::valueOf)
        .map(
            wanted ->
                Arrays.stream(values())
                    .filter(each -> each.number == wanted)
                    .findFirst()
                    .orElseThrow(() -> new IllegalArgumentException("no stage: " + wanted)))
        .toList();
  }

  String title() {
    return number + " " + title;
  }

  /** In what form it is sent logs, and where. */
  BodyFormat bodyFormat() {
    return this == PROTOBUF ? BodyFormat.OTLP : BodyFormat.JSON;
  }

  String path() {
    return this == PROTOBUF ? "/v1/logs" : "/api/v1/logs";
  }

  /** How long to wait for what does not come. */
  Duration stallTimeout() {
    return guarantee == DeliveryGuarantee.NONE ? BEST_EFFORT_TIMEOUT : RowCounter.STALL_TIMEOUT;
  }

  /** On engines that are empty yet. */
  LogServer start(BenchEngines engines, Path folder) throws IOException, InterruptedException {
    var settings = new ArrayList<>(List.of(engines.settings()));
    settings.addAll(COMMON_SETTINGS);
    var gateway = new Gateway(folder.resolve("gateway"), settings.toArray(String[]::new));
    if (guarantee == DeliveryGuarantee.EXACTLY_ONCE) {
      return gateway;
    }
    gateway.close(); // it has made the table, which is the same for all
    return new BaselineServer(number, folder, engines.settings());
  }

  /** Whether success meant what it is said to. */
  boolean keepsGuarantee(CaseResult caseResult, CrashResult crash) {
    return switch (guarantee) {
      case NONE -> true;
      case AT_LEAST_ONCE -> caseResult.lost() == 0 && crash.lost() == 0;
      case EXACTLY_ONCE -> caseResult.complete() && crash.complete();
    };
  }
}
