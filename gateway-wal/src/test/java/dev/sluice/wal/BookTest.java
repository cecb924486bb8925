package dev.sluice.wal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.LogBatches;
import java.time.Duration;
import java.time.InstantSource;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class BookTest {
  private static final LocalDate DAY = LocalDate.parse("2026-03-04");

  private final Book book = book();

  private static Book book() {
    return new Book(new Letters(3), new Keys(100, Duration.ofDays(1), InstantSource.system()));
  }

  /** Frames come between the line of a delivery and what stands for all lines. */
  @Test
  void summary_totalThatComesBackToWhatWasWritten_isInTheNextLine() {
    var first = counted(1, 5);
    settle(first, false);
    var second = counted(2, 3);
    var journal = new ArrayList<>(book.summary());

    journal.add(settle(second, true));

    var after = book();
    journal.forEach(after::restore);
    assertThat(after.tally(LocalDate.EPOCH)).isEqualTo(book.tally(LocalDate.EPOCH));
    assertThat(after.tally(LocalDate.EPOCH).values())
        .singleElement()
        .satisfies(recordCounts -> assertThat(recordCounts.accepted()).isEqualTo(5));
  }

  @Test
  void summary_dayOfTheBeginning_isTheSame() {
    book.apply(new Event.Base(Book.VERSION, null, null, 0, 0, DAY));
    counted(1, 5);

    var after = book();
    book.summary().forEach(after::restore);

    assertThat(after.since()).isEqualTo(DAY);
  }

  @Test
  void needed_manyInAFewSegments_isOneOfEach() {
    for (int segment = 1; segment <= 3; segment++) {
      for (int frame = 1; frame <= 100; frame++) {
        book.apply(aside(new Position(DAY, segment, frame)));
      }
    }
    book.apply(aside(new Position(DAY.plusDays(1), 1, 7)));

    assertThat(book.needed())
        .containsExactly(
            new Position(DAY, 1, 1),
            new Position(DAY, 2, 1),
            new Position(DAY, 3, 1),
            new Position(DAY.plusDays(1), 1, 7));
  }

  private static Event.Aside aside(Position position) {
    return new Event.Aside(
        position, null, position.day(), 0, 1, "for the test", Event.Aside.Why.DOUBTFUL);
  }

  private Place counted(int frame, int records) {
    var batch = LogBatches.of(records);
    var position = new Position(DAY, 1, frame);
    book.count(position, batch.appendId(), batch.day(), records);
    return new Place(position, new Entry(batch, false, null));
  }

  private Event.Settled settle(Place place, boolean surrendered) {
    var places = List.of(place);
    var over = Objects.requireNonNull(book.over(place.position(), places, List.of(), surrendered));
    assertThat(book.settle(over, places, surrendered)).isZero();
    return over;
  }
}
