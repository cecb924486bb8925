package dev.sluice.engines;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A running ClickHouse of our own: HTTP and native protocol on loopback, started again when it
 * dies, ended by {@link #close} and with this process, however that ends.
 *
 * <p>It is {@code clickhouse local} of at least {@link #MIN_VERSION}, which can listen like a
 * server: from the PATH when there, else from a shared library that npm fetches once. Its one user
 * may create, alter and drop tables in the database {@code default}, and read {@code system}.
 * Replicated tables do not work in it (it has no Keeper).
 *
 * <p>All methods may be called from any thread.
 */
public final class EmbeddedClickHouse implements AutoCloseable {

  /**
   * What to start.
   *
   * @param directory a folder for this engine alone, made when absent; data in it survive
   * @param cache where the library is kept once fetched; may be shared
   * @param httpPort on loopback, 0 for any free one
   * @param tcpPort native protocol, on loopback, 0 for any free one, -1 for none
   * @param user letters, digits and underscores, not {@code default}
   * @param password of that user
   */
  public record Settings(
      Path directory, Path cache, int httpPort, int tcpPort, String user, String password) {

    private static final Pattern NAME = Pattern.compile("[a-zA-Z_][a-zA-Z0-9_]*");

    /**
     * Checks the user's name, which goes into a configuration file.
     *
     * @throws IllegalArgumentException when it is none, or the one ClickHouse's launcher needs
     */
    public Settings {
      if (!NAME.matcher(user).matches() || user.equals("default")) {
        throw new IllegalArgumentException(
            "sluice.clickhouse.user is '%s'; it must be letters, digits and underscores, and not"
                    .formatted(user)
                + " 'default'");
      }
    }

    @Override
    public String toString() {
      return "Settings[directory=%s, cache=%s, httpPort=%d, tcpPort=%d, user=%s]"
          .formatted(directory, cache, httpPort, tcpPort, user);
    }
  }

  /** Older ones cannot listen in local mode. */
  static final String MIN_VERSION = "26.7";

  private static final Logger LOG = LoggerFactory.getLogger(EmbeddedClickHouse.class);

  /** Tables are loaded before it listens, and a laptop may have many parts and a slow disk. */
  private static final Duration START_TIMEOUT = Duration.ofMinutes(2);

  /** How long a command may take to end once its stdin is closed, before it gets a SIGTERM. */
  private static final int STOP_TIMEOUT_MILLIS = 3_000;

  private final Supervisor supervisor;
  private final ClickHouseLaunchSpec launchSpec;

  private EmbeddedClickHouse(Supervisor supervisor, ClickHouseLaunchSpec launchSpec) {
    this.supervisor = supervisor;
    this.launchSpec = launchSpec;
  }

  /**
   * Starts ClickHouse and returns when it answers: well under a second later, or after minutes when
   * the library has to be fetched.
   *
   * @throws EngineStartException when it cannot be started; nothing is left running then
   */
  public static EmbeddedClickHouse start(Settings settings) {
    return start(settings, SystemEnvironment.current());
  }

  static EmbeddedClickHouse start(Settings settings, SystemEnvironment environment) {
    EngineDataDir dataDir = EngineDataDir.acquire(settings.directory());
    try {
      ClickHouseLaunchSpec launchSpec =
          new ClickHouseLaunchSpec(
              settings, environment, dataDir, hostArguments(settings, environment));
      Supervisor supervisor = new Supervisor(launchSpec, dataDir);
      supervisor.start();
      return new EmbeddedClickHouse(supervisor, launchSpec);
    } catch (RuntimeException e) {
      dataDir.close();
      throw e;
    }
  }

  /** The first arguments of {@link EngineHost}, up to and without those of ClickHouse. */
  private static List<String> hostArguments(Settings settings, SystemEnvironment environment) {
    if (environment.variable(ClickHouseLibrary.VARIABLE) == null) {
      Path command = environment.findExecutable("clickhouse");
      if (command != null) {
        Version version = Version.detect(environment, command, "local", "--version");
        if (version != null && version.compareTo(Version.parse(MIN_VERSION)) >= 0) {
          LOG.info("using {} {}", command, version);
          return List.of(
              EngineHost.COMMAND, String.valueOf(STOP_TIMEOUT_MILLIS), command.toString(), "local");
        }
        LOG.info(
            "not using {}: its version is {}, and only {} or later can listen in local mode",
            command,
            version == null ? "unknown" : version,
            MIN_VERSION);
      }
    }
    Path library =
        new ClickHouseLibrary(environment, settings.cache(), ClickHouseLibrary.PINNED_RELEASES)
            .locate();
    return List.of(EngineHost.LIBRARY, library.toString(), "clickhouse");
  }

  /** Loopback port of the HTTP interface; the same for the life of this object. */
  public int httpPort() {
    return launchSpec.httpPort;
  }

  /** Loopback port of the native protocol, -1 for none; the same for the life of this object. */
  public int tcpPort() {
    return launchSpec.tcpPort;
  }

  /** Of the HTTP interface, for example {@code http://127.0.0.1:18123}. */
  public String url() {
    return "http://127.0.0.1:" + httpPort();
  }

  /** The process whose CPU and memory are ClickHouse's, -1 while there is none. */
  public long pid() {
    return supervisor.pid();
  }

  /** Whether it runs and has answered. */
  public boolean alive() {
    return supervisor.alive();
  }

  /** kill -9, for failure tests: it is started again on the same ports. */
  public void kill() {
    supervisor.kill();
  }

  /** Takes it away until {@link #restart}. Returns when it has ended. */
  public void stop() {
    supervisor.stop();
  }

  /**
   * Ends it when it runs and starts it again, with its data and on the same ports.
   *
   * @throws EngineStartException when it cannot be started; {@code restart} may be tried again
   */
  public void restart() {
    supervisor.stop();
    supervisor.start();
  }

  /**
   * Lets it finish, kills it when that takes longer than ten seconds; idempotent. Close HTTP
   * clients first: it waits up to five seconds for their idle connections.
   */
  @Override
  public void close() {
    supervisor.close();
  }

  /** How this ClickHouse is started, again and again. */
  private static final class ClickHouseLaunchSpec implements Supervisor.Engine {

    private final Settings settings;
    private final SystemEnvironment environment;
    private final EngineDataDir dataDir;
    private final List<String> hostArguments;
    // set by the first life, kept by the later ones; volatile since those run on other threads
    private volatile int httpPort;
    private volatile int tcpPort;

    ClickHouseLaunchSpec(
        Settings settings,
        SystemEnvironment environment,
        EngineDataDir dataDir,
        List<String> hostArguments) {
      this.settings = settings;
      this.environment = environment;
      this.dataDir = dataDir;
      this.hostArguments = hostArguments;
      httpPort = settings.httpPort();
      tcpPort = settings.tcpPort();
    }

    @Override
    public String name() {
      return "ClickHouse";
    }

    @Override
    public Path program() {
      return Path.of(hostArguments.get(hostArguments.size() - 2));
    }

    @Override
    public HostProcess launch() {
      FreePorts.allocate(httpPort, "sluice.engines.clickhouse.http-port");
      boolean tcp = tcpPort >= 0;
      if (tcp) {
        FreePorts.allocate(tcpPort, "sluice.engines.clickhouse.tcp-port");
      }
      // The system database lives in memory; folders of its log tables from an earlier life would
      // break query_log and make stopping slow. Tables of users lie elsewhere.
      dataDir.delete(dataDir.data().resolve("data").resolve("system"));
      dataDir.write(dataDir.runPath("users.xml"), usersXml());
      dataDir.write(dataDir.runPath("config.xml"), configXml());

      List<String> arguments = new ArrayList<>(hostArguments);
      arguments.add("--config-file=" + dataDir.runPath("config.xml"));
      arguments.add("--path=" + dataDir.data());
      arguments.add("--log-level=warning"); // in local mode the configuration's level is ignored
      arguments.add("--listen_host=127.0.0.1");
      arguments.add("--http_port=" + httpPort);
      if (tcp) {
        arguments.add("--tcp_port=" + tcpPort);
      }
      arguments.add("--multiquery");
      // A plain SELECT prints nothing here. The last query reads stdin until it ends: ClickHouse
      // runs that long.
      arguments.add(
          """
          --query=SYSTEM START LISTEN HTTP; %s\
          SELECT '%s', getServerPort('http_port'), %s \
          INTO OUTFILE '/dev/fd/1' APPEND FORMAT TSV; \
          SELECT count() FROM file('-', LineAsString) FORMAT Null"""
              .formatted(
                  tcp ? "SYSTEM START LISTEN TCP; " : "",
                  HostProcess.READY,
                  tcp ? "getServerPort('tcp_port')" : "-1"));
      return HostProcess.start(dataDir, environment, arguments);
    }

    @Override
    public void awaitReady(HostProcess host) throws IOException, InterruptedException {
      List<Integer> ports = host.awaitPorts(START_TIMEOUT);
      httpPort = ports.get(0);
      tcpPort = ports.get(1);
    }

    private String configXml() {
      return """
          <clickhouse>
            <logger>
              <log>%1$s</log>
              <size>10M</size>
              <count>1</count>
            </logger>
            <users_config>%2$s</users_config>
            <max_server_memory_usage_to_ram_ratio>0.5</max_server_memory_usage_to_ram_ratio>
            <mark_cache_size>134217728</mark_cache_size>
            <index_mark_cache_size>67108864</index_mark_cache_size>
            <primary_index_cache_size>134217728</primary_index_cache_size>
            <uncompressed_cache_size>0</uncompressed_cache_size>
            <index_uncompressed_cache_size>0</index_uncompressed_cache_size>
            <background_pool_size>%3$d</background_pool_size>
            <background_schedule_pool_size>%3$d</background_schedule_pool_size>
            <!-- inserts go before merges, where the user may say so -->
            <os_threads_nice_value_merge_mutate>10</os_threads_nice_value_merge_mutate>
            <query_log>
              <database>system</database>
              <table>query_log</table>
              <ttl>event_date + INTERVAL 1 DAY DELETE</ttl>
              <flush_interval_milliseconds>7500</flush_interval_milliseconds>
            </query_log>
            <part_log>
              <database>system</database>
              <table>part_log</table>
              <ttl>event_date + INTERVAL 1 DAY DELETE</ttl>
              <flush_interval_milliseconds>7500</flush_interval_milliseconds>
            </part_log>
          </clickhouse>
          """
          .formatted(
              escapeXml(dataDir.runPath("clickhouse.log").toString()),
              escapeXml(dataDir.runPath("users.xml").toString()),
              Math.max(2, Runtime.getRuntime().availableProcessors()));
    }

    /**
     * The start-up query is run by the user {@code default} without a password, which cannot be
     * changed. So that user gets nothing else to do, and a single session, which the start-up query
     * holds before the ports are open and until they are closed.
     */
    private String usersXml() {
      return """
          <clickhouse>
            <profiles>
              <default></default>
              <starter><max_sessions_for_user>1</max_sessions_for_user></starter>
            </profiles>
            <quotas><default></default></quotas>
            <users>
              <default>
                <password></password>
                <networks><ip>127.0.0.1</ip></networks>
                <profile>starter</profile>
                <quota>default</quota>
                <grants>
                  <query>GRANT SYSTEM LISTEN, CREATE TEMPORARY TABLE ON *.*</query>
                  <query>GRANT READ ON FILE</query>
                </grants>
              </default>
              <%1$s>
                <password_sha256_hex>%2$s</password_sha256_hex>
                <networks><ip>127.0.0.1</ip></networks>
                <profile>default</profile>
                <quota>default</quota>
                <grants>
                  <query>GRANT SHOW, SELECT, INSERT, ALTER, TRUNCATE, OPTIMIZE, CREATE TABLE,
                    CREATE VIEW, CREATE DICTIONARY, DROP TABLE, DROP VIEW, DROP DICTIONARY, dictGet
                    ON default.*</query>
                  <query>GRANT SELECT, SHOW ON system.*</query>
                  <query>GRANT SELECT ON INFORMATION_SCHEMA.*</query>
                  <query>GRANT TABLE ENGINE ON *</query>
                  <query>GRANT CREATE TEMPORARY TABLE, KILL QUERY, SYSTEM MERGES, SYSTEM TTL MERGES,
                    SYSTEM FLUSH, SYSTEM DROP CACHE, SYSTEM VIEWS ON *.*</query>
                </grants>
              </%1$s>
            </users>
          </clickhouse>
          """
          .formatted(settings.user(), sha256(settings.password()));
    }

    private static String escapeXml(String text) {
      return text.replace("&", "&amp;").replace("<", "&lt;");
    }

    private static String sha256(String text) {
      try {
        return HexFormat.of()
            .formatHex(MessageDigest.getInstance("SHA-256").digest(text.getBytes(UTF_8)));
      } catch (NoSuchAlgorithmException e) {
        throw new AssertionError("every JDK has SHA-256", e);
      }
    }
  }
}
