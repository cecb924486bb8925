package dev.sluice.bench;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.OtlpFields;
import dev.sluice.core.otlp.OtlpWriter;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import tools.jackson.databind.json.JsonMapper;

/**
 * A generator for the logs of a shop: twelve services on five hosts each, which write some fifty
 * different lines with new numbers. A log has two attributes, every fourth log a trace, and in OTLP
 * a log has about 185 bytes. The same seed gives the same logs. Their times are a millisecond apart
 * and end at the given time.
 */
final class SyntheticLogs {
  private static final int HOSTS = 5;
  private static final long INTERVAL_NANOS = 1_000_000;
  private static final List<Service> SERVICES =
      List.of(
          new Service(
              "gateway",
              "edge.access",
              "INFO GET /api/v2/orders/####### 200 ## ms, client 10.##.#.##, cached",
              "INFO POST /api/v2/basket/@@@@@@@@/items 201 ### ms, client 10.##.#.##",
              "WARN GET /api/v2/products?page=## 429 # ms, client 10.##.#.##, over its rate",
              "ERROR upstream catalog:8443 gave no answer within #### ms, attempt # of 3"),
          new Service(
              "checkout",
              "shop.checkout.Orders",
              "INFO order ####### placed: # items, total ##.## EUR, express delivery",
              "INFO order ####### confirmed after ### ms, warehouse wh-##",
              "WARN order ####### waits for its payment since ## s",
              "ERROR order ####### could not be placed: no stock of sku ######"),
          new Service(
              "payment",
              "shop.payment.Cards",
              "INFO payment @@@@@@@@-@@@@ of ###.## EUR authorised by acquirer acq-#",
              "INFO payment @@@@@@@@-@@@@ captured, settlement batch ######",
              "WARN card of customer ###### declined, reason code ##, retry in ## s",
              "ERROR acquirer acq-# timed out after #### ms for payment @@@@@@@@-@@@@"),
          new Service(
              "catalog",
              "shop.catalog.Search",
              "INFO search for ## terms took ## ms, #### hits of ######, page ##",
              "DEBUG cache hit for product ###### version ##, age ### s",
              "DEBUG product ###### read from index segment ##, ### bytes",
              "WARN slow search: ##### ms, #### shards asked, query @@@@@@@@@@@@"),
          new Service(
              "inventory",
              "stock.Ledger",
              "INFO reserved # of sku ###### in wh-##, left ####",
              "INFO released # of sku ###### in wh-##, reservation @@@@@@@@ expired",
              "WARN sku ###### in wh-## is below its minimum: ## of ###",
              "ERROR negative stock of sku ###### in wh-##: correction ##### needed"),
          new Service(
              "sessions",
              "auth.Sessions",
              "INFO user ###### signed in from a new device, session @@@@@@@@@@@@, # factors",
              "INFO session @@@@@@@@@@@@ of user ###### ended after #### s",
              "WARN # wrong passwords for user ###### from 10.##.#.##",
              "DEBUG token @@@@@@@@ refreshed, valid for #### s"),
          new Service(
              "postgres",
              "postgres",
              "INFO checkpoint complete: wrote ##### buffers, write=##.### s, sync=#.### s",
              "INFO automatic vacuum of table shop.orders: ### pages removed, ##### remain",
              "WARN duration: ####.### ms statement: select from order_lines where id = #######",
              "ERROR deadlock detected: process ##### waits for ShareLock on transaction ########"),
          new Service(
              "kafka",
              "kafka.log.LogCleaner",
              "INFO [partition orders-##] rolled new segment at offset ########## in # ms",
              "INFO [broker #] group billing rebalanced, generation ####, ## members",
              "WARN [broker #] follower ## is ##### records behind on payments-##",
              "DEBUG [partition orders-##] appended ### records, ##### bytes, epoch ##"),
          new Service(
              "kubelet",
              "kubelet.sync",
              "INFO pod shop/checkout-@@@@@@@@@@-@@@@@ started in #### ms on node-##",
              "INFO volume pvc-@@@@@@@@-@@@@ mounted for pod shop/postgres-#",
              "WARN liveness probe of shop/catalog-@@@@@@@@@@ failed: status 503 after ## s",
              "ERROR pod shop/search-@@@@@@@@@@-@@@@@ was killed: memory ####Mi over ####Mi"),
          new Service(
              "mailer",
              "notify.Mailer",
              "INFO mail @@@@@@@@@@@@ to customer ###### handed over in ### ms, queue ##",
              "INFO template order-confirmed rendered in # ms, ##### bytes",
              "WARN mail @@@@@@@@@@@@ deferred by mx##.example.com: greylisted for ### s",
              "DEBUG connection ## to mx##.example.com reused, ### mails sent"),
          new Service(
              "pricing",
              "shop.pricing.Rules",
              "INFO priced basket @@@@@@@@ of ## lines in # ms, rules ###, saved #.## EUR",
              "DEBUG rule #### applies to sku ######: -## percent, priority ##",
              "DEBUG exchange rate EUR/USD 1.#### from feed ##, age ### s",
              "WARN price list #### is ## h old, the import of ##:## is missing"),
          new Service(
              "delivery",
              "logistics.Routes",
              "INFO parcel ############ scanned at hub ##, due in ## h",
              "INFO route ##### planned: ## stops, ### km, vehicle v-###",
              "WARN parcel ############ delayed by ## min at hub ##",
              "ERROR carrier c-# refused parcel ############: weight ##.# kg"));

