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
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A ClickHouse server that the gateway manages: HTTP and native protocol on loopback. It is
 * restarted when it dies. It ends with {@link #close}, and with this process, also when this
 * process is killed.
 *
 * <p>The engine is {@code clickhouse local} of at least {@link #MIN_VERSION}, which can listen like
 * a server: the command on the PATH if there is one, else a shared library that npm fetches once.
 * Its user for the gateway may create, read, write and drop MergeTree tables in the database {@code
 * default}; its user {@value #READER} may only read them, within limits. Neither reaches files,
 * programs or other servers. It refuses HTTP requests with the header {@code Origin}, which web
 * pages send. Replicated tables do not work, because the engine has no Keeper.
 *
 * <p>All methods are thread-safe.
 */
public final class EmbeddedClickHouse implements AutoCloseable {

  /**
   * The settings of the engine.
   *
   * @param directory the directory of this engine alone, created when absent; its data survive
   *     restarts
   * @param cache the directory of the fetched library; several engines may share it
   * @param httpPort the HTTP port on loopback, 0 for any free port
   * @param tcpPort the port of the native protocol on loopback, 0 for any free port, -1 for none
   * @param user the name of the user: letters, digits and underscores, not {@code default}, {@value
   *     #READER} or {@value #ADMINISTRATOR}
   * @param password the password of that user; null for one that is generated once and stored next
   *     to the data
   * @param administrator whether there is a user {@value #ADMINISTRATOR}, with the same password
   *     and further rights, for tests and benchmarks
   */
  public record ClickHouseEngineSettings(
      Path directory,
      Path cache,
      int httpPort,
      int tcpPort,
      String user,
      @Nullable String password,
      boolean administrator) {

    private static final Pattern NAME = Pattern.compile("[a-zA-Z_][a-zA-Z0-9_]*");

    private static final Set<String> RESERVED = Set.of("default", READER, ADMINISTRATOR);

    /**
     * Checks the name of the user, which is written into a configuration file.
     *
     * @throws IllegalArgumentException when the name has other characters, or is that of another
     *     user of the engine
     */
    public ClickHouseEngineSettings {
      if (!NAME.matcher(user).matches() || RESERVED.contains(user)) {
        throw new IllegalArgumentException(
            "sluice.clickhouse.user is '%s'; it must be letters, digits and underscores, and not"
                    .formatted(user)
                + " 'default', '%s' or '%s'".formatted(READER, ADMINISTRATOR));
      }
    }

    @Override
    public String toString() {
      return "ClickHouseEngineSettings[directory=%s, cache=%s, httpPort=%d, tcpPort=%d, user=%s]"
          .formatted(directory, cache, httpPort, tcpPort, user);
    }
  }

  /** The name of the user for people, who can only read. */
  public static final String READER = "sluice_reader";

  /** The name of the user for tests and benchmarks. */
  public static final String ADMINISTRATOR = "sluice_admin";

  /** The lowest version that can listen in local mode. */
  static final String MIN_VERSION = "26.7";

  private static final Logger LOG = LoggerFactory.getLogger(EmbeddedClickHouse.class);

  /**
   * The time from launch to the first response. ClickHouse loads its tables before it listens, and
   * a machine can have many parts and a slow disk.
   */
  private static final Duration START_TIMEOUT = Duration.ofMinutes(2);

  /**
   * The time in milliseconds that the command may take to exit after its stdin is closed, before it
   * gets a SIGTERM.
   */
  private static final int STOP_TIMEOUT_MILLIS = 3_000;

  // bin/sluice engines password reads these files
  private static final String PASSWORD_FILE = "password";
  private static final String READER_PASSWORD_FILE = "reader-password";

  private final Supervisor supervisor;
  private final ClickHouseLaunchSpec launchSpec;

  private EmbeddedClickHouse(Supervisor supervisor, ClickHouseLaunchSpec launchSpec) {
    this.supervisor = supervisor;
    this.launchSpec = launchSpec;
  }

  /**
   * Starts ClickHouse and returns when it responds. The first start takes minutes when npm has to
   * fetch the library.
   *
   * @throws EngineStartException when ClickHouse cannot be started; no process is left running then
   */
  public static EmbeddedClickHouse start(ClickHouseEngineSettings settings) {
    return start(settings, SystemEnvironment.current());
  }

  static EmbeddedClickHouse start(
      ClickHouseEngineSettings settings, SystemEnvironment environment) {
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

  /** Returns the arguments of {@link EngineHost} that precede the arguments of ClickHouse. */
  private static List<String> hostArguments(
      ClickHouseEngineSettings settings, SystemEnvironment environment) {
    if (environment.variable(ClickHouseLibrary.VARIABLE) == null) {
      Path command = environment.findExecutable("clickhouse");
      if (command != null) {
        Version version = Version.detect(environment, command, "local", "--version");
        if (version != null && version.compareTo(Version.parse(MIN_VERSION)) >= 0) {
          LOG.info("using {} {}", command, version);
          return List.of(
              EngineHost.CONFINED_COMMAND,
              String.valueOf(STOP_TIMEOUT_MILLIS),
              command.toString(),
              "local");
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

  /** The loopback port of the HTTP interface; it does not change during the life of this object. */
  public int httpPort() {
    return launchSpec.httpPort;
  }

  /**
   * The loopback port of the native protocol, or -1 for none; it does not change during the life of
   * this object.
   */
  public int tcpPort() {
    return launchSpec.tcpPort;
  }

  /** The URL of the HTTP interface, for example {@code http://127.0.0.1:18123}. */
  public String url() {
    return "http://127.0.0.1:" + httpPort();
  }

  /** The password of the gateway's user; it does not change during the life of this object. */
  public String password() {
    return launchSpec.password;
  }

  /** The password of {@link #READER}; it does not change as long as the data exist. */
  public String readerPassword() {
    return launchSpec.readerPassword;
  }

  /** The process id whose CPU and memory are those of ClickHouse, or -1 while it does not run. */
  public long pid() {
    return supervisor.pid();
  }

  /** Whether ClickHouse runs and has responded since its start. */
  public boolean alive() {
    return supervisor.alive();
  }

  /** Kills ClickHouse with SIGKILL, for failure tests; it is restarted on the same ports. */
  public void kill() {
    supervisor.kill();
  }

  /** Stops ClickHouse until {@link #restart}. Returns when its process has ended. */
  public void stop() {
    supervisor.stop();
  }

  /**
   * Stops ClickHouse if it runs, and starts it with its data and on the same ports.
   *
   * @throws EngineStartException when it cannot be started; {@code restart} may be called again
   */
  public void restart() {
    supervisor.stop();
    supervisor.start();
  }

  /**
   * Stops ClickHouse and kills it if that takes longer than ten seconds; idempotent. Close HTTP
   * clients first: ClickHouse waits up to five seconds for their idle connections.
   */
  @Override
  public void close() {
    supervisor.close();
  }

  /** The launch procedure of this ClickHouse, the same for each restart. */
  private static final class ClickHouseLaunchSpec implements Supervisor.Engine {

    private final ClickHouseEngineSettings settings;
    private final SystemEnvironment environment;
    private final EngineDataDir dataDir;
    private final List<String> hostArguments;
    private final String password;
    private final String readerPassword;
    // set by the first launch and reused by restarts; volatile because restarts run on other
    // threads
    private volatile int httpPort;
    private volatile int tcpPort;

    ClickHouseLaunchSpec(
        ClickHouseEngineSettings settings,
        SystemEnvironment environment,
        EngineDataDir dataDir,
        List<String> hostArguments) {
      this.settings = settings;
      this.environment = environment;
      this.dataDir = dataDir;
      this.hostArguments = hostArguments;
      password =
          settings.password() == null
              ? dataDir.loadOrCreateSecret(PASSWORD_FILE)
              : configured(settings.password());
      readerPassword = dataDir.loadOrCreateSecret(READER_PASSWORD_FILE);
      httpPort = settings.httpPort();
      tcpPort = settings.tcpPort();
    }

    /** Deletes a generated password, which is not valid beside a configured one. */
    private String configured(String configuredPassword) {
      dataDir.delete(dataDir.directory().resolve(PASSWORD_FILE));
      return configuredPassword;
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
      // The system database is in memory. Directories of its log tables from an earlier process
      // would break query_log and slow down the stop. Tables of users are in other directories.
      dataDir.delete(dataDir.data().resolve("data").resolve("system"));
      dataDir.write(dataDir.runPath("users.xml"), usersXml());
      dataDir.write(dataDir.runPath("config.xml"), configXml());

      List<String> arguments = new ArrayList<>(hostArguments);
      arguments.add("--config-file=" + dataDir.runPath("config.xml"));
      arguments.add("--path=" + dataDir.data());
      arguments.add("--log-level=warning"); // local mode ignores the level in the configuration
      arguments.add("--listen_host=127.0.0.1");
      arguments.add("--http_port=" + httpPort);
      if (tcp) {
        arguments.add("--tcp_port=" + tcpPort);
      }
      arguments.add("--multiquery");
      // A plain SELECT prints nothing here. The last query reads stdin to its end, so ClickHouse
      // runs until stdin is closed.
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
            <!-- inserts have priority over merges, if the user may set nice values -->
            <os_threads_nice_value_merge_mutate>10</os_threads_nice_value_merge_mutate>
            <access_control_improvements>
              <table_engines_require_grant>true</table_engines_require_grant>
              <select_from_system_db_requires_grant>true</select_from_system_db_requires_grant>
              <select_from_information_schema_requires_grant>true</select_from_information_schema_requires_grant>
            </access_control_improvements>
            <!-- Browsers add Origin to each request of a web page that can change anything. -->
            <http_handlers>
              <rule>
                <headers><Origin>regex:.+</Origin></headers>
                <handler>
                  <type>static</type>
                  <status>403</status>
                  <content_type>text/plain; charset=UTF-8</content_type>
                  <response_content>ClickHouse accepts no requests of web pages.</response_content>
                </handler>
              </rule>
              <defaults/>
            </http_handlers>
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
     * Returns the configuration of the users. The user {@code default} runs the start-up query,
     * without a password; ClickHouse cannot change that. So {@code default} may run only that
     * query, in a single session: the start-up query opens the session before the ports are open
     * and closes it after they are closed.
     *
     * <p>The gateway's user has all rights on the rows, columns and tables of its database, and no
     * others: none on dictionaries, sources, users or the server, and no table engine but those of
     * the schema. KILL QUERY needs no grant for its own queries. A table setting could name another
     * disk, which is a directory or a URL; the other constraints keep responses unreadable for web
     * pages.
     */
    private String usersXml() {
      return """
          <clickhouse>
            <profiles>
              <default></default>
              <starter><max_sessions_for_user>1</max_sessions_for_user></starter>
              <gateway>
                <constraints>
                  <add_http_cors_header><const/></add_http_cors_header>
                  <http_response_headers><const/></http_response_headers>
                  <merge_tree_disk><const/></merge_tree_disk>
                  <merge_tree_storage_policy><const/></merge_tree_storage_policy>
                </constraints>
              </gateway>
              <reader>
                <readonly>1</readonly>
                <max_memory_usage>2000000000</max_memory_usage>
                <max_execution_time>60</max_execution_time>
                <max_threads>2</max_threads>
                <max_concurrent_queries_for_user>4</max_concurrent_queries_for_user>
              </reader>
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
              %1$s
              %2$s
              %3$s
            </users>
          </clickhouse>
          """
          .formatted(
              userXml(
                  settings.user(),
                  password,
                  "gateway",
                  """
                  GRANT SELECT, INSERT, OPTIMIZE, TRUNCATE, CREATE TABLE, CREATE VIEW, DROP TABLE,
                    DROP VIEW, ALTER UPDATE, ALTER DELETE, ALTER COLUMN, ALTER INDEX,
                    ALTER CONSTRAINT, ALTER TTL, ALTER SETTINGS, ALTER VIEW MODIFY QUERY
                    ON default.*""",
                  "GRANT TABLE ENGINE ON MergeTree",
                  "GRANT TABLE ENGINE ON ReplacingMergeTree",
                  "GRANT TABLE ENGINE ON SummingMergeTree",
                  "GRANT TABLE ENGINE ON AggregatingMergeTree",
                  "GRANT SELECT ON system.parts",
                  "GRANT SELECT ON system.tables",
                  "GRANT SELECT ON system.columns",
                  "GRANT SELECT ON system.processes",
                  "GRANT SELECT ON system.merge_tree_settings"),
              userXml(READER, readerPassword, "reader", "GRANT SELECT ON default.*"),
              settings.administrator()
                  ? userXml(
                      ADMINISTRATOR,
                      password,
                      "default",
                      """
                      GRANT SHOW, SELECT, INSERT, ALTER, TRUNCATE, OPTIMIZE, CREATE TABLE,
                        CREATE VIEW, DROP TABLE, DROP VIEW ON default.*""",
                      "GRANT SELECT, SHOW ON system.*",
                      "GRANT TABLE ENGINE ON *",
                      """
                      GRANT CREATE TEMPORARY TABLE, KILL QUERY, SYSTEM MERGES, SYSTEM FLUSH
                        ON *.*""")
                  : "");
    }

    private static String userXml(String user, String password, String profile, String... grants) {
      StringBuilder queries = new StringBuilder();
      for (String grant : grants) {
        queries.append("<query>").append(grant).append("</query>\n");
      }
      return """
          <%1$s>
            <password_sha256_hex>%2$s</password_sha256_hex>
            <networks><ip>127.0.0.1</ip></networks>
            <profile>%3$s</profile>
            <quota>default</quota>
            <grants>
          %4$s</grants>
          </%1$s>"""
          .formatted(user, sha256(password), profile, queries);
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
