package dev.sluice.engines;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.ProcessBuilder.Redirect;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The main class of the small JVM between the gateway and one engine.
 *
 * <p>The host starts a session of its own, so that Ctrl-C at the terminal reaches only the gateway,
 * which then drains while the engines still respond. The host stops its engine when its stdin
 * closes, which the kernel does however the gateway ends. Both triggers (the end of stdin, SIGTERM)
 * run the same shutdown hook.
 *
 * <p>This class file is copied into the run directory and is the complete class path of that JVM,
 * because the gateway may be a nested jar, which a plain class path cannot name. So this class must
 * have no nested class and use only the JDK.
 *
 * <p>The files of the engine are created for their owner only. On Linux with Landlock, ClickHouse
 * is confined: it reads and writes only its own directories, reads the system's, opens no TCP
 * connection, and a library runs no program. The grants of its users do not suffice, because in
 * local mode the SQL function {@code file} reads any path, without a grant.
 *
 * <p>A library that runs here owns the signal handlers of the process for memory faults. HotSpot
 * uses these signals in compiled code; this JVM therefore only interprets ({@code -Xint}).
 */
final class EngineHost {

  /**
   * The first word of the line on stdout with the process id of the engine and, when the engine is
   * not confined although it should be, {@link #UNCONFINED}.
   */
  static final String PID = "SLUICE-ENGINE-PID";

  static final String UNCONFINED = "unconfined";

  /**
   * The first argument that runs {@code chdb_query_cmdline} of a library; the path of the library
   * and its arguments follow.
   */
  static final String LIBRARY = "library";

  /**
   * The first argument that runs a command. The milliseconds that the command may take to exit
   * after its stdin is closed, before it gets a SIGTERM, and the command line follow.
   */
  static final String COMMAND = "command";

  /**
   * Like {@link #COMMAND}; the command is confined to the working directory and {@code ../data}.
   */
  static final String CONFINED_COMMAND = "confined-command";

  /**
   * The time in seconds after which the engine is killed. Both engines survive SIGKILL without loss
   * of acknowledged data. ClickHouse waits for idle HTTP connections before it exits.
   */
  static final int GRACE_SECONDS = 5;

  private static final int SIGKILL = 9;

  private static final long STACK_BYTES = 64L << 20;

  /** The mode bits that new files do not get. */
  private static final int OWNER_ONLY_UMASK = 0077;

  // linux/prctl.h, fcntl.h and linux/landlock.h; the numbers are those of all architectures
  private static final int PR_SET_NO_NEW_PRIVS = 38;
  private static final int O_PATH_CLOEXEC = 0x280000;
  private static final long LANDLOCK_CREATE_RULESET = 444;
  private static final long LANDLOCK_ADD_RULE = 445;
  private static final long LANDLOCK_RESTRICT_SELF = 446;
  private static final long LANDLOCK_VERSION_FLAG = 1;
  private static final long LANDLOCK_PATH_BENEATH = 1;

  /** The first version that can allow a rename into another directory, which ClickHouse needs. */
  private static final long LANDLOCK_MIN_VERSION = 2;

  private static final long LANDLOCK_TRUNCATE_VERSION = 3;
  private static final long LANDLOCK_TCP_VERSION = 4;

  private static final long FS_EXECUTE = 1;
  private static final long FS_READ = 1 << 2 | 1 << 3;

  /** All rights on files and directories of version 2. */
  private static final long FS_ALL = (1 << 14) - 1;

  private static final long FS_TRUNCATE = 1 << 14;

  /** The rights that a rule for a file can have. */
  private static final long FS_OF_FILES = FS_EXECUTE | 1 << 1 | 1 << 2 | FS_TRUNCATE;

  private static final long NET_CONNECT_TCP = 1 << 1;

  private static final Linker LINKER = Linker.nativeLinker();

  private EngineHost() {}

  public static void main(String[] arguments) throws Throwable {
    libc("setsid");
    libc("umask", OWNER_ONLY_UMASK);
    List<String> rest = Arrays.asList(arguments).subList(2, arguments.length);
    if (arguments[0].equals(LIBRARY)) {
      runLibrary(arguments[1], rest);
    } else {
      runCommand(arguments[0].equals(CONFINED_COMMAND), Long.parseLong(arguments[1]), rest);
    }
  }