  private static final List<String> SYLLABLES =
      List.of(
          "ba", "do", "fi", "go", "ka", "ko", "la", "le", "mi", "mo", "ne", "nu", "pa", "po", "ra",
          "ri", "sa", "tu", "vo", "ze");

  private final Random random;
  private final List<Service> services;
  private long time;

  /**
   * Creates a generator.
   *
   * @param logs the number of logs that will be generated
   * @param lastNanos the time of the last log, in nanoseconds since 1970
   */
  SyntheticLogs(long seed, long logs, long lastNanos) {
    this(seed, logs, lastNanos, 0);
  }

  /**
   * Creates a generator.
   *
   * @param lines the number of different lines, which all services share evenly; 0 for the lines of
   *     the shop
   */
  SyntheticLogs(long seed, long logs, long lastNanos, int lines) {
    random = new Random(seed);
    services = lines == 0 ? SERVICES : randomServices(lines);
    time = lastNanos - logs * INTERVAL_NANOS;
  }

  private record Attribute(String key, String value) {}

  /**
   * Returns services with made-up words in their lines, so that no two lines have the same
   * template.
   */
  private static List<Service> randomServices(int lines) {
    var random = new Random(lines);
    var services = new ArrayList<Service>();
    for (int i = 0; i < SERVICES.size() && i < lines; i++) {
      var template = SERVICES.get(i);
      var own =
          Stream.generate(() -> randomLine(random))
              .limit(Math.ceilDiv(lines - i, SERVICES.size()))
              .toArray(String[]::new);
      services.add(new Service(template.name, template.logger, own));
    }
    return List.copyOf(services);
  }

  private static String randomLine(Random random) {
    return "INFO %s %s ###### of %s took ### ms, %s by %s"
        .formatted(
            randomWord(random),
            randomWord(random),
            randomWord(random),
            randomWord(random),
            randomWord(random));
  }

  private static String randomWord(Random random) {
    var word = new StringBuilder();
    for (int i = 0; i < 4; i++) {
      word.append(SYLLABLES.get(random.nextInt(SYLLABLES.size())));
    }
    return word.toString();
  }

  /**
   * A service. Each line begins with its severity; a # stands for a decimal digit, an @ for a
   * hexadecimal digit.
   */
  private record Service(String name, String logger, String... lines) {}

  /** A log, independent of its format. Trace and span are empty for none. */
  private record SyntheticLog(
      long time,
      Service service,
      int host,
      String severity,
      String body,
      List<Attribute> attributes,
      byte[] trace,
      byte[] span) {

    int severityNumber() {
      return switch (severity) {
        case "DEBUG" -> 5;
        case "WARN" -> 13;
        case "ERROR" -> 17;
        default -> 9;
      };
    }

    String hostName() {
      return service.name + "-" + host + ".eu-central-1.internal";
    }
  }

  /**
   * Returns an OTLP request of the given number of logs, each below the resource of its host and
   * service.
   */
  byte[] otlp(int logs) {
    var byResource = new ArrayList<List<SyntheticLog>>();
    for (int i = 0; i < services.size() * HOSTS; i++) {
      byResource.add(new ArrayList<>());
    }
    for (int i = 0; i < logs; i++) {
      var log = next();
      byResource.get(services.indexOf(log.service) * HOSTS + log.host).add(log);
    }
    var out = new ByteOutput(logs * 256);
    var writer = new OtlpWriter(out);
    for (var resource : byResource) {
      if (!resource.isEmpty()) {
        write(writer, resource);
      }
    }
    return out.toByteArray();
  }

