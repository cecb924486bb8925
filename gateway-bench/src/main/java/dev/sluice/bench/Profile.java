package dev.sluice.bench;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordingFile;

/**
 * The CPU of a JVM's threads by method, from samples ({@code jdk.CPUTimeSample}, JEP 509). The CPU
 * of the kernel and of native code counts for the method that called them; the threads of the
 * collector and the compiler are not included.
 */
final class Profile {
  static final String SAMPLE = "jdk.CPUTimeSample";
  static final String LOST_SAMPLES = "jdk.CPUTimeSamplesLost";
  private static final String APPLICATION_PACKAGE = "dev.sluice.";
  private static final Set<String> JDK_PACKAGES = Set.of("java", "javax", "jdk", "sun");
  private static final String JDK = "jdk";

  /**
   * Part of the names of the classes that the JVM creates for lambdas; their frames are skipped,
   * because the called methods are more informative.
   */
  private static final String LAMBDA = "$$Lambda";

  private static final String UNKNOWN = "unknown";

  private long sampleCount;
  private long lostCount;
  private final FlameNode root = new FlameNode("all", Kind.THREADS);
  private final Map<String, Long> frames = new HashMap<>();
  private final Map<String, Long> libraries = new HashMap<>();

  /** The kinds of boxes in a flame graph. */
  enum Kind {
    THREADS,
    APPLICATION,
    LIBRARY,
    JDK
  }

  /**
   * A node in the tree of stacks: a common prefix of stacks. A node is one method of Sluice, or
   * consecutive methods of one library, because the calls within a library cannot be changed here.
   */
  static final class FlameNode {
    private final String name;
    private final Kind kind;
    private final Map<String, FlameNode> children = new TreeMap<>();
    private long nanos;

    private FlameNode(String name, Kind kind) {
      this.name = name;
      this.kind = kind;
    }

    String name() {
      return name;
    }

    Kind kind() {
      return kind;
    }

    /** Returns the CPU time in nanoseconds. */
    long nanos() {
      return nanos;
    }

    /** Returns the children, sorted by name. */
    List<FlameNode> children() {
      return List.copyOf(children.values());
    }
  }

  /**
   * The share of a method or a library in the CPU.
   *
   * @param fraction the share, from 0 to 1
   */
  record Share(String name, double fraction) {}

  static Profile read(Path recording) throws IOException {
    var profile = new Profile();
    try (var file = new RecordingFile(recording)) {
      while (file.hasMoreEvents()) {
        var event = file.readEvent();
        switch (event.getEventType().getName()) {
          case SAMPLE -> profile.add(event);
          case LOST_SAMPLES -> profile.lostCount += event.getInt("lostSamples");
          default -> {}
        }
      }
    }
    if (profile.root.nanos == 0) {
      throw new IOException("no " + SAMPLE + " in " + recording);
    }
    return profile;
  }

  private void add(RecordedEvent event) {
    var trace = event.getStackTrace();
    var stack =
        trace == null
            ? List.<RecordedFrame>of()
            : trace.getFrames().stream().filter(Profile::isRelevant).toList();
    long nanos = event.getDuration("samplingPeriod").toNanos(); // longer after a lost sample
    root.nanos += nanos;
    sampleCount++;
    var node = addNanos(root, thread(event), Kind.THREADS, nanos);
    for (var frame : stack.reversed()) {
      var name = nodeName(frame);
      if (!node.name.equals(name)) {
        node = addNanos(node, name, kind(type(frame)), nanos);
      }
    }
    frames.merge(stack.isEmpty() ? UNKNOWN : method(stack.getFirst()), nanos, Long::sum);
    var firstLibrary =
        stack.stream()
            .map(frame -> library(type(frame)))
            .filter(library -> !library.equals(JDK))
            .findFirst();
    libraries.merge(firstLibrary.orElse(UNKNOWN), nanos, Long::sum);
  }

  private static boolean isRelevant(RecordedFrame frame) {
    return frame.isJavaFrame() && !type(frame).contains(LAMBDA);
  }

  private static String type(RecordedFrame frame) {
    return frame.getMethod().getType().getName();
  }

  private static Kind kind(String type) {
    if (type.startsWith(APPLICATION_PACKAGE)) {
      return Kind.APPLICATION;
    }
    return library(type).equals(JDK) ? Kind.JDK : Kind.LIBRARY;
  }

  private static FlameNode addNanos(FlameNode parent, String name, Kind kind, long nanos) {
    var node = parent.children.computeIfAbsent(name, unknown -> new FlameNode(unknown, kind));
    node.nanos += nanos;
    return node;
  }

  /**
   * Returns the name of a thread without its number, so that the threads of one pool share a node.
   */
  private static String thread(RecordedEvent event) {
    var thread = event.getThread("eventThread");
    var name = thread == null ? null : thread.getJavaName();
    if (name == null || name.isEmpty()) {
      return thread != null && thread.isVirtual() ? "virtual threads" : UNKNOWN;
    }
    return name.replaceFirst("[-\\d]+$", "");
  }

  private static String nodeName(RecordedFrame frame) {
    var type = type(frame);
    return type.startsWith(APPLICATION_PACKAGE) ? method(frame) : library(type);
  }

  private static String method(RecordedFrame frame) {
    var type = type(frame);
    return type.substring(type.lastIndexOf('.') + 1) + "." + frame.getMethod().getName();
  }

  /** Returns the package name shortened to the Sluice module or the library. */
  private static String library(String type) {
    var parts = type.split("\\.", -1);
    if (JDK_PACKAGES.contains(parts[0])) {
      return JDK;
    }
    int prefixLength = type.startsWith(APPLICATION_PACKAGE) ? 3 : 2;
    return String.join(
        ".", List.of(parts).subList(0, Math.clamp(parts.length - 1, 1, prefixLength)));
  }

  /**
   * Returns the share of lost samples, from 0 to 1; a sample is lost when the thread is busy inside
   * the JVM.
   */
  double lostShare() {
    return (double) lostCount / (sampleCount + lostCount);
  }

  FlameNode root() {
    return root;
  }

  /** Returns the methods at the top of the stacks, including the native code that they called. */
  List<Share> frames() {
    return shares(frames);
  }

  /** Returns the libraries, by the topmost method outside the JDK. */
  List<Share> libraries() {
    return shares(libraries);
  }

  /** Returns the shares, the largest first. */
  private List<Share> shares(Map<String, Long> nanos) {
    return nanos.entrySet().stream()
        .map(each -> new Share(each.getKey(), (double) each.getValue() / root.nanos))
        .sorted(Comparator.comparingDouble(Share::fraction).reversed().thenComparing(Share::name))
        .toList();
  }
}
