package dev.sluice.core.ingest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class MemoryReservationTest {
  private final MemoryBudget budget = new MemoryBudget(100);
  private final MemoryReservation reservation = new MemoryReservation(budget, 0);

  @Test
  void add_withinTheBudget_isReservedUntilClosed() {
    reservation.add(60);
    reservation.add(40);
    reservation.remove(10);

    assertThat(budget.used()).isEqualTo(90);
    reservation.close();
    assertThat(budget.used()).isZero();
  }

  @Test
  void add_overTheBudget_isRejectedAndReservesNoMore() {
    reservation.add(60);

    assertThatThrownBy(() -> reservation.add(41)).isInstanceOf(MemoryBudgetExceededException.class);
    assertThat(budget.used()).isEqualTo(60);
  }

  @Test
  void resize_upAndDown_reservesOrReleasesTheDifference() {
    var taken = new MemoryReservation(budget, 0);
    taken.resize(50);
    taken.resize(30);

    assertThat(budget.used()).isEqualTo(30);
    assertThatThrownBy(() -> taken.resize(200)).isInstanceOf(MemoryBudgetExceededException.class);
    taken.close();
    assertThat(budget.used()).isZero();
  }

  @Test
  void close_retained_releasesWithItsLastOwner() {
    reservation.add(60);
    var other = reservation.retain();

    reservation.close();
    assertThat(budget.used()).isEqualTo(60);
    other.close();

    assertThat(budget.used()).isZero();
  }

  @Test
  void add_afterClose_isRejectedAndLeaksNothing() {
    reservation.add(60);
    reservation.close();

    assertThatThrownBy(() -> reservation.add(1)).isInstanceOf(MemoryBudgetExceededException.class);
    assertThatThrownBy(reservation::retain).isInstanceOf(MemoryBudgetExceededException.class);
    reservation.remove(10);

    assertThat(budget.used()).isZero();
  }
}
