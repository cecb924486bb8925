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
 * Where the threads of a JVM spent their CPU, by samples of it ({@code jdk.CPUTimeSample}, JEP
 * 509). What the kernel and native code did counts for the method that called them; the collector's
 * and the compiler's threads are not in it.
 */
final class Profile {
  static final String SAMPLE = "jdk.CPUTimeSample";
  static final String LOST = "jdk.CPUTimeSamplesLost";
  private static final String OURS = "dev.sluice.";
  private static final Set<String> OF_THE_JDK = Set.of("java", "javax", "jdk", "sun");
  private static final String JDK = "jdk";

  /** Of classes that the JVM makes for lambdas: what they call tells more. */
  private static final String LAMBDA = "$$Lambda";

  private static final String NOT_KNOWN = "not known";

  private long taken;
  private long lost;
  private final Box root = new Box("all", Kind.THREADS);
  private final Map<String, Long> frames = new HashMap<>();
  private final Map<String, Long> libraries = new HashMap<>();

  /** Of what a box stands for. */
  enum Kind {
    THREADS,
    OURS,
    LIBRARY,
    JDK
  }

  /**
   * A part of the stacks, and what they have in common up to it. A method of ours is one, and so is
   * a run of methods of one library: nobody here can change what is between them.
   */
  static final class Box {
    private final String name;
    private final Kind kind;
    private final Map<String, Box> above = new TreeMap<>();
    private long nanos;

    private Box(String name, Kind kind) {
      this.name = name;
      this.kind = kind;
    }

    String name() {
      return name;
    }

    Kind kind() {
      return kind;
    }

    /** Of CPU. */
    long nanos() {
      return nanos;
    }

    /** By their names. */
    List<Box> above() {
      return List.copyOf(above.values());
    }
  }

  /**
   * @param part of all, from 0 to 1
   */
  record Share(String name, double part) {}

  static Profile read(Path recording) throws IOException {
    var profile = new Profile();
    try (var file = new RecordingFile(recording)) {
      while (file.hasMoreEvents()) {
        var event = file.readEvent();
        switch (event.getEventType().getName()) {
          case SAMPLE -> profile.add(event);
          case LOST -> profile.lost += event.getInt("lostSamples");
          default -> {}
        }
      }
    }
    if (profile.root.nanos == 0) {
      throw new IOException("there is no " + SAMPLE + " in " + recording);
    }
    return profile;
  }

  private void add(RecordedEvent event) {
    var trace = event.getStackTrace();
    var stack =
        trace == null
            ? List.<RecordedFrame>of()
            : trace.getFrames().stream().filter(Profile::isTelling).toList();
    long nanos = event.getDuration("samplingPeriod").toNanos(); // longer where one was missed
    root.nanos += nanos;
    taken++;
    var box = enter(root, thread(event), Kind.THREADS, nanos);
    for (var frame : stack.reversed()) {
      var name = box(frame);
      if (!box.name.equals(name)) {
        box = enter(box, name, kind(type(frame)), nanos);
      }
    }
    frames.merge(stack.isEmpty() ? NOT_KNOWN : method(stack.getFirst()), nanos, Long::sum);
    var whose =
        stack.stream()
            .map(frame -> library(type(frame)))
            .filter(library -> !library.equals(JDK))
            .findFirst();
    libraries.merge(whose.orElse(NOT_KNOWN), nanos, Long::sum);
  }

  private static boolean isTelling(RecordedFrame frame) {
    return frame.isJavaFrame() && !type(frame).contains(LAMBDA);
  }

  private static String type(RecordedFrame frame) {
    return frame.getMethod().getType().getName();
  }

  private static Kind kind(String type) {
    if (type.startsWith(OURS)) {
      return Kind.OURS;
    }
    return library(type).equals(JDK) ? Kind.JDK : Kind.LIBRARY;
  }

  private static Box enter(Box below, String name, Kind kind, long nanos) {
    var box = below.above.computeIfAbsent(name, unknown -> new Box(unknown, kind));
    box.nanos += nanos;
    return box;
  }

  /** Threads of one kind are one. */
  private static String thread(RecordedEvent event) {
    var thread = event.getThread("eventThread");
    var name = thread == null ? null : thread.getJavaName();
    if (name == null || name.isEmpty()) {
      return thread != null && thread.isVirtual() ? "virtual threads" : NOT_KNOWN;
    }
    return name.replaceFirst("[-\\d]+$", "");
  }

  private static String box(RecordedFrame frame) {
    var type = type(frame);
    return type.startsWith(OURS) ? method(frame) : library(type);
  }

  private static String method(RecordedFrame frame) {
    var type = type(frame);
    return type.substring(type.lastIndexOf('.') + 1) + "." + frame.getMethod().getName();
  }

  /** The room, of ours; else as much of the package's name as tells the library. */
  private static String library(String type) {
    var parts = type.split("\\.", -1);
    if (OF_THE_JDK.contains(parts[0])) {
      return JDK;
    }
    int kept = type.startsWith(OURS) ? 3 : 2;
    return String.join(".", List.of(parts).subList(0, Math.clamp(parts.length - 1, 1, kept)));
  }

  /** Of the samples, those that could not be taken: the thread was busy inside the JVM. */
  double lost() {
    return (double) lost / (taken + lost);
  }

  Box root() {
    return root;
  }

  /** Methods at the top of the stacks, with what they called in native code. */
  List<Share> frames() {
    return shares(frames);
  }

  /** By the topmost method that is not the JDK's. */
  List<Share> libraries() {
    return shares(libraries);
  }

  /** The largest first. */
  private List<Share> shares(Map<String, Long> nanos) {
    return nanos.entrySet().stream()
        .map(each -> new Share(each.getKey(), (double) each.getValue() / root.nanos))
        .sorted(Comparator.comparingDouble(Share::part).reversed().thenComparing(Share::name))
        .toList();
  }
}
