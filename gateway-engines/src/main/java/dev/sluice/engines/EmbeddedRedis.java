package dev.sluice.engines;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.embedded.core.ExecutableProvider;
import redis.embedded.model.OsArchitecture;

/**
 * A running Redis of our own, on loopback, with its append-only file on: started again when it
 * dies, ended by {@link #close} and with this process, however that ends.
 *
 * <p>It is the {@code redis-server} on the PATH, else one that a jar brings along. Its password is
 * generated once and kept beside the data. When its memory is full it refuses to write rather than
 * forget.
 *
 * <p>All methods may be called from any thread.
 */
public final class EmbeddedRedis implements AutoCloseable {

  /**
   * What to start.
   *
   * @param directory a folder for this engine alone, made when absent; data in it survive
   * @param port on loopback, 0 for any free one
   * @param maxMemory in the words of Redis, for example {@code 1gb}
   */
  public record Settings(Path directory, int port, String maxMemory) {

    private static final Pattern MEMORY = Pattern.compile("\\d+([kmg]b?)?");

    /**
     * Checks the memory, which goes into a configuration file.
     *
     * @throws IllegalArgumentException when it is no number with a unit
     */
    public Settings {
      if (!MEMORY.matcher(maxMemory).matches()) {
        throw new IllegalArgumentException(
            "sluice.engines.redis.max-memory is '%s'; it must be like 512mb or 1gb"
                .formatted(maxMemory));
      }
    }
  }

  private static final Logger LOG = LoggerFactory.getLogger(EmbeddedRedis.class);

  /**
   * From this major version on the append-only file is a folder that older ones do not look into.
   */
  private static final int AOF_DIRECTORY_SINCE = 7;

  /** A full memory's worth is read from disk before it answers. */
  private static final Duration START_TIMEOUT = Duration.ofMinutes(5);

  private static final Duration POLL_INTERVAL = Duration.ofMillis(20);

  private final Supervisor supervisor;
  private final RedisLaunchSpec launchSpec;

  private EmbeddedRedis(Supervisor supervisor, RedisLaunchSpec launchSpec) {
    this.supervisor = supervisor;
    this.launchSpec = launchSpec;
  }

  /**
   * Starts Redis and returns when it answers, its data loaded.
   *
   * @throws EngineStartException when it cannot be started, in particular when the data were
   *     written by a newer Redis, which an older one would not see; nothing is left running then
   */
  public static EmbeddedRedis start(Settings settings) {
    return start(settings, SystemEnvironment.current());
  }

