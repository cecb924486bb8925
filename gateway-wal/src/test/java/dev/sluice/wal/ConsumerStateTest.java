package dev.sluice.wal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.LogBatches;
import java.time.Duration;
import java.time.InstantSource;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ConsumerStateTest {
  private static final LocalDate DAY = LocalDate.parse("2026-03-04");

  private final ConsumerState state = newState();

  private static ConsumerState newState() {
    return new ConsumerState(
        new IdempotencyKeyTable(100, Duration.ofDays(1), InstantSource.system()));
  }

  /** Frames are counted between the acknowledgement of a delivery and the snapshot. */
  @Test
  void snapshot_totalRevertsToJournaledValue_isInTheNextLine() {
    var first = count(1, 5);
    ack(first, false);
    var second = count(2, 3);
    var journal = new ArrayList<>(state.snapshot());

    journal.add(ack(second, true));

    var restored = newState();
    journal.forEach(restored::restore);
    assertThat(restored.recordCounts(LocalDate.EPOCH))
        .isEqualTo(state.recordCounts(LocalDate.EPOCH));
    assertThat(restored.recordCounts(LocalDate.EPOCH).values())
        .singleElement()
        .satisfies(recordCounts -> assertThat(recordCounts.accepted()).isEqualTo(5));
  }

  @Test
  void snapshot_firstDay_isTheSame() {
    state.apply(new JournalEvent.Snapshot(ConsumerState.VERSION, null, null, 0, 0, DAY));
    count(1, 5);

    var restored = newState();
    state.snapshot().forEach(restored::restore);

    assertThat(restored.countsCompleteSince()).isEqualTo(DAY);
  }

  @Test
  void firstSkippedPerSegment_manyInAFewSegments_isOneOfEach() {
    for (int segment = 1; segment <= 3; segment++) {
      for (int frame = 1; frame <= 100; frame++) {
        state.apply(skipped(new FramePosition(DAY, segment, frame)));
      }
    }
    state.apply(skipped(new FramePosition(DAY.plusDays(1), 1, 7)));

    assertThat(state.firstSkippedPerSegment())
        .containsExactly(
            new FramePosition(DAY, 1, 1),
            new FramePosition(DAY, 2, 1),
            new FramePosition(DAY, 3, 1),
            new FramePosition(DAY.plusDays(1), 1, 7));
  }

  private static JournalEvent.FrameSkipped skipped(FramePosition position) {
    return new JournalEvent.FrameSkipped(
        position,
        null,
        position.day(),
        0,
        1,
        "for the test",
        JournalEvent.FrameSkipped.SkipReason.DOUBTFUL);
  }

  private PositionedEntry count(int frame, int records) {
    var batch = LogBatches.of(records);
    var position = new FramePosition(DAY, 1, frame);
    state.count(position, batch.appendId(), batch.day(), records);
    return new PositionedEntry(position, new WalEntry(batch, false, null));
  }

  private JournalEvent.DeliveryAcked ack(PositionedEntry positionedEntry, boolean drained) {
    var entries = List.of(positionedEntry);
    var acked = state.ackEvent(positionedEntry.position(), entries, drained);
    assertThat(state.ack(acked, entries, drained)).isZero();
    return acked;
  }
}
