package dev.sluice.api.faults;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The short form of {@code make faults}: one round of the most important faults. */
@Timeout(180)
class FaultsIT {
  @TempDir Path folder;

  static Stream<List<String>> rows() {
    return Stream.of(
        List.of("gateway-kill", "redis-kill", "clickhouse-kill", "all-kill"),
        List.of("append-cut", "insert-cut"),
        List.of("redis-full"),
        List.of("poison"),
        List.of("redis-gone"),
        List.of("wal-kill", "wal-bit", "wal-node-twice"));
  }

  @ParameterizedTest
  @MethodSource("rows")
  void fault_underLoad_losesAndDuplicatesNothing(List<String> names) {
    var result = FaultSuite.run(combined(names), names.size(), System.nanoTime(), folder);

    assertThat(result.failures()).isEmpty();
    assertThat(result.evidence().values().stream().mapToInt(Integer::intValue).sum())
        .isEqualTo(names.size());
    assertThat(result.count().acknowledged()).isPositive();
    assertThat(result.count().lost()).isZero();
    assertThat(result.count().duplicated()).isZero();
  }

  /**
   * Combines the faults to one that injects them in sequence on one site, to save further starts.
   */
  private static Fault combined(List<String> names) {
    var faults = names.stream().map(FaultSuite::byName).toList();
    var first = faults.getFirst();
    assertThat(faults).extracting(Fault::plan).containsOnly(first.plan());
    var next = faults.iterator();
    return new Fault(
        first.name(),
        faults.size(),
        first.plan(),
        first.recoveryTimeout(),
        round -> next.next().injection().run(round));
  }
}