  private static void runCommand(boolean confined, long graceMillis, List<String> command)
      throws Exception {
    // the process inherits the domain of this thread
    boolean unconfined = confined && !confine(Path.of(command.getFirst()), FS_EXECUTE);
    // The hook is registered first and waits for a launch in progress, so a signal between the two
    // leaves no process behind.
    ReentrantLock starting = new ReentrantLock();
    Process[] started = new Process[1];
    starting.lock();
    try {
      addShutdownHook(
          () -> {
            starting.lock();
            try {
              if (started[0] != null) {
                stop(started[0], graceMillis);
              }
            } finally {
              starting.unlock();
            }
          });
      started[0] =
          new ProcessBuilder(command)
              .redirectOutput(Redirect.INHERIT)
              .redirectError(Redirect.INHERIT)
              .start();
    } catch (IOException e) {
      System.err.println(e.getMessage());
      Runtime.getRuntime().halt(1);
    } finally {
      starting.unlock();
    }
    announce(started[0].pid(), unconfined);
    exitWhenClosed(System.in);
    Runtime.getRuntime().halt(started[0].waitFor());
  }

  private static void stop(Process engine, long graceMillis) {
    try {
      engine.getOutputStream().close();
      if (engine.waitFor(graceMillis, TimeUnit.MILLISECONDS)) {
        return;
      }
      engine.destroy();
      if (engine.waitFor(GRACE_SECONDS, TimeUnit.SECONDS)) {
        return;
      }
    } catch (IOException | InterruptedException _) {
      // killed below
    }
    engine.destroyForcibly();
  }

  private static void runLibrary(String path, List<String> command) throws Throwable {
    try {
      System.load(path);
    } catch (UnsatisfiedLinkError e) {
      System.err.println(e.getMessage());
      Runtime.getRuntime().halt(1);
    }
    MethodHandle main =
        LINKER.downcallHandle(
            SymbolLookup.loaderLookup().findOrThrow("chdb_query_cmdline"),
            FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS));

    // The library exits at the end of its stdin. It gets a pipe of this process as stdin, so that
    // the hook can end it for other reasons too, and so that this process sees the end of the real
    // stdin and limits the time until the exit.
    int stdin = libc("dup", 0);
    MemorySegment pipe = Arena.global().allocate(JAVA_INT, 2);
    pipe(pipe);
    libc("dup2", pipe.getAtIndex(JAVA_INT, 0), 0);
    libc("close", pipe.getAtIndex(JAVA_INT, 0));
    int stopper = pipe.getAtIndex(JAVA_INT, 1);

