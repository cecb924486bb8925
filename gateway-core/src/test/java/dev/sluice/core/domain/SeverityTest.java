package dev.sluice.core.domain;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.OptionalInt;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SeverityTest {

  @Test
  void levels_all_coverOneToTwentyFourWithoutGap() {
    int expected = 1;
    for (var level : Severity.values()) {
      assertThat(level.lowest()).isEqualTo(expected);
      assertThat(level.highest()).isEqualTo(expected + 3);
      expected += 4;
    }
    assertThat(expected).isEqualTo(25);
  }

  @Test
  void numberOf_everyShortName_isItsNumber() {
    assertThat(IntStream.rangeClosed(1, 24))
        .allSatisfy(
            number ->
                assertThat(Severity.numberOf(Severity.textOf(number)))
                    .isEqualTo(OptionalInt.of(number)));
  }

  @ParameterizedTest
  @CsvSource({
    "trace, 1",
    "verbose, 1",
    "debug, 5",
    "Info, 9",
    "information, 9",
    "informational, 9",
    "info1, 9",
    "notice, 10",
    "warn, 13",
    "Warning, 13",
    "error, 17",
    "ERR, 17",
    "severe, 17",
    "critical, 18",
    "crit, 18",
    "alert, 19",
    "fatal, 21",
    "panic, 21",
    "emergency, 21",
    "emerg, 21",
    "fatal4, 24",
    "' info ', 9"
  })
  void numberOf_namesOfOtherSystems_areMappedAsInTheDataModel(String name, int number) {
    assertThat(Severity.numberOf(name)).hasValue(number);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", " ", "info5", "info0", "log", "9", "in fo"})
  void numberOf_unknownName_isEmpty(String name) {
    assertThat(Severity.numberOf(name)).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "1, TRACE",
    "4, TRACE4",
    "5, DEBUG",
    "9, INFO",
    "10, INFO2",
    "13, WARN",
    "16, WARN4",
    "17, ERROR",
    "21, FATAL",
    "24, FATAL4"
  })
  void textOf_number_isTheShortName(int number, String text) {
    assertThat(Severity.textOf(number)).isEqualTo(text);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, -1, 25, Integer.MIN_VALUE, Integer.MAX_VALUE})
  void textOf_outsideOneToTwentyFour_isEmpty(int number) {
    assertThat(Severity.textOf(number)).isEmpty();
  }
}
