package dev.sluice.wal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.wal.JournalEvent.FrameSkipped;
import dev.sluice.wal.JournalEvent.FrameSkipped.SkipReason;
import java.time.LocalDate;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.json.JsonMapper;

/** The journal is a stored format: renaming a component must not rename its field. */
class JournalEventTest {
  private static final String STORED =
      "{\"event\":\"aside\",\"position\":\"2026-11-24/seg-000001/7\","
          + "\"append\":\"00000000-0000-0001-0000-000000000002\",\"day\":\"2026-11-24\","
          + "\"receivedNanos\":5,\"records\":3,\"reason\":\"bad\",\"why\":\"UNDELIVERABLE\"}";

  private final JsonMapper mapper = JsonMapper.shared();

  @Test
  void frameSkipped_storedByAnEarlierRelease_isReadWithItsReason() {
    var event = mapper.readValue(STORED, JournalEvent.class);

    assertThat(event)
        .isEqualTo(
            new FrameSkipped(
                FramePosition.of("2026-11-24/seg-000001/7"),
                new UUID(1, 2),
                LocalDate.of(2026, 11, 24),
                5,
                3,
                "bad",
                SkipReason.UNDELIVERABLE));
  }

  @Test
  void frameSkipped_written_hasTheStoredFieldNames() {
    var event = mapper.readValue(STORED, JournalEvent.class);

    assertThat(mapper.readTree(mapper.writeValueAsString(event)))
        .isEqualTo(mapper.readTree(STORED));
  }
}
