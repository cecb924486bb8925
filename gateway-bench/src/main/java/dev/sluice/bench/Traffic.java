package dev.sluice.bench;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.OtlpWriter;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import tools.jackson.databind.json.JsonMapper;

/**
 * The logs of a shop: twelve services on five hosts each, which write some fifty different lines
 * with fresh numbers. A log has two attributes, every fourth a trace; in OTLP it has about 185
 * bytes. The same seed gives the same logs, a millisecond apart up to the moment that is given.
 */
final class Traffic {
  private static final int HOSTS = 5;
  private static final long APART = 1_000_000;
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

  private final Random random;
  private long time;

  /**
   * @param logs that will be asked for
   * @param last when the last of them is from, in nanoseconds since 1970
   */
  Traffic(long seed, long logs, long last) {
    random = new Random(seed);
    time = last - logs * APART;
  }

  /** Each line begins with its severity; a # stands for a digit, an @ for a hexadecimal one. */
  private record Service(String name, String logger, String... lines) {}

  /** What a log is, whatever it is sent as; an empty trace for none. */
  private record Log(
      long time,
      Service service,
      int host,
      String severity,
      String body,
      String thread,
      byte[] trace,
      byte[] span) {

    int number() {
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

  /** A request of so many logs, each below the host and service that wrote it. */
  byte[] otlp(int logs) {
    var byResource = new ArrayList<List<Log>>();
    for (int i = 0; i < SERVICES.size() * HOSTS; i++) {
      byResource.add(new ArrayList<>());
    }
    for (int i = 0; i < logs; i++) {
      var log = next();
      byResource.get(SERVICES.indexOf(log.service) * HOSTS + log.host).add(log);
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

  private static void write(OtlpWriter writer, List<Log> logs) {
    int resourceLogs = writer.open(1);
    int resource = writer.open(1);
    writer.attribute(1, "service.name", logs.getFirst().service.name);
    writer.attribute(1, "host.name", logs.getFirst().hostName());
    writer.close(resource);
    int scopeLogs = writer.open(2);
    for (var log : logs) {
      int record = writer.open(2);
      writer.fixed64(1, log.time);
      writer.fixed64(11, log.time);
      writer.varint(2, log.number());
      writer.string(3, log.severity);
      int body = writer.open(5);
      writer.string(1, log.body);
      writer.close(body);
      writer.attribute(6, "log.logger", log.service.logger);
      writer.attribute(6, "thread.name", log.thread);
      if (log.trace.length > 0) {
        writer.bytes(9, log.trace, 0, log.trace.length);
        writer.bytes(10, log.span, 0, log.span.length);
      }
      writer.close(record);
    }
    writer.close(scopeLogs);
    writer.close(resourceLogs);
  }

  /** A log as {@code POST /api/v1/logs} takes it: an object, or an array of so many. */
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
    object
        .putObject("attributes")
        .put("log.logger", log.service.logger)
        .put("thread.name", log.thread);
    if (log.trace.length > 0) {
      object.put("trace_id", HexFormat.of().formatHex(log.trace));
      object.put("span_id", HexFormat.of().formatHex(log.span));
    }
    return object.toString();
  }

  private Log next() {
    time += APART;
    var service = SERVICES.get(random.nextInt(SERVICES.size()));
    var line = service.lines[random.nextInt(service.lines.length)];
    int space = line.indexOf(' ');
    boolean traced = random.nextInt(4) == 0;
    return new Log(
        time,
        service,
        random.nextInt(HOSTS),
        line.substring(0, space),
        filled(line, space + 1),
        filled("request-executor-##", 0),
        bytes(traced ? 16 : 0),
        bytes(traced ? 8 : 0));
  }

  private byte[] bytes(int length) {
    var bytes = new byte[length];
    random.nextBytes(bytes);
    return bytes;
  }

  private String filled(String line, int from) {
    var text = new StringBuilder(line.length());
    for (int i = from; i < line.length(); i++) {
      char c = line.charAt(i);
      text.append(
          switch (c) {
            case '#' -> (char) ('1' + random.nextInt(9)); // no number begins with 0
            case '@' -> Character.forDigit(random.nextInt(16), 16);
            default -> c;
          });
    }
    return text.toString();
  }
}
