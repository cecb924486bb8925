package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.testkit.LogBatches;
import java.time.Duration;
import java.util.BitSet;
import java.util.List;
import org.junit.jupiter.api.Test;

class GatheringTest {
  static final RedisDeliveries.Bounds BOUNDS =
      new RedisDeliveries.Bounds(100, 1_000, Duration.ZERO);

  final List<LogBatch> batches = LogBatches.some(4, 1);

  @Test
  void token_sameEntries_isTheSame() {
    assertThat(token(0, 1, 2)).isEqualTo(token(0, 1, 2));
  }

  @Test
  void token_sameEndsButAnotherBetween_differs() {
    assertThat(token(0, 1, 3)).isNotEqualTo(token(0, 2, 3));
    assertThat(token(0, 3)).isNotEqualTo(token(0, 2, 3));
  }

  /** Two Redis servers, or one that was emptied, may give out the same id. */
  @Test
  void token_sameIdOfAnotherBatch_differs() {
    var one = new Gathering(BOUNDS);
    one.add(new Entry(new EntryId(1, 0), batches.get(0)));
    var other = new Gathering(BOUNDS);
    other.add(new Entry(new EntryId(1, 0), batches.get(1)));

    assertThat(one.delivery(0, false).token()).isNotEqualTo(other.delivery(0, false).token());
  }

  @Test
  void add_fullByBytes_takesNotEvenAnEntryOfNoBytes() {
    var gathering = new Gathering(BOUNDS);

    assertThat(gathering.add(entry(1, 1_000))).isTrue();

    assertThat(gathering.isFull()).isTrue();
    assertThat(gathering.add(entry(1, 0))).isFalse();
  }

  @Test
  void add_wouldGoOverABound_isRefusedAndChangesNothing() {
    var gathering = new Gathering(BOUNDS);
    gathering.add(entry(40, 400));

    assertThat(gathering.add(entry(1, 601))).isFalse();
    assertThat(gathering.add(entry(61, 1))).isFalse();

    assertThat(gathering.isFull()).isFalse();
    assertThat(gathering.ids()).hasSize(1);
    assertThat(gathering.add(entry(60, 600))).isTrue();
  }

  private Entry entry(int records, int expandedBytes) {
    var batch = batches.getFirst();
    return new Entry(
        new EntryId(1, 0),
        new LogBatch(
            batch.appendId(),
            batch.tenant(),
            batch.receivedNanos(),
            batch.firstId(),
            records,
            expandedBytes,
            new BitSet(),
            batch.otlp()));
  }

  private String token(int... chosen) {
    var gathering = new Gathering(RedisDeliveries.Bounds.DEFAULT);
    for (int i : chosen) {
      gathering.add(new Entry(new EntryId(1, i), batches.get(i)));
    }
    return gathering.delivery(0, false).token();
  }
}
