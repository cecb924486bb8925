package dev.sluice.core.port;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.core.port.TemplateReader.Frame;
import dev.sluice.core.port.TemplateReader.Minutes;
import dev.sluice.core.port.TemplateReader.Seen;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class FrameTest {
  private static final UUID A = new UUID(1, 1);
  private static final long LAST = Minutes.ALL.to() - 1;

  @Test
  void of_withinTheTimeAskedFor_isFromTheFirstToTheLast() {
    var seen =
        List.of(
            new Seen(A, "web", new Minutes(1_000, 1_001)),
            new Seen(A, "db", new Minutes(1_500, 2_001)));

    assertThat(Frame.of(Minutes.ALL, seen, 2))
        .isEqualTo(new Frame(1_000, 501, 2, Map.of("web", Set.of(A), "db", Set.of(A))));
    assertThat(Frame.of(Minutes.ALL, seen, 1))
        .isEqualTo(new Frame(1_000, 1_001, 1, Map.of("web", Set.of(A), "db", Set.of(A))));
  }

  @Test
  void of_beyondTheTimeAskedFor_isThat() {
    var seen = List.of(new Seen(A, "web", new Minutes(0, 5_000)));

    assertThat(Frame.of(new Minutes(100, 130), seen, 3))
        .isEqualTo(new Frame(100, 10, 3, Map.of("web", Set.of(A))));
  }

  @Test
  void of_beforeOrAfterTheTimeAskedFor_isAMinuteOfIt() {
    var asked = new Minutes(100, 130);

    assertThat(Frame.of(asked, List.of(new Seen(A, "web", new Minutes(1, 2))), 3))
        .isEqualTo(new Frame(100, 1, 3, Map.of("web", Set.of(A))));
    assertThat(Frame.of(asked, List.of(new Seen(A, "web", new Minutes(500, 501))), 3))
        .isEqualTo(new Frame(129, 1, 3, Map.of("web", Set.of(A))));
    assertThat(Frame.of(asked, List.of(), 3)).isEqualTo(new Frame(100, 1, 3, Map.of()));
  }

  @Test
  void of_theLastMinuteThereIs_isInIt() {
    var seen = List.of(new Seen(A, "web", new Minutes(LAST, LAST + 1)));

    assertThat(Frame.of(Minutes.ALL, seen, 30))
        .isEqualTo(new Frame(LAST, 1, 30, Map.of("web", Set.of(A))));
  }

  @Test
  void of_noSpan_isAMistake() {
    assertThatThrownBy(() -> Frame.of(Minutes.ALL, List.of(), 0))
        .isInstanceOf(IllegalArgumentException.class);
  }
}
