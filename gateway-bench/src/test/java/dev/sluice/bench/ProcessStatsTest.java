package dev.sluice.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class ProcessStatsTest {
  /** A gateway with its engine host processes as children, and the engines below these. */
  private static final Map<Long, List<Long>> CHILDREN =
      Map.of(1L, List.of(2L, 3L), 2L, List.of(20L), 3L, List.of(30L), 30L, List.of(300L));

  private static List<Long> tree(long root, Set<Long> excluded) {
    return ProcessStats.processTree(root, excluded, pid -> CHILDREN.getOrDefault(pid, List.of()));
  }

  @Test
  void processTree_noExclusions_hasAllDescendants() {
    assertThat(tree(1, Set.of())).containsExactlyInAnyOrder(1L, 2L, 3L, 20L, 30L, 300L);
  }

  @Test
  void processTree_excludedPids_areLeftOutWithTheirDescendants() {
    assertThat(tree(1, Set.of(20L, 3L))).containsExactlyInAnyOrder(1L, 2L);
  }

  @Test
  void processTree_rootBelowAnExcludedPid_hasItsOwnDescendants() {
    assertThat(tree(3, Set.of(1L, 20L))).containsExactlyInAnyOrder(3L, 30L, 300L);
  }

  @Test
  void cpuSecondsOfExitedChildren_exitedProgram_isCounted() throws Exception {
    double before = ProcessStats.cpuSecondsOfExitedChildren();

    LoadGenerator.run(
        Map.of(), List.of("sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"));

    assertThat(ProcessStats.cpuSecondsOfExitedChildren()).isGreaterThan(before);
  }
}
