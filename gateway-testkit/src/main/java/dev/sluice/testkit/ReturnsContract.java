package dev.sluice.testkit;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.FallbackSpoolConsumer;
import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.IdempotencyStore.ClaimResult;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.core.port.Spool.RecordCounts;
import dev.sluice.core.port.SpoolConsumer.Delivery;
import dev.sluice.core.port.SpoolConsumer.DeliveryLimits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * What all {@link FallbackSpoolConsumer} keep to beside what {@link SpoolContract} asks of them.
 * Each test begins with an empty spool, in whose deliveries there is room for a hundred records at
 * least.
 */
@Timeout(60)
public abstract class ReturnsContract {
  protected abstract Spool spool();

  protected abstract IdempotencyStore keys();

  protected abstract Backlog backlog();

  /** Always the same within a life of the spool. */
  protected abstract FallbackSpoolConsumer returns();

  /** As after a kill of the process; a spool that does not outlive it does nothing. */
  protected void kill() throws Exception {}

  @Test
  void surrender_delivery_isGoneAndNoLongerAcceptedHere() throws Exception {
    append(10);
    var delivery = next().orElseThrow();
    var behind = append(5);

    returns().ackDrained(delivery);

    acceptedAndWaiting(5);
    kill();
    acceptedAndWaiting(5);
    var rest = next().orElseThrow();
    SpoolContract.assertSame(rest.batches(), List.of(behind));
    returns().ackDrained(rest);
    assertThat(next()).isEmpty();
    acceptedAndWaiting(0);
  }

  /** What was given back was settled elsewhere, if at all. */
  private void acceptedAndWaiting(long records) throws Exception {
    assertThat(spool().recordCounts()).isEqualTo(new RecordCounts(records, records, 0, 0, 0));
    assertThat(backlog().depth().entries()).isEqualTo(records == 0 ? 0 : 1);
    assertThat(spool().spoolStatus().toCompletableFuture().get(30, SECONDS).deliveredRecords())
        .isZero();
  }