  private static void write(OtlpWriter writer, List<SyntheticLog> logs) {
    int resourceLogs = writer.beginMessage(OtlpFields.EXPORT_LOGS_SERVICE_REQUEST_RESOURCE_LOGS);
    int resource = writer.beginMessage(OtlpFields.RESOURCE_LOGS_RESOURCE);
    writer.writeAttribute(
        OtlpFields.RESOURCE_ATTRIBUTES, "service.name", logs.getFirst().service.name);
    writer.writeAttribute(OtlpFields.RESOURCE_ATTRIBUTES, "host.name", logs.getFirst().hostName());
    writer.endMessage(resource);
    int scopeLogs = writer.beginMessage(OtlpFields.RESOURCE_LOGS_SCOPE_LOGS);
    for (var log : logs) {
      int record = writer.beginMessage(OtlpFields.SCOPE_LOGS_LOG_RECORDS);
      writer.writeFixed64(OtlpFields.LOG_RECORD_TIME_UNIX_NANO, log.time);
      writer.writeFixed64(OtlpFields.LOG_RECORD_OBSERVED_TIME_UNIX_NANO, log.time);
      writer.writeVarint(OtlpFields.LOG_RECORD_SEVERITY_NUMBER, log.severityNumber());
      writer.writeString(OtlpFields.LOG_RECORD_SEVERITY_TEXT, log.severity);
      int body = writer.beginMessage(OtlpFields.LOG_RECORD_BODY);
      writer.writeString(OtlpFields.ANY_VALUE_STRING_VALUE, log.body);
      writer.endMessage(body);
      for (var attribute : log.attributes) {
        writer.writeAttribute(OtlpFields.LOG_RECORD_ATTRIBUTES, attribute.key, attribute.value);
      }
      if (log.trace.length > 0) {
        writer.writeBytes(OtlpFields.LOG_RECORD_TRACE_ID, log.trace, 0, log.trace.length);
        writer.writeBytes(OtlpFields.LOG_RECORD_SPAN_ID, log.span, 0, log.span.length);
      }
      writer.endMessage(record);
    }
    writer.endMessage(scopeLogs);
    writer.endMessage(resourceLogs);
  }

  /**
   * Returns logs in the format of {@code POST /api/v1/logs}: one object, or an array of several.
   */
  byte[] json(int logs) {
    if (logs == 1) {
      return object().getBytes(UTF_8);
    }
    var array = new StringBuilder("[").append(object());
    for (int i = 1; i < logs; i++) {
      array.append(',').append(object());
    }
    return array.append(']').toString().getBytes(UTF_8);
  }

  private String object() {
    var log = next();
    var object =
        JsonMapper.shared()
            .createObjectNode()
            .put("timestamp", log.time)
            .put("severity", log.severity)
            .put("service", log.service.name)
            .put("host", log.hostName())
            .put("body", log.body);
    var attributes = object.putObject("attributes");
    log.attributes.forEach(attribute -> attributes.put(attribute.key, attribute.value));
    if (log.trace.length > 0) {
      object.put("trace_id", HexFormat.of().formatHex(log.trace));
      object.put("span_id", HexFormat.of().formatHex(log.span));
    }
    return object.toString();
  }

  private SyntheticLog next() {
    time += INTERVAL_NANOS;
    var service = services.get(random.nextInt(services.size()));
    var line = service.lines[random.nextInt(service.lines.length)];
    int space = line.indexOf(' ');
    boolean traced = random.nextInt(4) == 0;
    return new SyntheticLog(
        time,
        service,
        random.nextInt(HOSTS),
        line.substring(0, space),
        fillPlaceholders(line, space + 1),
        attributes(service),
        bytes(traced ? 16 : 0),
        bytes(traced ? 8 : 0));
  }

  private List<Attribute> attributes(Service service) {
    return List.of(
        new Attribute("log.logger", service.logger),
        new Attribute("thread.name", fillPlaceholders("request-executor-##", 0)));
  }

  private byte[] bytes(int length) {
    var bytes = new byte[length];
    random.nextBytes(bytes);
    return bytes;
  }

  private String fillPlaceholders(String line, int from) {
    var text = new StringBuilder(line.length());
    for (int i = from; i < line.length(); i++) {
      char c = line.charAt(i);
      text.append(
          switch (c) {
            case '#' -> (char) ('1' + random.nextInt(9)); // so that no number begins with 0
            case '@' -> Character.forDigit(random.nextInt(16), 16);
            default -> c;
          });
    }
    return text.toString();
  }
}
