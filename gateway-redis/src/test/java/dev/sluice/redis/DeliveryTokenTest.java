package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.testkit.LogBatches;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class DeliveryTokenTest {
  final List<LogBatch> batches = LogBatches.list(4, 1);

  @Test
  void token_sameEntries_isTheSame() {
    assertThat(token(0, 1, 2)).isEqualTo(token(0, 1, 2));
  }

  @Test
  void token_sameEndsButDifferentMiddle_differs() {
    assertThat(token(0, 1, 3)).isNotEqualTo(token(0, 2, 3));
    assertThat(token(0, 3)).isNotEqualTo(token(0, 2, 3));
  }

  /** Two Redis servers, or one after a loss of its data, may generate the same id. */
  @Test
  void token_sameIdOfAnotherBatch_differs() {
    var id = List.of(new StreamEntryId(1, 0));

    assertThat(RedisSpoolConsumer.token(0, id, batches.subList(0, 1)))
        .isNotEqualTo(RedisSpoolConsumer.token(0, id, batches.subList(1, 2)));
  }

  private String token(int... chosen) {
    return RedisSpoolConsumer.token(
        0,
        Arrays.stream(chosen).mapToObj(i -> new StreamEntryId(1, i)).toList(),
        Arrays.stream(chosen).mapToObj(batches::get).toList());
  }
}
