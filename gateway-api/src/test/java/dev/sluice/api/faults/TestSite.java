package dev.sluice.api.faults;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.awaitility.Awaitility.await;

import dev.sluice.engines.EmbeddedClickHouse;
import dev.sluice.engines.EmbeddedRedis;
import dev.sluice.testkit.SharedEngines;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.sync.RedisCommands;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Deque;
import java.util.List;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.awaitility.core.ConditionTimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * A site with its own Redis and ClickHouse and one or two gateways, each in its own process; {@link
 * #close} ends all processes.
 */
final class TestSite implements AutoCloseable {
  private static final Duration REVIVE_TIMEOUT = Duration.ofSeconds(30);
  private static final Duration FIRST_STORE_TIMEOUT = Duration.ofSeconds(60);

  /**
   * The configuration of a site.
   *
   * @param spool the value of {@code sluice.spool} of the gateways
   * @param gateways the number of gateways that share the engines
   * @param main the main class of the gateways
   * @param options the JVM options of the gateways
   * @param settings the settings of the gateways
   * @param proxied whether there is a {@link FaultInjectingProxy} to each engine
   * @param clickHouseMiB the size in MiB of a file system for the data of ClickHouse; 0 for no own
   *     file system
   * @param walMiB the size in MiB of a file system for the write-ahead logs; 0 for no own file
   *     system
   * @param loadProfile the profile of the load
   */
  record SitePlan(
      String spool,
      int gateways,
      String main,
      List<String> options,
      List<String> settings,
      boolean proxied,
      int clickHouseMiB,
      int walMiB,
      Workload.LoadProfile loadProfile) {

    /** Only Redis as the spool. */
    static final SitePlan REDIS_ONLY =
        new SitePlan(
            "redis",
            1,
            "dev.sluice.api.config.GatewayApplication",
            List.of("-Xmx512m"),
            List.of("--sluice.delivery.linger=300ms", "--sluice.delivery.retry.max-delay=1s"),
            false,
            0,
            0,
            Workload.LoadProfile.DEFAULT);

    /** Only the write-ahead log as the spool. */
    static final SitePlan WAL_ONLY = REDIS_ONLY.spool("wal");

    /** The default configuration. */
    static final SitePlan REDIS_THEN_WAL = REDIS_ONLY.spool("redis-then-wal");

    private SitePlan spool(String spool) {
      return new SitePlan(
          spool, gateways, main, options, settings, proxied, clickHouseMiB, walMiB, loadProfile);
    }

    SitePlan gateways(int gateways, String... settings) {
      return new SitePlan(
          spool,
          gateways,
          main,
          options,
          settingsWith(settings),
          proxied,
          clickHouseMiB,
          walMiB,
          loadProfile);
    }

    private List<String> settingsWith(String... more) {
      var all = new ArrayList<>(settings);
      all.addAll(List.of(more));
      return all;
    }

    SitePlan jvm(String main, String... options) {
      return new SitePlan(
          spool,
          gateways,
          main,
          List.of(options),
          settings,
          proxied,
          clickHouseMiB,
          walMiB,
          loadProfile);
    }

    SitePlan withProxies() {
      return new SitePlan(
          spool, gateways, main, options, settings, true, clickHouseMiB, walMiB, loadProfile);
    }

    SitePlan withClickHouseDisk(int mebibytes) {
      return new SitePlan(
          spool, gateways, main, options, settings, proxied, mebibytes, walMiB, loadProfile);
    }

    /**
     * Returns this plan with a small file system for the write-ahead logs, on which little space
     * must stay free.
     */
    SitePlan withWalDisk(int mebibytes, String... settings) {
      return new SitePlan(
          spool,
          gateways,
          main,
          options,
          settingsWith(settings),
          proxied,
          clickHouseMiB,
          mebibytes,
          loadProfile);
    }

    SitePlan rate(Workload.LoadProfile loadProfile) {
      return new SitePlan(
          spool, gateways, main, options, settings, proxied, clickHouseMiB, walMiB, loadProfile);
    }
  }

  /**
   * The counts of logs.
   *
   * @param acknowledged logs that the gateway acknowledged to a client
   * @param stored rows in ClickHouse
   * @param deadLettered logs among the dead letters
   * @param lost logs that are acknowledged but neither stored nor a dead letter, without those
   *     known to be quarantined
   * @param duplicated logs that are stored more than once, or stored and a dead letter, or stored
   *     and quarantined
   */
  record LogCounts(int acknowledged, long stored, int deadLettered, int lost, int duplicated) {}

  /** The id of an item in the list of dead letters. */
  private static final Pattern DEAD_LETTER_ID = Pattern.compile("\\{\"id\":\"([^\"]+)\"");

  private final Path folder;
  private final LogSequence sequence;
  private final Deque<AutoCloseable> open = new ArrayDeque<>();
  private final HttpClient http = HttpClient.newHttpClient();
  private final List<GatewayUnderTest> gateways = new ArrayList<>();
  private final BitSet quarantined = new BitSet();
  private final SitePlan plan;
  private final EmbeddedRedis redis;
  private final EmbeddedClickHouse clickHouse;
  private @Nullable FaultInjectingProxy redisProxy;
  private @Nullable FaultInjectingProxy clickHouseProxy;

  /**
   * Starts a site.
   *
   * @param plan the configuration
   * @param folder a new directory for all files of the site
   * @param sequence the numbers of the logs
   */
  TestSite(SitePlan plan, Path folder, LogSequence sequence)
      throws IOException, InterruptedException {
    this.folder = Files.createDirectories(folder.toAbsolutePath());
    this.sequence = sequence;
    this.plan = plan;
    try {
      redis =
          EmbeddedRedis.start(
              new EmbeddedRedis.RedisEngineSettings(
                  folder.resolve("redis"), SharedEngines.cacheDirectory(), 0, "1gb"));
      open.push(redis);
      if (plan.clickHouseMiB() > 0) {
        mount(clickHouseData(), plan.clickHouseMiB());
      }
      clickHouse =
          EmbeddedClickHouse.start(
              new EmbeddedClickHouse.ClickHouseEngineSettings(
                  folder.resolve("clickhouse"),
                  SharedEngines.cacheDirectory(),
                  0,
                  -1,
                  "sluice",
                  "sluice",
                  true));
      open.push(clickHouse);
      int redisPort = redis.port();
      int clickHousePort = clickHouse.httpPort();
      if (plan.proxied()) {
        redisProxy = new FaultInjectingProxy(redisPort);
        open.push(redisProxy);
        redisPort = redisProxy.port();
        clickHouseProxy = new FaultInjectingProxy(clickHousePort);
        open.push(clickHouseProxy);
        clickHousePort = clickHouseProxy.port();
      }
      if (plan.walMiB() > 0) {
        mount(walDir(), plan.walMiB());
      }
      var settings = new ArrayList<>(plan.settings());
      settings.add("--sluice.spool=" + plan.spool());
      settings.add("--sluice.wal.dir=" + walDir());
      if (!plan.spool().equals(SitePlan.WAL_ONLY.spool())) {
        settings.add(
            "--sluice.redis.url=redis://:%s@127.0.0.1:%d".formatted(redis.password(), redisPort));
      }
      settings.add("--sluice.clickhouse.url=http://127.0.0.1:" + clickHousePort);
      settings.add("--sluice.clickhouse.password=" + clickHouse.password());
      for (int i = 0; i < plan.gateways(); i++) {
        var gateway = new GatewayUnderTest(this.folder, plan.main(), plan.options(), settings);
        gateways.add(gateway);
        open.push(gateway);
        gateway.start();
      }
      gateways.forEach(GatewayUnderTest::awaitReady);
    } catch (IOException | InterruptedException | RuntimeException e) {
      close();
      throw e;
    }
  }

  private void mount(Path at, int mebibytes) throws IOException, InterruptedException {
    Files.createDirectories(at);
    run("mount", "-t", "tmpfs", "-o", "size=" + mebibytes + "m", "tmpfs", at.toString());
    open.push(() -> run("umount", at.toString()));
  }

  private static void run(String... command) throws IOException, InterruptedException {
    var process = new ProcessBuilder(command).redirectErrorStream(true).start();
    var output = new String(process.getInputStream().readAllBytes(), UTF_8).strip();
    if (process.waitFor() != 0) {
      throw new IOException(String.join(" ", command) + ": " + output);
    }
  }

  Path clickHouseData() {
    return folder.resolve("clickhouse/data");
  }

  /** Returns the parent directory of the write-ahead logs. */
  Path walDir() {
    return folder.resolve("wal");
  }

  EmbeddedRedis redis() {
    return redis;
  }

  EmbeddedClickHouse clickHouse() {
    return clickHouse;
  }

  GatewayUnderTest gateway() {
    return gateways.getFirst();
  }

  List<GatewayUnderTest> gateways() {
    return gateways;
  }

  List<URI> uris() {
    return gateways.stream().map(GatewayUnderTest::uri).toList();
  }

  FaultInjectingProxy redisProxy() {
    return java.util.Objects.requireNonNull(redisProxy, "the plan has no proxies");
  }

  FaultInjectingProxy clickHouseProxy() {
    return java.util.Objects.requireNonNull(clickHouseProxy, "the plan has no proxies");
  }

  LogSequence sequence() {
    return sequence;
  }

  /** Sends a signal to a process, for example STOP. */
  static void signal(String signal, long pid) throws IOException, InterruptedException {
    run("kill", "-" + signal, Long.toString(pid));
  }

  /** Whether the kernel has stopped the process. */
  static boolean isStopped(long pid) throws IOException {
    var status = Files.readString(Path.of("/proc/" + pid + "/stat"));
    return status.charAt(status.lastIndexOf(')') + 2) == 'T';
  }

  /** Queries Redis directly, not through the proxy. */
  <T> T redis(Function<RedisCommands<String, String>, T> query) {
    try (var client = RedisClient.create(redis.url());
        var connection = client.connect()) {
      return query.apply(connection.sync());
    }
  }

  /**
   * Queries ClickHouse directly and returns the response, in the format TSV unless the query names
   * one.
   */
  String sql(String sql) throws IOException, InterruptedException {
    try (var in = executeQuery(sql)) {
      return new String(in.readAllBytes(), UTF_8).strip();
    }
  }

  private InputStream executeQuery(String sql) throws IOException, InterruptedException {
    var request =
        HttpRequest.newBuilder(URI.create(clickHouse.url() + "/"))
            .header("X-ClickHouse-User", EmbeddedClickHouse.ADMINISTRATOR)
            .header("X-ClickHouse-Key", clickHouse.password())
            .timeout(Duration.ofSeconds(60))
            .POST(BodyPublishers.ofString(sql))
            .build();
    var response = http.send(request, BodyHandlers.ofInputStream());
    if (response.statusCode() != 200) {
      throw new IOException(new String(response.body().readAllBytes(), UTF_8));
    }
    return response.body();
  }

  /**
   * Returns the number of entries in the spool: from Redis, or from the metrics of the gateways if
   * they have a write-ahead log.
   */
  long spoolEntries() {
    if (plan.spool().equals(SitePlan.REDIS_ONLY.spool())) {
      return redis(commands -> commands.xlen("{sluice:0}:logs"));
    }
    double entries = 0;
    for (var gateway : gateways) {
      entries += gateway.gauge("sluice_spool_entries");
    }
    if (Double.isNaN(entries)) {
      throw new IllegalStateException("a gateway does not report its spool entries");
    }
    return Math.round(entries);
  }

  /** Marks logs as quarantined, since their stored bytes are damaged: they must not be stored. */
  void markQuarantined(BitSet numbers) {
    quarantined.or(numbers);
  }

  /** Waits until the spool is empty. */
  void awaitDrained(Duration timeout) {
    await("an empty spool")
        .atMost(timeout)
        .pollInterval(Duration.ofMillis(25))
        .ignoreExceptions()
        .until(() -> spoolEntries() == 0);
  }

  /** Waits until at least one log of this run is stored. */
  void awaitStored() {
    await("a first stored log")
        .atMost(FIRST_STORE_TIMEOUT)
        .ignoreExceptions()
        .until(
            () ->
                !sql("SELECT count() FROM otel_logs WHERE ServiceName = '" + sequence.run() + "'")
                    .equals("0"));
  }

  /** Returns the number of matches in the logs of all gateways. */
  long countLogMatches(Pattern what) throws IOException {
    long times = 0;
    for (var gateway : gateways) {
      times += what.matcher(gateway.log()).results().count();
    }
    return times;
  }

  /** Waits until the logs of the gateways have more than {@code before} matches. */
  void awaitLogMatch(Pattern what, long before) {
    await("a log line that matches " + what)
        .atMost(Duration.ofSeconds(60))
        .pollInterval(Duration.ofMillis(100))
        .until(() -> countLogMatches(what) > before);
  }

  /** Returns errors in the logs of the gateways that no fault may cause. */
  List<String> fatalErrors() throws IOException {
    var errors = new ArrayList<String>();
    for (var gateway : gateways) {
      if (gateway.log().contains("OutOfMemoryError")) {
        errors.add("a gateway ran out of memory");
      }
    }
    return errors;
  }

  /** Restarts the gateways after a failed round, so that late logs are not counted as lost. */
  void revive() throws IOException {
    for (var gateway : gateways) {
      if (!gateway.isAlive()) {
        gateway.start();
      }
    }
    try {
      awaitDrained(REVIVE_TIMEOUT);
    } catch (ConditionTimeoutException _) {
      // the remaining logs are counted as lost
    }
  }

  /** Returns the highest peak memory of a gateway in KiB. */
  long peakKiB() {
    return gateways.stream().mapToLong(GatewayUnderTest::peakKiB).max().orElse(0);
  }

  /** Counts the logs; valid only while no logs are sent and the spool is empty. */
  LogCounts count() throws IOException, InterruptedException {
    var acknowledged = sequence.acknowledged();
    var once = new BitSet();
    var doubled = new BitSet();
    long rows = 0;
    try (var in =
        executeQuery(
            """
            SELECT toUInt32OrZero(LogAttributes['n']) AS n, count()
            FROM otel_logs
            WHERE ServiceName = '%s'
            GROUP BY n FORMAT RowBinary"""
                .formatted(sequence.run()))) {
      var row = ByteBuffer.allocate(Integer.BYTES + Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
      while (in.readNBytes(row.array(), 0, row.capacity()) == row.capacity()) {
        int n = row.getInt(0);
        long times = row.getLong(Integer.BYTES);
        rows += times;
        once.set(n);
        if (times > 1) {
          doubled.set(n);
        }
      }
    }
    var dead = deadLetteredNumbers();
    var both = (BitSet) dead.clone();
    both.and(once);
    doubled.or(both);
    var stored = (BitSet) quarantined.clone();
    stored.and(once);
    doubled.or(stored);
    var lost = (BitSet) acknowledged.clone();
    lost.andNot(once);
    lost.andNot(dead);
    lost.andNot(quarantined);
    return new LogCounts(
        acknowledged.cardinality(),
        rows,
        dead.cardinality(),
        lost.cardinality(),
        doubled.cardinality());
  }

  /** Returns the numbers of the logs in the dead letters, from a gateway. */
  BitSet deadLetteredNumbers() throws InterruptedException {
    var dead = new BitSet();
    for (var gateway : gateways) {
      if (gateway.isAlive()) {
        try {
          for (var letter : DEAD_LETTER_ID.matcher(listDeadLetters(gateway)).results().toList()) {
            dead.or(numbersIn(gateway.get("/actuator/deadletters/" + letter.group(1))));
          }
        } catch (IOException _) {
          // another gateway may respond
        }
      }
    }
    return dead;
  }

  private static String listDeadLetters(GatewayUnderTest gateway)
      throws IOException, InterruptedException {
    return gateway.get("/actuator/deadletters?limit=1000");
  }

  private BitSet numbersIn(String deadLetter) {
    var found = new BitSet();
    Pattern.compile(Pattern.quote(sequence.run()) + " (\\d+) ")
        .matcher(deadLetter)
        .results()
        .forEach(number -> found.set(Integer.parseInt(number.group(1))));
    return found;
  }

  @Override
  public void close() {
    while (!open.isEmpty()) {
      try {
        open.pop().close();
      } catch (Exception e) {
        System.err.println("cannot close: " + e);
      }
    }
    http.shutdownNow();
  }
}
