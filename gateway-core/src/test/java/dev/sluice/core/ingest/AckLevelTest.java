package dev.sluice.core.ingest;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.ingest.IngestFixtures.Submission;
import dev.sluice.core.ingest.IngestService.BatchLimits;
import dev.sluice.core.port.DeliveryStatusReader.DeliveryStatus;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.Spool.AppendResult;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The response, its time, and the release of the memory of a request, for each ack level. */
@Timeout(30)
class AckLevelTest {
  private static final Duration POLL_INTERVAL = Duration.ofMillis(100);
  private static final AppendResult UNAVAILABLE =
      new AppendResult.Unavailable(Duration.ofSeconds(2), "unreachable");

  private final ScriptedSpool spool = new ScriptedSpool();
  private final ManualScheduler time = new ManualScheduler();
  private final CountingMetrics meter = new CountingMetrics();
  private final FakeDeadLetterLookup deadLetters = new FakeDeadLetterLookup();
  private final IngestService ingest =
      IngestFixtures.ingestService(
          spool,
          deadLetters,
          Limits.DEFAULT,
          IngestService.RecordPolicy.ACCEPT_ALL,
          new BatchLimits(100, 1 << 20, Duration.ofMillis(5)),
          time,
          time,
          meter);

  private Submission send(AckLevel level, String... bodies) {
    return IngestFixtures.submit(
        ingest,
        IngestFixtures.context("otlp", level.text(), null),
        OtlpPayload.of(IngestFixtures.request(bodies)));
  }

  private static IngestResult accepted(int accepted, AckLevel level) {
    return IngestResult.Accepted.all(accepted, level);
  }

  private List<List<String>> entries() {
    return spool.batches().stream().map(IngestFixtures::accepted).toList();
  }

  // ---- accepted

