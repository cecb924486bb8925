package dev.sluice.bench;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.runner.BenchmarkList;
import org.openjdk.jmh.runner.format.OutputFormatFactory;
import org.openjdk.jmh.runner.options.VerboseMode;

/**
 * Holds what the benchmarks allocate at the figures next to them. Calls them itself, without JMH's
 * forks: bytes are counted by the JVM, so neither the machine nor its load has a part in them, and
 * a second or so is enough. No time is looked at.
 *
 * <p>Until a method is compiled well it allocates more, and nobody can say when that will be. So it
 * is called until a round of calls keeps to the figure, and has failed only when none does for a
 * long while.
 */
final class AllocationTest {
  private static final double MARGIN = 1.05;

  /** Bytes of an operation that are no object: what grows now and then, told over many of them. */
  private static final double ROUNDING = 0.05;

  private static final Duration ROUND_DURATION = Duration.ofMillis(100);
  private static final Duration TIMEOUT = Duration.ofSeconds(10);
  private static final int MIN_CALLS = 4;

  /**
   * Their work is done by several threads or by the disk, whose allocation follows their timing.
   */
  private static final Set<String> EXCLUDED =
      Set.of(
          "dev.sluice.core.ingest.RequestBatcherBenchmark",
          "dev.sluice.core.search.EmbeddingStrategyBenchmark",
          "dev.sluice.wal.GroupCommitBenchmark",
          "dev.sluice.wal.SegmentLogBenchmark");

  /** One for all methods of a class: some take longer to make than to measure. */
  private static final Map<Class<?>, Object> STATES = new HashMap<>();

  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  @ParameterizedTest
  @MethodSource("measuredBenchmarks")
  void benchmark_warm_allocatesNoMoreThanBefore(Method benchmark) throws Throwable {
    double limit = benchmark.getAnnotation(Allocates.class).value() * MARGIN + ROUNDING;

    double allocated = lowestAllocation(benchmark, state(benchmark.getDeclaringClass()), limit);

    var name = benchmark.getDeclaringClass().getSimpleName() + "." + benchmark.getName();
    System.out.printf("%s: %.2f bytes%n", name, allocated);
    assertThat(allocated).as("bytes of an operation of %s", name).isLessThanOrEqualTo(limit);
  }

  @Test
  void everyClass_exceptThreadAndDiskBound_isMeasured() {
    var held = measuredBenchmarks().map(method -> method.getDeclaringClass().getName()).distinct();

    assertThat(Stream.concat(held, EXCLUDED.stream()))
        .containsExactlyInAnyOrderElementsOf(classes());
  }

  static Stream<Method> measuredBenchmarks() {
    return classes().stream()
        .flatMap(name -> Arrays.stream(type(name).getMethods()))
        .filter(method -> method.isAnnotationPresent(Allocates.class))
        .filter(method -> method.isAnnotationPresent(Benchmark.class));
  }

  private static List<String> classes() {
    var silence = OutputFormatFactory.createFormatInstance(System.out, VerboseMode.SILENT);
    return BenchmarkList.defaultList().getAll(silence, List.of()).stream()
        .map(entry -> entry.getUserClassQName())
        .distinct()
        .sorted()
        .toList();
  }

  private static Class<?> type(String name) {
    try {
      return Class.forName(name);
    } catch (ClassNotFoundException e) {
      throw new IllegalStateException(e);
    }
  }

  private static Object state(Class<?> type) throws ReflectiveOperationException {
    var made = STATES.get(type);
    if (made == null) {
      made = createState(type);
      STATES.put(type, made);
    }
    return made;
  }

  /** As JMH would make it. */
  private static Object createState(Class<?> type) throws ReflectiveOperationException {
    var state = type.getDeclaredConstructor().newInstance();
    for (var field : type.getDeclaredFields()) {
      if (field.isAnnotationPresent(Param.class)) {
        field.setAccessible(true);
        field.set(state, firstParam(field));
      }
    }
    for (var method : type.getMethods()) {
      if (method.isAnnotationPresent(Setup.class)) {
        method.invoke(state);
      }
    }
    return state;
  }

  private static Object firstParam(Field field) {
    var type = field.getType();
    var value = field.getAnnotation(Param.class).value()[0];
    if (type.isEnum()) {
      return Arrays.stream(type.getEnumConstants())
          .filter(constant -> value.equals(Param.BLANK_ARGS) || constant.toString().equals(value))
          .findFirst()
          .orElseThrow();
    }
    return type == int.class ? Integer.valueOf(value) : value;
  }

  /** Of the best round, for an operation. */
  private static double lowestAllocation(Method benchmark, Object state, double limit)
      throws Throwable {
    // by a handle without a result: an invocation by reflection boxes it, which would be counted
    var call =
        MethodHandles.lookup()
            .unreflect(benchmark)
            .bindTo(state)
            .asType(MethodType.methodType(void.class));
    var operations = benchmark.getDeclaringClass().getAnnotation(OperationsPerInvocation.class);
    double each = operations == null ? 1 : operations.value();
    double best = Double.MAX_VALUE;
    long begun = System.nanoTime();
    while (best > limit && System.nanoTime() - begun < TIMEOUT.toNanos()) {
      best = Math.min(best, measureRound(call) / each);
    }
    return best;
  }

  /** Bytes of a call. */
  private static double measureRound(MethodHandle call) throws Throwable {
    long calls = 0;
    long begun = System.nanoTime();
    long before = THREADS.getCurrentThreadAllocatedBytes();
    do {
      call.invokeExact();
      calls++;
    } while (calls < MIN_CALLS || System.nanoTime() - begun < ROUND_DURATION.toNanos());
    return (double) (THREADS.getCurrentThreadAllocatedBytes() - before) / calls;
  }
}
