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
 * A Redis and a ClickHouse of its own and one or two gateways that use them, each a process; all of
 * them are gone after {@link #close}.
 */
final class TestSite implements AutoCloseable {
  private static final Duration REVIVE_TIMEOUT = Duration.ofSeconds(30);
  private static final Duration FIRST_STORE_TIMEOUT = Duration.ofSeconds(60);

  /**
   * What a row wants other than usual.
   *
   * @param spool of the gateways, as {@code sluice.spool} has it
   * @param gateways how many share the engines
   * @param main class that starts them
   * @param options of their JVM
   * @param settings of theirs
   * @param proxied whether there is a {@link FaultInjectingProxy} to either engine
   * @param clickHouseMiB size of the file system that ClickHouse's data get, 0 for that of the rest
   * @param walMiB size of the file system that the write-ahead logs get, likewise
   * @param loadProfile of the load
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

    /** On Redis alone. */
    static final SitePlan REDIS_ONLY =
        new SitePlan(
            "redis",
            1,
            "dev.sluice.api.boot.GatewayApplication",
            List.of("-Xmx512m"),
            List.of("--sluice.delivery.linger=300ms", "--sluice.delivery.retry.max-delay=1s"),
            false,
            0,
            0,
            Workload.LoadProfile.DEFAULT);

    /** On the write-ahead log alone. */
    static final SitePlan WAL_ONLY = REDIS_ONLY.spool("wal");

    /** As it is when nobody says anything. */
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

    /** Little room for the write-ahead logs, of which little is kept free. */
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
   * What has become of the logs.
   *
   * @param acknowledged logs that a client was told are safe
   * @param stored rows in ClickHouse
   * @param deadLettered logs among the dead letters
   * @param lost acknowledged and nowhere, but for those that are known to be quarantined
   * @param duplicated stored more than once, or stored and a dead letter, or stored and quarantined
   */
  record LogCounts(int acknowledged, long stored, int deadLettered, int lost, int duplicated) {}

  /** An entry of the list of dead letters. */
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
   * @param folder for everything, new
   */
  TestSite(SitePlan plan, Path folder, LogSequence sequence)
      throws IOException, InterruptedException {
    this.folder = Files.createDirectories(folder.toAbsolutePath());
    this.sequence = sequence;
    this.plan = plan;
    try {
      redis = EmbeddedRedis.start(new EmbeddedRedis.Settings(folder.resolve("redis"), 0, "1gb"));
      open.push(redis);
      if (plan.clickHouseMiB() > 0) {
        mount(clickHouseData(), plan.clickHouseMiB());
      }
      clickHouse =
          EmbeddedClickHouse.start(
              new EmbeddedClickHouse.Settings(
                  folder.resolve("clickhouse"),
                  SharedEngines.cacheDirectory(),
                  0,
                  -1,
                  "sluice",
                  "sluice"));
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

  /** Below which the write-ahead logs lie. */
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
    return java.util.Objects.requireNonNull(redisProxy, "the plan has no wires");
  }

  FaultInjectingProxy clickHouseProxy() {
    return java.util.Objects.requireNonNull(clickHouseProxy, "the plan has no wires");
  }

  LogSequence sequence() {
    return sequence;
  }

  /** Sends a process a signal, such as STOP. */
  static void signal(String signal, long pid) throws IOException, InterruptedException {
    run("kill", "-" + signal, Long.toString(pid));
  }

  /** Whether the kernel has stopped the process. */
  static boolean isStopped(long pid) throws IOException {
    var status = Files.readString(Path.of("/proc/" + pid + "/stat"));
    return status.charAt(status.lastIndexOf(')') + 2) == 'T';
  }

  /** Asks Redis itself, on a way of its own. */
  <T> T redis(Function<RedisCommands<String, String>, T> question) {
    try (var client = RedisClient.create(redis.url());
        var connection = client.connect()) {
      return question.apply(connection.sync());
    }
  }

  /** Asks ClickHouse itself; the answer, in its format TSV when the query names none. */
  String sql(String sql) throws IOException, InterruptedException {
    try (var in = executeQuery(sql)) {
      return new String(in.readAllBytes(), UTF_8).strip();
    }
  }

  private InputStream executeQuery(String sql) throws IOException, InterruptedException {
    var request =
        HttpRequest.newBuilder(URI.create(clickHouse.url() + "/"))
            .header("X-ClickHouse-User", "sluice")
            .header("X-ClickHouse-Key", "sluice")
            .timeout(Duration.ofSeconds(60))
            .POST(BodyPublishers.ofString(sql))
            .build();
    var response = http.send(request, BodyHandlers.ofInputStream());
    if (response.statusCode() != 200) {
      throw new IOException(new String(response.body().readAllBytes(), UTF_8));
    }
    return response.body();
  }

  /** Entries in the spool: as Redis says, or as the gateways say where they have some too. */
  long spoolEntries() {
    if (plan.spool().equals(SitePlan.REDIS_ONLY.spool())) {
      return redis(commands -> commands.xlen("{sluice:0}:logs"));
    }
    double entries = 0;
    for (var gateway : gateways) {
      entries += gateway.gauge("sluice_spool_entries");
    }
    if (Double.isNaN(entries)) {
      throw new IllegalStateException("a gateway does not know how much waits");
    }
    return Math.round(entries);
  }

  /** These were in what was damaged where it lay: they must be stored nowhere. */
  void markQuarantined(BitSet numbers) {
    quarantined.or(numbers);
  }

  /** Returns when nothing is left to deliver. */
  void awaitDrained(Duration patience) {
    await("an empty spool")
        .atMost(patience)
        .pollInterval(Duration.ofMillis(25))
        .ignoreExceptions()
        .until(() -> spoolEntries() == 0);
  }

  /** Returns when at least one log of this run can be read. */
  void awaitStored() {
    await("a first stored log")
        .atMost(FIRST_STORE_TIMEOUT)
        .ignoreExceptions()
        .until(
            () ->
                !sql("SELECT count() FROM otel_logs WHERE ServiceName = '" + sequence.run() + "'")
                    .equals("0"));
  }

  /** How often any gateway's log says so. */
  long countLogMatches(Pattern what) throws IOException {
    long times = 0;
    for (var gateway : gateways) {
      times += what.matcher(gateway.log()).results().count();
    }
    return times;
  }

  /** Returns when a gateway's log says so once more than {@code before}. */
  void awaitLogMatch(Pattern what, long before) {
    await("a gateway that says " + what)
        .atMost(Duration.ofSeconds(60))
        .pollInterval(Duration.ofMillis(100))
        .until(() -> countLogMatches(what) > before);
  }

  /** What no gateway should ever have to say, whatever fails around it. */
  List<String> fatalErrors() throws IOException {
    var complaints = new ArrayList<String>();
    for (var gateway : gateways) {
      if (gateway.log().contains("OutOfMemoryError")) {
        complaints.add("a gateway ran out of memory");
      }
    }
    return complaints;
  }

  /**
   * After a round that went wrong: gives the logs their last chance, so that what is only late does
   * not look lost.
   */
  void revive() throws IOException {
    for (var gateway : gateways) {
      if (!gateway.isAlive()) {
        gateway.start();
      }
    }
    try {
      awaitDrained(REVIVE_TIMEOUT);
    } catch (ConditionTimeoutException _) {
      // then it is lost as far as anybody can tell
    }
  }

  /** The most memory that one of the gateways has had, in KiB. */
  long peakKiB() {
    return gateways.stream().mapToLong(GatewayUnderTest::peakKiB).max().orElse(0);
  }

  /** Where every log is; right only while nothing is sent and nothing waits. */
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

  /** Numbers of the logs that are dead letters, as the gateway shows them. */
  BitSet deadLetteredNumbers() throws InterruptedException {
    var dead = new BitSet();
    for (var gateway : gateways) {
      if (gateway.isAlive()) {
        try {
          for (var letter : DEAD_LETTER_ID.matcher(listDeadLetters(gateway)).results().toList()) {
            dead.or(numbersIn(gateway.get("/actuator/deadletters/" + letter.group(1))));
          }
        } catch (IOException _) {
          // another may answer
        }
      }
    }
    return dead;
  }

  private static String listDeadLetters(GatewayUnderTest gateway)
      throws IOException, InterruptedException {
    return gateway.get("/actuator/deadletters?limit=1000");
  }

  private BitSet numbersIn(String letter) {
    var found = new BitSet();
    Pattern.compile(Pattern.quote(sequence.run()) + " (\\d+) ")
        .matcher(letter)
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
        System.err.println("cannot be ended: " + e);
      }
    }
    http.shutdownNow();
  }
}
