package dev.sluice.api.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.core.ingest.MemoryBudget;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class ReservationTest {
  private final MemoryBudget budget = new MemoryBudget(100);
  private final Reservation reservation = new Reservation(budget, () -> Duration.ofSeconds(3));

  @Test
  void add_withinTheBudget_isHeldUntilClosed() {
    reservation.add(60);
    reservation.add(40);
    reservation.remove(10);

    assertThat(budget.used()).isEqualTo(90);
    reservation.close();
    assertThat(budget.used()).isZero();
  }

  @Test
  void add_overTheBudget_isRefusedAndHoldsNoMore() {
    reservation.add(60);

    assertThatThrownBy(() -> reservation.add(41)).isInstanceOf(RequestRefused.class);
    assertThat(budget.used()).isEqualTo(60);
  }

  @Test
  void close_shared_givesBackWithItsLastOwner() {
    reservation.add(60);
    var other = reservation.share();

    reservation.close();
    assertThat(budget.used()).isEqualTo(60);
    other.close();

    assertThat(budget.used()).isZero();
  }

  @Test
  void add_closedMeanwhile_isRefusedAndLeaksNothing() {
    reservation.add(60);
    reservation.close();

    assertThatThrownBy(() -> reservation.add(1)).isInstanceOf(RequestRefused.class);
    assertThatThrownBy(reservation::share).isInstanceOf(RequestRefused.class);
    reservation.remove(10);

    assertThat(budget.used()).isZero();
  }
}