  @Test
  void surrender_notHandedOut_throws() throws Exception {
    append(10);
    var delivery = next().orElseThrow();
    returns().ackDrained(delivery);

    assertThatThrownBy(() -> returns().ackDrained(delivery))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void keyOf_appendUnderAClaim_isItsKey() throws Exception {
    var key = new IdempotencyStore.IdempotencyKey("default", "order-1", new UUID(1, 2));
    var claim =
        ((ClaimResult.Granted) keys().claim(key).toCompletableFuture().get(30, SECONDS)).claim();
    var keyed = LogBatches.of(3);
    accepted(keys().append(keyed, claim, AppendMode.SYNC).toCompletableFuture().get(30, SECONDS));
    var plain = append(2);

    kill();
    var delivery = next().orElseThrow();

    assertThat(delivery.records()).isEqualTo(5);
    assertThat(returns().idempotencyKeyOf(keyed.appendId())).contains(key);
    assertThat(returns().idempotencyKeyOf(plain.appendId())).isEmpty();
    assertThat(returns().idempotencyKeyOf(UUID.randomUUID())).isEmpty();
  }

  @Test
  void nextCertain_doubtfulAmongOthers_isPassedOverAndComesLaterByNext() throws Exception {
    var before = append(10);
    var doubtful = append(20, AppendMode.POSSIBLE_DUPLICATE);
    var behind = append(30);

    var certain = certain().orElseThrow();
    SpoolContract.assertSame(certain.batches(), List.of(before, behind));
    assertThat(certain.redelivered()).isFalse();
    returns().ack(certain);

    assertThat(certain()).isEmpty();
    waiting(1, 20);
    var newer = append(40);
    var held = next().orElseThrow();
    SpoolContract.assertSame(held.batches(), List.of(doubtful));
    assertThat(held.redelivered()).isTrue();
    returns().ackDrained(held);
    SpoolContract.assertSame(next().orElseThrow().batches(), List.of(newer));
  }

  @Test
  void nextCertain_nothingButDoubtful_isEmptyAndHoldsUpNothing() throws Exception {
    var first = append(10, AppendMode.POSSIBLE_DUPLICATE);
    var second = append(20, AppendMode.POSSIBLE_DUPLICATE);

    assertThat(certain()).isEmpty();
    var behind = append(30);
    kill();
    var certain = certain().orElseThrow();
    SpoolContract.assertSame(certain.batches(), List.of(behind));
    returns().ack(certain);
    kill();

    waiting(2, 30);
    SpoolContract.assertSame(surrendered(), List.of(first, second));
    waiting(0, 0);
  }

  @Test
  void nextCertain_deliveryOfNext_isHeldAndComesAgain() throws Exception {
    var first = append(10);
    var second = append(20);
    assertThat(next().orElseThrow().batches()).hasSize(2);
    var behind = append(30);

    var certain = certain().orElseThrow();
    SpoolContract.assertSame(certain.batches(), List.of(behind));
    returns().ack(certain);
    kill();

    waiting(2, 30);
    SpoolContract.assertSame(surrendered(), List.of(first, second));
    assertThat(spool().recordCounts()).isEqualTo(new RecordCounts(30, 0, 0, 0, 0));
  }

  @Test
  void nextCertain_deliveryOfNextThatWasHeldBefore_isHeldOnceMore() throws Exception {
    var doubtful = append(10, AppendMode.POSSIBLE_DUPLICATE);
    assertThat(certain()).isEmpty();
    SpoolContract.assertSame(next().orElseThrow().batches(), List.of(doubtful));
    kill();

    assertThat(certain()).isEmpty();

    waiting(1, 10);
    SpoolContract.assertSame(surrendered(), List.of(doubtful));
  }

  @Test
  void next_unsettledDeliveryOfNextCertain_comesFirstAndAgain() throws Exception {
    append(20, AppendMode.POSSIBLE_DUPLICATE);
    var batch = append(10);
    var certain = certain().orElseThrow();

    kill();
    var certainAgain = certain().orElseThrow();
    var again = next().orElseThrow();

    assertThat(certainAgain.token()).isEqualTo(certain.token());
    assertThat(certainAgain.redelivered()).isTrue();
    assertThat(again.token()).isEqualTo(certain.token());
    SpoolContract.assertSame(again.batches(), List.of(batch));
    assertThat(again.redelivered()).isTrue();
  }

  /** Whoever has asked by next may have given some of it away. */
  @Test
  void nextCertain_deliveryOfItsOwnThatNextHandedOut_isHeld() throws Exception {
    var batch = append(10);
    returns().ack(certain().orElseThrow());
    var begun = append(20);
    assertThat(certain()).isPresent();

    kill();
    SpoolContract.assertSame(next().orElseThrow().batches(), List.of(begun));
    kill();

    assertThat(certain()).isEmpty();
    waiting(1, 20);
    SpoolContract.assertSame(surrendered(), List.of(begun));
    assertThat(spool().recordCounts()).isEqualTo(new RecordCounts(batch.records(), 0, 0, 0, 0));
  }

  @Test
  void begun_deliveryOfNextCertain_isSoUntilItIsSettledOrHandedOutByNext() throws Exception {
    assertThat(returns().hasInFlight()).isFalse();
    append(10);
    assertThat(certain()).isPresent();
    assertThat(returns().hasInFlight()).isTrue();
    kill();
    assertThat(returns().hasInFlight()).isTrue();
    returns().ack(certain().orElseThrow());
    assertThat(returns().hasInFlight()).isFalse();

    append(10);
    assertThat(certain()).isPresent();
    assertThat(next()).isPresent();
    assertThat(returns().hasInFlight()).isFalse();
  }

  @Test
  void nextToReturn_moreThanItsBounds_comesInDeliveriesWithin() throws Exception {
    var batches = new ArrayList<LogBatch>();
    for (int i = 0; i < 5; i++) {
      batches.add(append(10));
    }

    var given = new ArrayList<LogBatch>();
    var sizes = new ArrayList<Integer>();
    var deliveryLimits = new DeliveryLimits(20, Long.MAX_VALUE, Duration.ZERO);
    for (var next = returns().pollForDrain(deliveryLimits);
        next.isPresent();
        next = returns().pollForDrain(deliveryLimits)) {
      given.addAll(next.get().batches());
      sizes.add(next.get().batches().size());
      returns().ackDrained(next.get());
    }

    assertThat(sizes).containsExactly(2, 2, 1);
    SpoolContract.assertSame(given, batches);
  }

  private void waiting(long entries, long records) {
    assertThat(backlog().depth().entries()).isEqualTo(entries);
    assertThat(spool().recordCounts().inFlight()).isEqualTo(records);
    assertThat(returns().skippedEntries()).isZero();
  }

  /** Everything there is, given back in as many deliveries as it comes in. */
  private List<LogBatch> surrendered() throws InterruptedException {
    var surrendered = new ArrayList<LogBatch>();
    for (var next = next(); next.isPresent(); next = next()) {
      assertThat(next.get().redelivered()).isTrue();
      surrendered.addAll(next.get().batches());
      returns().ackDrained(next.get());
    }
    return surrendered;
  }

  private Optional<Delivery> next() throws InterruptedException {
    return returns().poll(Duration.ZERO);
  }

  private Optional<Delivery> certain() throws InterruptedException {
    return returns().pollConfirmed(Duration.ZERO, Duration.ZERO);
  }

  private LogBatch append(int records) throws Exception {
    return append(records, AppendMode.SYNC);
  }

  private LogBatch append(int records, AppendMode appendMode) throws Exception {
    var batch = LogBatches.of(records);
    accepted(spool().append(batch, appendMode).toCompletableFuture().get(30, SECONDS));
    return batch;
  }

  private static void accepted(AppendResult appendResult) {
    assertThat(appendResult).isInstanceOf(AppendResult.Accepted.class);
  }
}
