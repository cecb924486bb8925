package dev.sluice.query.port;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.query.port.TemplateStats.BucketLayout;
import dev.sluice.query.port.TemplateStats.MinuteRange;
import dev.sluice.query.port.TemplateStats.ServiceActivity;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class BucketLayoutTest {
  private static final UUID A = new UUID(1, 1);
  private static final long LAST = MinuteRange.ALL.to() - 1;

  @Test
  void of_activityWithinTheRange_isFromTheFirstToTheLast() {
    var activity =
        List.of(
            new ServiceActivity(A, "web", new MinuteRange(1_000, 1_001)),
            new ServiceActivity(A, "db", new MinuteRange(1_500, 2_001)));

    assertThat(BucketLayout.of(MinuteRange.ALL, activity, 2))
        .isEqualTo(new BucketLayout(1_000, 501, 2, Map.of("web", Set.of(A), "db", Set.of(A))));
    assertThat(BucketLayout.of(MinuteRange.ALL, activity, 1))
        .isEqualTo(new BucketLayout(1_000, 1_001, 1, Map.of("web", Set.of(A), "db", Set.of(A))));
  }

  @Test
  void of_activityBeyondTheRange_isTheRange() {
    var activity = List.of(new ServiceActivity(A, "web", new MinuteRange(0, 5_000)));

    assertThat(BucketLayout.of(new MinuteRange(100, 130), activity, 3))
        .isEqualTo(new BucketLayout(100, 10, 3, Map.of("web", Set.of(A))));
  }

  @Test
  void of_activityBeforeOrAfterTheRange_isAMinuteOfIt() {
    var range = new MinuteRange(100, 130);

    assertThat(
            BucketLayout.of(
                range, List.of(new ServiceActivity(A, "web", new MinuteRange(1, 2))), 3))
        .isEqualTo(new BucketLayout(100, 1, 3, Map.of("web", Set.of(A))));
    assertThat(
            BucketLayout.of(
                range, List.of(new ServiceActivity(A, "web", new MinuteRange(500, 501))), 3))
        .isEqualTo(new BucketLayout(129, 1, 3, Map.of("web", Set.of(A))));
    assertThat(BucketLayout.of(range, List.of(), 3))
        .isEqualTo(new BucketLayout(100, 1, 3, Map.of()));
  }

  @Test
  void of_theLastRepresentableMinute_isIncluded() {
    var activity = List.of(new ServiceActivity(A, "web", new MinuteRange(LAST, LAST + 1)));

    assertThat(BucketLayout.of(MinuteRange.ALL, activity, 30))
        .isEqualTo(new BucketLayout(LAST, 1, 30, Map.of("web", Set.of(A))));
  }

  @Test
  void of_noBucket_throws() {
    assertThatThrownBy(() -> BucketLayout.of(MinuteRange.ALL, List.of(), 0))
        .isInstanceOf(IllegalArgumentException.class);
  }
}