  static EmbeddedRedis start(Settings settings, SystemEnvironment environment) {
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

  /** Loopback port; the same for the life of this object. */
  public int port() {
    return launchSpec.port;
  }

  /** Letters and digits only; the same as long as the data exist. */
  public String password() {
    return launchSpec.password;
  }

  /** With the password in it, for example {@code redis://:PASSWORD@127.0.0.1:16379}. */
  public String url() {
    return "redis://:" + password() + "@127.0.0.1:" + port();
  }

  /** The process whose CPU and memory are Redis's, -1 while there is none. */
  public long pid() {
    return supervisor.pid();
  }

  /** Whether it runs and has answered. */
  public boolean alive() {
    return supervisor.alive();
  }

  /** kill -9, for failure tests: it is started again on the same port. */
  public void kill() {
    supervisor.kill();
  }

  /** Takes it away until {@link #restart}. Returns when it has ended. */
  public void stop() {
    supervisor.stop();
  }

  /**
   * Ends it when it runs and starts it again, with its data and on the same port.
   *
   * @throws EngineStartException when it cannot be started; {@code restart} may be tried again
   */
  public void restart() {
    supervisor.stop();
    supervisor.start();
  }

  /** Lets it write what it holds, kills it when that takes longer than ten seconds; idempotent. */
  @Override
  public void close() {
    supervisor.close();
  }

  /** How this Redis is started, again and again. */
  private static final class RedisLaunchSpec implements Supervisor.Engine {

    private final Settings settings;
    private final SystemEnvironment environment;
    private final EngineDataDir dataDir;
    private final Path program;
    private final Version version;
    private final String password;
    // set by the first life, kept by the later ones; volatile since those run on other threads
    private volatile int port;

    RedisLaunchSpec(Settings settings, SystemEnvironment environment, EngineDataDir dataDir) {
      this.settings = settings;
      this.environment = environment;
      this.dataDir = dataDir;
      Path command = environment.findExecutable("redis-server");
      program = command == null ? extractBundled() : command;
      Version found = Version.detect(environment, program, "--version");
      if (found == null) {
        throw new EngineStartException(
            "%s does not run on this machine; install redis-server, or use a Redis of your own by"
                    .formatted(program)
                + " sluice.redis.url");
      }
      version = found;
      requireReadableData();
      password = loadOrCreatePassword();
      port = settings.port();
      LOG.info("using {} {}", program, version);
    }

    /** The binary that the jar holds for this machine, as a file in the run folder. */
    private Path extractBundled() {
      Path file = dataDir.runPath("redis-server");
      // the jar's own way to tell the machine runs programs from the PATH
      OsArchitecture machine =
          switch (environment.platform()) {
            case "linux-x64" -> OsArchitecture.UNIX_x86_64;
            case "linux-arm64" -> OsArchitecture.UNIX_AARCH64;
            case "darwin-x64" -> OsArchitecture.MAC_OS_X_x86_64;
            case "darwin-arm64" -> OsArchitecture.MAC_OS_X_ARM64;
            default -> null;
          };
      String resource =
          machine == null ? null : ExecutableProvider.newProvidedVersionsMap().get(machine);
      try (InputStream in =
          resource == null ? null : ExecutableProvider.class.getResourceAsStream(resource)) {
        if (in == null) {
          throw new EngineStartException(
              "there is no redis-server on the PATH and none is bundled for %s; install Redis, or"
                      .formatted(environment.platform())
                  + " use one of your own by sluice.redis.url");
        }
        Files.copy(in, file, StandardCopyOption.REPLACE_EXISTING);
        Files.setPosixFilePermissions(file, EngineDataDir.OWNER_ONLY);
        return file;
      } catch (IOException e) {
        throw EngineDataDir.accessFailure(dataDir.directory(), e);
      }
    }

    /**
     * Redis refuses a file of a format it does not know, but one before {@link
     * #AOF_DIRECTORY_SINCE} does not even look where a later one writes, and would start empty.
     */
    private void requireReadableData() {
      String recordedVersion = dataDir.read(versionFile());
      int writtenBy =
          recordedVersion != null
              ? Integer.parseInt(recordedVersion)
              : Files.exists(dataDir.data().resolve("appendonlydir")) ? AOF_DIRECTORY_SINCE : 0;
      if (writtenBy > version.major()) {
        throw new EngineStartException(
            "the data in %s were written by Redis %d and %s is Redis %d, which cannot read them; put"
                    .formatted(dataDir.directory(), writtenBy, program, version.major())
                + " a redis-server %d on the PATH, or move that folder away".formatted(writtenBy));
      }
    }

    private Path versionFile() {
      return dataDir.directory().resolve("redis-major");
    }

    private String loadOrCreatePassword() {
      Path file = dataDir.directory().resolve("password");
      String existing = dataDir.read(file);
      if (existing != null && !existing.isEmpty()) {
        return existing;
      }
      byte[] random = new byte[24];
      new SecureRandom().nextBytes(random);
      String generated = HexFormat.of().formatHex(random);
      dataDir.write(file, generated + "\n");
      return generated;
    }

    @Override
    public String name() {
      return "Redis " + version;
    }

    @Override
    public Path program() {
      return program;
    }

    @Override
    public HostProcess launch() {
      port = FreePorts.allocate(port, "sluice.engines.redis.port");
      // before the first byte of data, so that no kill can leave data without it
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
