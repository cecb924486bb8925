package dev.sluice.engines;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

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
 * <p>A library that runs here owns the signal handlers of the process for memory faults. HotSpot
 * uses these signals in compiled code; this JVM therefore only interprets ({@code -Xint}).
 */
final class EngineHost {

  /** The first word of the line on stdout with the process id of the engine. */
  static final String PID = "SLUICE-ENGINE-PID";

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
   * The time in seconds after which the engine is killed. Both engines survive SIGKILL without loss
   * of acknowledged data. ClickHouse waits for idle HTTP connections before it exits.
   */
  static final int GRACE_SECONDS = 5;

  private static final int SIGKILL = 9;

  private static final long STACK_BYTES = 64L << 20;

  private static final Linker LINKER = Linker.nativeLinker();

  private EngineHost() {}

  public static void main(String[] arguments) throws Throwable {
    libc("setsid");
    List<String> rest = Arrays.asList(arguments).subList(2, arguments.length);
    if (arguments[0].equals(LIBRARY)) {
      runLibrary(arguments[1], rest);
    } else {
      runCommand(Long.parseLong(arguments[1]), rest);
    }
  }

  private static void runCommand(long graceMillis, List<String> command) throws Exception {
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
    announce(started[0].pid());
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
            null, () -> Runtime.getRuntime().halt(call(main, command)), "engine", STACK_BYTES);
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
    announce(ProcessHandle.current().pid());
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

  private static void announce(long pid) {
    System.out.println(PID + " " + pid);
    System.out.flush();
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