    Thread engine =
        new Thread(
            null,
            () -> {
              // the threads of the library inherit the domain of this thread; those of the JVM have
              // none
              announce(ProcessHandle.current().pid(), !confine(Path.of(path), 0));
              Runtime.getRuntime().halt(call(main, command));
            },
            "engine",
            STACK_BYTES);
    addShutdownHook(
        () -> {
          try {
            libc("close", stopper);
            engine.join(TimeUnit.SECONDS.toMillis(GRACE_SECONDS));
            // not exit(3), which runs the destructors of the library while its threads run
            libc("kill", (int) ProcessHandle.current().pid(), SIGKILL);
          } catch (Throwable _) {
            Runtime.getRuntime().halt(1);
          }
        });
    engine.start();
    exitWhenClosed(new FileInputStream("/dev/fd/" + stdin));
  }

  private static int call(MethodHandle main, List<String> command) {
    Arena arena = Arena.global();
    MemorySegment argv = arena.allocate(ADDRESS, command.size() + 1L);
    for (int i = 0; i < command.size(); i++) {
      argv.setAtIndex(ADDRESS, i, arena.allocateFrom(command.get(i)));
    }
    try {
      return (int) main.invokeExact(command.size(), argv);
    } catch (Throwable e) {
      System.err.println(e);
      return 1;
    }
  }

  private static void announce(long pid, boolean unconfined) {
    System.out.println(PID + " " + pid + (unconfined ? " " + UNCONFINED : ""));
    System.out.flush();
  }

  /**
   * Confines this thread, and the threads and processes that it starts from now on. Returns false
   * when the operating system cannot do that; the reason is on stderr then.
   *
   * @param program the program or library of the engine
   * @param execute {@link #FS_EXECUTE} when the engine is a program, 0 when it is a library
   */
  private static boolean confine(Path program, long execute) {
    try (Arena arena = Arena.ofConfined()) {
      long version = syscall(LANDLOCK_CREATE_RULESET, MemorySegment.NULL, 0, LANDLOCK_VERSION_FLAG);
      if (version < LANDLOCK_MIN_VERSION) {
        throw new IOException("the kernel has no Landlock, or an early version");
      }
      long all = version < LANDLOCK_TRUNCATE_VERSION ? FS_ALL : FS_ALL | FS_TRUNCATE;
      MemorySegment handled = arena.allocate(JAVA_LONG, 2);
      handled.setAtIndex(JAVA_LONG, 0, all);
      handled.setAtIndex(JAVA_LONG, 1, NET_CONNECT_TCP);
      long size = version < LANDLOCK_TCP_VERSION ? JAVA_LONG.byteSize() : handled.byteSize();
      int ruleset = (int) syscall(LANDLOCK_CREATE_RULESET, handled, size, 0);
      if (ruleset < 0) {
        throw new IOException("landlock_create_ruleset(2) failed");
      }
      Path run = Path.of("").toAbsolutePath();
      allow(ruleset, run, all & ~FS_EXECUTE);
      allow(ruleset, run.resolveSibling("data"), all & ~FS_EXECUTE);
      for (String system : new String[] {"/usr", "/lib", "/lib64", "/bin", "/sys", "/dev"}) {
        allow(ruleset, Path.of(system), FS_READ | execute);
      }
      // not all of /proc, which has the environment of the gateway
      for (String file : new String[] {"self", "sys", "meminfo", "cpuinfo", "stat", "loadavg"}) {
        Path path = Path.of("/proc", file);
        allow(ruleset, path, Files.isDirectory(path) ? FS_READ : FS_READ & FS_OF_FILES);
      }
      allow(ruleset, Path.of("/dev/null"), all & FS_OF_FILES & ~FS_EXECUTE);
      allow(ruleset, program, FS_READ & FS_OF_FILES | execute);
      if (execute != 0) {
        allow(ruleset, Path.of(System.getProperty("java.home")), FS_READ | execute);
      }
      MethodHandle prctl =
          LINKER.downcallHandle(
              LINKER.defaultLookup().findOrThrow("prctl"),
              FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG),
              Linker.Option.firstVariadicArg(1));
      int privileges = (int) prctl.invokeExact(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L);
      if (privileges != 0
          || syscall(LANDLOCK_RESTRICT_SELF, MemorySegment.ofAddress(ruleset), 0, 0) != 0) {
        throw new IOException("landlock_restrict_self(2) failed");
      }
      libc("close", ruleset);
      return true;
    } catch (Throwable e) {
      System.err.println("the engine is not confined: " + e.getMessage());
      return false;
    }
  }

  /** Allows accesses to a file, or to a directory and all below it, if it exists. */
  private static void allow(int ruleset, Path path, long accesses) throws Throwable {
    if (!Files.exists(path)) {
      return;
    }
    try (Arena arena = Arena.ofConfined()) {
      MethodHandle open =
          LINKER.downcallHandle(
              LINKER.defaultLookup().findOrThrow("open"),
              FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT),
              Linker.Option.firstVariadicArg(2));
      int descriptor = (int) open.invokeExact(arena.allocateFrom(path.toString()), O_PATH_CLOEXEC);
      if (descriptor < 0) {
        throw new IOException("cannot open " + path);
      }
      MemorySegment rule = arena.allocate(JAVA_LONG, 2);
      rule.set(JAVA_LONG, 0, accesses);
      rule.set(JAVA_INT, JAVA_LONG.byteSize(), descriptor);
      long result =
          syscall(
              LANDLOCK_ADD_RULE,
              MemorySegment.ofAddress(ruleset),
              LANDLOCK_PATH_BENEATH,
              rule.address(),
              0);
      libc("close", descriptor);
      if (result != 0) {
        throw new IOException("landlock_add_rule(2) failed for " + path);
      }
    }
  }

  private static long syscall(long number, MemorySegment first, long... more) throws Throwable {
    MethodHandle handle =
        LINKER.downcallHandle(
            LINKER.defaultLookup().findOrThrow("syscall"),
            FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_LONG),
            Linker.Option.firstVariadicArg(1));
    return (long)
        handle.invokeExact(number, first, more[0], more[1], more.length > 2 ? more[2] : 0L);
  }

  private static void addShutdownHook(Runnable action) {
    Runtime.getRuntime().addShutdownHook(new Thread(action, "end"));
  }

  private static void exitWhenClosed(InputStream stdin) {
    Thread watch =
        new Thread(
            () -> {
              try {
                while (stdin.read() >= 0) {}
              } catch (IOException _) {
                // equivalent to the end of the stream
              }
              System.exit(0);
            },
            "stdin");
    watch.setDaemon(true);
    watch.start();
  }

  private static void pipe(MemorySegment descriptors) throws Throwable {
    MethodHandle pipe =
        LINKER.downcallHandle(
            LINKER.defaultLookup().findOrThrow("pipe"), FunctionDescriptor.of(JAVA_INT, ADDRESS));
    int result = (int) pipe.invokeExact(descriptors);
    if (result != 0) {
      throw new IOException("pipe(2) failed");
    }
  }

  private static int libc(String function, int... arguments) throws Throwable {
    MemoryLayout[] parameters = new MemoryLayout[arguments.length];
    Arrays.fill(parameters, JAVA_INT);
    MethodHandle handle =
        LINKER.downcallHandle(
            LINKER.defaultLookup().findOrThrow(function),
            FunctionDescriptor.of(JAVA_INT, parameters));
    Object[] boxed = Arrays.stream(arguments).boxed().toArray();
    return (int) handle.invokeWithArguments(boxed);
  }
}