  @Test
  void accepted_appendPending_completesAndKeepsItsMemory() {
    var a = send(AckLevel.ACCEPTED, "a");

    assertThat(a.result()).isCompletedWithValue(accepted(1, AckLevel.ACCEPTED));
    assertThat(a.released()).isNotDone();
    assertThat(meter.accepted).hasValue(0);
    spool.accept(0);
    assertThat(a.released()).isCompleted();
    assertThat(meter.accepted).hasValue(1);
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void accepted_spoolUnavailable_isRetriedAsTheSameBatchUntilAppended() {
    var a = send(AckLevel.ACCEPTED, "a");
    spool.appendFuture(0).complete(UNAVAILABLE);
    time.advance(Duration.ofSeconds(2).minusNanos(1));
    assertThat(spool.batches()).hasSize(1);
    time.advance(Duration.ofNanos(1));
    spool.appendFuture(1).completeExceptionally(new IllegalStateException("connection reset"));
    time.advance(Duration.ofSeconds(1));

    assertThat(spool.batches()).hasSize(3);
    assertThat(spool.batches()).extracting(LogBatch::appendId).containsOnly(appendId(0));
    assertThat(a.released()).isNotDone();
    spool.accept(2);
    assertThat(a.released()).isCompleted();
    time.advance(Duration.ofMinutes(1));
    assertThat(spool.batches()).hasSize(3);
    assertThat(meter.accepted).hasValue(1);
    assertThat(meter.balances()).isTrue();
  }

  private UUID appendId(int append) {
    return spool.batches().get(append).appendId();
  }

  /** The mode of each entry is independent of other entries. */
  @Test
  void accepted_outcomeUnknown_isRetriedAsPossibleDuplicate() {
    send(AckLevel.ACCEPTED, "a");
    spool.appendFuture(0).complete(UNAVAILABLE);
    time.advance(Duration.ofSeconds(2));
    spool
        .appendFuture(1)
        .complete(new AppendResult.Unavailable(Duration.ofSeconds(2), "unreachable", true));
    time.advance(Duration.ofSeconds(2));
    spool.appendFuture(2).complete(UNAVAILABLE);
    time.advance(Duration.ofSeconds(2));

    assertThat(spool.modes())
        .containsExactly(
            AppendMode.LAZY,
            AppendMode.SYNC,
            AppendMode.POSSIBLE_DUPLICATE,
            AppendMode.POSSIBLE_DUPLICATE);
  }

  /** The next request waits for the end of an append, and lazy appends may take long. */
  @Test
  void accepted_usesTheLastInFlightPermit_isAppendedSync() {
    for (int i = 0; i < 8; i++) {
      send(AckLevel.ACCEPTED, "a" + i);
      time.advance(Duration.ofMillis(5));
    }

    assertThat(spool.modes().subList(0, 7)).containsOnly(AppendMode.LAZY);
    assertThat(spool.modes().subList(7, 8)).containsExactly(AppendMode.SYNC);
  }

  /** A retry of a shared entry would store logs of requests that failed as unavailable. */
  @Test
  void accepted_concurrentWithDurable_hasItsOwnEntry() {
    send(AckLevel.DURABLE, "first");
    var a = send(AckLevel.ACCEPTED, "a");
    var b = send(AckLevel.DURABLE, "b");
    var c = send(AckLevel.ACCEPTED, "c");
    spool.accept(0);

    assertThat(entries()).containsExactly(List.of("first"), List.of("a", "c"), List.of("b"));
    spool.appendFuture(1).complete(UNAVAILABLE);
    spool.appendFuture(2).complete(UNAVAILABLE);
    assertThat(b.result())
        .isCompletedWithValueMatching(it -> it instanceof IngestResult.Unavailable);
    time.advance(Duration.ofSeconds(2));
    assertThat(entries()).hasSize(4).last().isEqualTo(List.of("a", "c"));
    spool.accept(3);
    assertThat(a.released()).isCompleted();
    assertThat(c.released()).isCompleted();
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void accepted_beingRetried_doesNotBlockOthers() {
    var _ = send(AckLevel.ACCEPTED, "a");
    spool.appendFuture(0).complete(UNAVAILABLE);

    var _ = send(AckLevel.DURABLE, "b");

    assertThat(entries()).containsExactly(List.of("a"), List.of("b"));
  }

  @Test
  void close_spoolAvailableAgain_losesNothing() {
    var a = send(AckLevel.ACCEPTED, "a");
    spool.appendFuture(0).complete(UNAVAILABLE);
    spool.completeImmediately();

    assertThat(ingest.close(Duration.ofSeconds(20))).isZero();

    assertThat(entries()).containsExactly(List.of("a"), List.of("a"));
    assertThat(a.released()).isCompleted();
    assertThat(meter.lost).hasValue(0);
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void close_spoolStaysUnavailable_countsLostRecordsAndReleasesMemory() {
    var a = send(AckLevel.ACCEPTED, "a1", "a2");
    spool.appendFuture(0).complete(UNAVAILABLE);
    var b = send(AckLevel.ACCEPTED, "b");

    assertThat(ingest.close(Duration.ZERO)).isEqualTo(3);

    assertThat(a.released()).isCompleted();
    assertThat(b.released()).isCompleted();
    assertThat(meter.lost).hasValue(3);
    assertThat(meter.balances()).isTrue();
  }

  // ---- durable

  @Test
  void durable_appended_completesAndIsReleased() {
    var a = send(AckLevel.DURABLE, "a");
    assertThat(a.result()).isNotDone();
    assertThat(a.released()).isNotDone();

    spool.accept(0);

    assertThat(a.result()).isCompletedWithValue(accepted(1, AckLevel.DURABLE));
    assertThat(a.released()).isCompleted();
  }

  // ---- stored

  @Test
  void stored_appended_isReleasedAndCompletesOnceStored() {
    var a = send(AckLevel.STORED, "a");
    spool.accept(0);
    assertThat(a.released()).isCompleted();
    for (int i = 0; i < 3; i++) {
      time.advance(POLL_INTERVAL);
    }
    assertThat(a.result()).isNotDone();

    spool.setDeliveryStatus(new DeliveryStatus.Delivered());
    assertThat(a.result()).isNotDone();
    time.advance(POLL_INTERVAL);

    assertThat(a.result()).isCompletedWithValue(accepted(1, AckLevel.STORED));
    assertThat(spool.statusPolls()).hasSize(4);
    time.advance(POLL_INTERVAL.multipliedBy(10));
    assertThat(spool.statusPolls()).hasSize(4);
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void stored_sharedEntry_looksUpItsOwnRecords() {
    var _ = send(AckLevel.DURABLE, "first");
    var _ = send(AckLevel.DURABLE, "b1", "b2", "bad");
    var _ = send(AckLevel.STORED, "c1", "bad", "c2", "c3");
    spool.accept(0);
    spool.accept(1);

    time.advance(POLL_INTERVAL);

    assertThat(spool.statusPolls()).containsExactly("1");
    assertThat(deadLetters.lookups).isEmpty();

    spool.setDeliveryStatus(new DeliveryStatus.Delivered());
    time.advance(POLL_INTERVAL);

    var third = spool.batches().get(1).firstId().plus(2);
    assertThat(deadLetters.lookups).containsExactly(third.toHex() + " to " + third.plus(2).toHex());
  }

  @Test
  void stored_someBecameDeadLetters_areCounted() {
    var a = send(AckLevel.STORED, "a1", "a2", "a3");
    spool.accept(0);
    var first = spool.batches().getFirst().firstId();
    deadLetters.ids.addAll(List.of(first.plus(-1), first, first.plus(2), first.plus(3)));
    spool.setDeliveryStatus(new DeliveryStatus.Delivered());
    time.advance(POLL_INTERVAL);

    assertThat(a.result())
        .isCompletedWithValue(
            new IngestResult.Accepted(
                3, List.of(), 0, 0, ItemStatuses.ALL_ACCEPTED, AckLevel.STORED, 2, false));
  }

  /** One lookup at a time, for all requests that are delivered by then. */
  @Test
  void stored_lookupPending_isSharedByTheRequestsAfterIt() {
    var a = send(AckLevel.STORED, "a");
    var b = send(AckLevel.STORED, "b");
    var c = send(AckLevel.STORED, "c");
    spool.accept(0);
    spool.accept(1);
    spool.setDeliveryStatus(new DeliveryStatus.Delivered());
    deadLetters.hold();
    time.advance(POLL_INTERVAL);
    assertThat(deadLetters.lookups).hasSize(1);
    assertThat(a.result()).isNotDone();

    deadLetters.release();

    assertThat(List.of(a.result(), b.result(), c.result())).allMatch(CompletableFuture::isDone);
    assertThat(deadLetters.lookups).hasSize(2);
  }

  @Test
  void stored_storeUnavailableForTheLookup_asksAgain() {
    var a = send(AckLevel.STORED, "a");
    spool.accept(0);
    spool.setDeliveryStatus(new DeliveryStatus.Delivered());
    deadLetters.unavailable = true;
    time.advance(POLL_INTERVAL);
    assertThat(a.result()).isNotDone();

    deadLetters.unavailable = false;
    time.advance(POLL_INTERVAL);

    assertThat(a.result()).isCompletedWithValue(accepted(1, AckLevel.STORED));
  }

  @Test
  void stored_notInTime_isDurable() {
    var a = send(AckLevel.STORED, "a");
    spool.accept(0);
    spool.setDeliveryStatus(new DeliveryStatus.Unknown("unreachable"));
    time.advance(Duration.ofSeconds(10).minus(POLL_INTERVAL));
    assertThat(a.result()).isNotDone();

    time.advance(POLL_INTERVAL);

    assertThat(a.result()).isCompletedWithValue(accepted(1, AckLevel.DURABLE));
  }

  @Test
  void stored_spoolUnavailable_isUnavailableImmediately() {
    var a = send(AckLevel.STORED, "a");
    spool.appendFuture(0).complete(UNAVAILABLE);

    assertThat(a.result())
        .isCompletedWithValue(new IngestResult.Unavailable(Duration.ofSeconds(2)));
  }

  @Test
  void stored_schedulerFails_completesImmediately() {
    var a = send(AckLevel.STORED, "a");
    time.failFromNowOn();
    spool.accept(0);

    assertThat(a.result()).isCompletedWithValue(accepted(1, AckLevel.DURABLE));
  }

  @Test
  void anyLevel_acceptedNone_completesWithTheRequestedLevel() {
    for (var level : AckLevel.values()) {
      assertThat(send(level).result()).isCompletedWithValue(accepted(0, level));
    }
    assertThat(spool.batches()).isEmpty();
  }

  /** Dead letters with the ids that the test adds. */
  private static final class FakeDeadLetterLookup implements DeadLetterLookup {
    private final List<LogId> ids = new ArrayList<>();
    private final List<String> lookups = new ArrayList<>();
    private CompletableFuture<Void> released = CompletableFuture.completedFuture(null);
    private boolean unavailable;

    void hold() {
      released = new CompletableFuture<>();
    }

    void release() {
      released.complete(null);
    }

    @Override
    public CompletionStage<List<LogId>> findBetween(LogId first, LogId last) {
      lookups.add(first.toHex() + " to " + last.toHex());
      return unavailable
          ? CompletableFuture.failedStage(new IllegalStateException("unavailable"))
          : released.thenApply(_ -> List.copyOf(ids));
    }
  }
}
