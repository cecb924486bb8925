package dev.sluice.testkit;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.port.DailyCounts.RecordCounts;
import dev.sluice.core.port.FallbackCounts;
import java.time.LocalDate;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The contract of {@link FallbackCounts}. Each test has an empty spool. */
@Timeout(60)
public abstract class FallbackCountsContract {
  private static final LocalDate MONDAY = LocalDate.parse("2026-08-24");
  private static final LocalDate TUESDAY = MONDAY.plusDays(1);

  protected abstract FallbackCounts fallbackCounts();

  @Test
  void countsOfOtherNodes_nothingPublished_isEmpty() {
    assertThat(fallbackCounts().countsOfOtherNodes("a", LocalDate.EPOCH)).isEmpty();
  }

  @Test
  void countsOfOtherNodes_severalNodes_sumsAllButTheirOwnByDay() throws Exception {
    publish("a", Map.of(MONDAY, new RecordCounts(1, 0, 0)));
    publish("b", Map.of(MONDAY, new RecordCounts(20, 2, 3), TUESDAY, new RecordCounts(4, 4, 0)));
    publish("c", Map.of(MONDAY, new RecordCounts(300, 30, 0)));

    assertThat(fallbackCounts().countsOfOtherNodes("a", LocalDate.EPOCH))
        .isEqualTo(
            Map.of(MONDAY, new RecordCounts(320, 32, 3), TUESDAY, new RecordCounts(4, 4, 0)));
    assertThat(fallbackCounts().countsOfOtherNodes("a", TUESDAY))
        .isEqualTo(Map.of(TUESDAY, new RecordCounts(4, 4, 0)));
  }

  @Test
  void publish_again_replacesTheCountsOfTheNode() throws Exception {
    publish("b", Map.of(MONDAY, new RecordCounts(20, 20, 0), TUESDAY, new RecordCounts(1, 1, 0)));
    publish("b", Map.of(MONDAY, new RecordCounts(25, 5, 0)));

    assertThat(fallbackCounts().countsOfOtherNodes("a", LocalDate.EPOCH))
        .isEqualTo(Map.of(MONDAY, new RecordCounts(25, 5, 0)));
  }

  private void publish(String node, Map<LocalDate, RecordCounts> counts) throws Exception {
    fallbackCounts().publish(node, new TreeMap<>(counts)).toCompletableFuture().get(30, SECONDS);
  }
}
