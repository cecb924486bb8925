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
 * Checks the allocation of the benchmarks against the figures beside them. The test calls the
 * benchmark methods itself, without JMH's forks: the JVM counts the bytes, so the result does not
 * depend on the machine or its load, and about a second suffices. Time is not checked.
 *
 * <p>A method allocates more until the JIT has compiled it, which takes an unknown time. So the
 * test calls it until one round is within the figure, and fails when none is before the timeout.
 */
final class AllocationTest {
  private static final double MARGIN = 1.05;

  /**
   * The bytes per operation that are not an object: occasional growth, divided by many operations.
   */
  private static final double ROUNDING = 0.05;

  private static final Duration ROUND_DURATION = Duration.ofMillis(100);
  private static final Duration TIMEOUT = Duration.ofSeconds(10);
  private static final int MIN_CALLS = 4;

  /**
   * The benchmarks whose work is done by several threads or by the disk; their allocation depends
   * on timing.
   */
  private static final Set<String> EXCLUDED =
      Set.of(
          "dev.sluice.core.ingest.RequestBatcherBenchmark", "dev.sluice.wal.SegmentLogBenchmark");

  /**
   * One state for all methods of a class, because some states take longer to create than to
   * measure.
   */
  private static final Map<Class<?>, Object> STATES = new HashMap<>();

  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  @ParameterizedTest
  @MethodSource("measuredBenchmarks")
  void benchmark_warm_allocatesNoMoreThanItsFigure(Method benchmark) throws Throwable {
    double limit = benchmark.getAnnotation(Allocates.class).value() * MARGIN + ROUNDING;

    double allocated = lowestAllocation(benchmark, state(benchmark.getDeclaringClass()), limit);

    var name = benchmark.getDeclaringClass().getSimpleName() + "." + benchmark.getName();
    System.out.printf("%s: %.2f bytes%n", name, allocated);
    assertThat(allocated).as("bytes of an operation of %s", name).isLessThanOrEqualTo(limit);
  }

  @Test
  void everyClass_exceptThreadAndDiskBound_isMeasured() {
    var measured =
        measuredBenchmarks().map(method -> method.getDeclaringClass().getName()).distinct();

    assertThat(Stream.concat(measured, EXCLUDED.stream()))
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
    var state = STATES.get(type);
    if (state == null) {
      state = createState(type);
      STATES.put(type, state);
    }
    return state;
  }

  /** Creates a benchmark state as JMH does. */
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

  /** Returns the bytes per operation of the best round. */
  private static double lowestAllocation(Method benchmark, Object state, double limit)
      throws Throwable {
    // a handle without a result; reflection would box the result, and the box would count
    var call =
        MethodHandles.lookup()
            .unreflect(benchmark)
            .bindTo(state)
            .asType(MethodType.methodType(void.class));
    var operations = benchmark.getDeclaringClass().getAnnotation(OperationsPerInvocation.class);
    double each = operations == null ? 1 : operations.value();
    double best = Double.MAX_VALUE;
    long startNanos = System.nanoTime();
    while (best > limit && System.nanoTime() - startNanos < TIMEOUT.toNanos()) {
      best = Math.min(best, measureRound(call) / each);
    }
    return best;
  }

  /** Returns the bytes per call of one round. */
  private static double measureRound(MethodHandle call) throws Throwable {
    long calls = 0;
    long startNanos = System.nanoTime();
    long before = THREADS.getCurrentThreadAllocatedBytes();
    do {
      call.invokeExact();
      calls++;
    } while (calls < MIN_CALLS || System.nanoTime() - startNanos < ROUND_DURATION.toNanos());
    return (double) (THREADS.getCurrentThreadAllocatedBytes() - before) / calls;
  }
}
