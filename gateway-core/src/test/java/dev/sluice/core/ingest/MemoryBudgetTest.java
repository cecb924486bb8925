package dev.sluice.core.ingest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;

class MemoryBudgetTest {
  private final MemoryBudget budget = new MemoryBudget(10);

  @Test
  void reserve_upToTheLimitAndMore_succeedsAndFails() {
    assertThat(budget.reserve(6)).isTrue();
    assertThat(budget.reserve(5)).isFalse();
    assertThat(budget.reserve(4)).isTrue();
    assertThat(budget.reserve(1)).isFalse();
    assertThat(budget.used()).isEqualTo(10);
    assertThat(budget.limit()).isEqualTo(10);
  }

  @Test
  void release_reservedBytes_areAvailable() {
    assertThat(budget.reserve(10)).isTrue();

    budget.release(3);

    assertThat(budget.reserve(4)).isFalse();
    assertThat(budget.reserve(3)).isTrue();
  }

  @Test
  void budget_notPositive_throws() {
    assertThatIllegalArgumentException().isThrownBy(() -> new MemoryBudget(0));
  }
}
