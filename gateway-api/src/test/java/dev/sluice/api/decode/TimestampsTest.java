package dev.sluice.api.decode;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.api.decode.Timestamps.InvalidTimestampException;
import java.time.Duration;
import java.time.Instant;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TimestampsTest {

  @ParameterizedTest
  @CsvSource({
    "0, 0",
    "1, 1000000000",
    "1700000000, 1700000000000000000",
    "9223372036, 9223372036000000000",
    "100000000000, 100000000000000000",
    "1700000000123, 1700000000123000000",
    "9223372036854, 9223372036854000000",
    "100000000000000, 100000000000000000",
    "1700000000123456, 1700000000123456000",
    "9223372036854775, 9223372036854775000",
    "100000000000000000, 100000000000000000",
    "1700000000123456789, 1700000000123456789",
    "9223372036854775807, 9223372036854775807",
  })
  void ofEpoch_everyMagnitude_isTheSameInstantAsTextAndNumber(String number, long nanos)
      throws Exception {
    assertThat(Timestamps.ofEpoch(Long.parseLong(number))).isEqualTo(nanos);
    assertThat(Timestamps.ofNumber(number)).isEqualTo(nanos);
    assertThat(Timestamps.ofText(number)).isEqualTo(nanos);
  }

  @ParameterizedTest
  @ValueSource(
      longs = {
        9_223_372_037L, // seconds
        99_999_999_999L,
        9_223_372_036_855L, // milliseconds
        99_999_999_999_999L,
        9_223_372_036_854_776L, // microseconds
        99_999_999_999_999_999L
      })
  void ofEpoch_firstBeyondTheStorableRange_throws(long number) {
    assertThatThrownBy(() -> Timestamps.ofEpoch(number))
        .isInstanceOf(InvalidTimestampException.class)
        .hasMessageContaining("beyond 2262-04-11");
  }

  @ParameterizedTest
  @CsvSource({
    "1700000000.5, 1700000000500000000",
    "1700000000.123456789, 1700000000123456789",
    "1700000000.1234567899, 1700000000123456789",
    "1700000000123.000001, 1700000000123000001",
    "1700000000123456.789, 1700000000123456789",
    "1700000000123456789.9, 1700000000123456789",
    "0.000000001, 1",
    "0.0000000009, 0",
    "1.7e9, 1700000000000000000",
    "1700000000000e-3, 1700000000000000000",
    "1e-999999999, 0",
    "0e999999999, 0",
    "9223372036.854775807, 9223372036854775807",
  })
  void ofNumber_fractionsAndExponents_areKeptToTheNanosecond(String number, long nanos)
      throws Exception {
    assertThat(Timestamps.ofNumber(number)).isEqualTo(nanos);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "9223372036.854775808",
        "9223372036854775808",
        "1e20",
        "1e999999999",
        "1e2147483647",
        "1e99999999999",
      })
  @Timeout(5)
  void ofNumber_beyondTheStorableRange_throwsImmediately(String number) {
    assertThatThrownBy(() -> Timestamps.ofNumber(number))
        .isInstanceOf(InvalidTimestampException.class);
  }

  @Test
  void ofNumber_veryLong_throwsWithoutParsing() {
    assertThatThrownBy(() -> Timestamps.ofNumber("1".repeat(1_000_000)))
        .isInstanceOf(InvalidTimestampException.class)
        .hasMessage("is a number of more than 64 characters");
  }

  @ParameterizedTest
  @ValueSource(strings = {"-1", "-0.000000001", "-1e-999999999", "-9223372036854775808"})
  void ofNumber_negative_isBefore1970(String number) {
    assertThatThrownBy(() -> Timestamps.ofNumber(number))
        .isInstanceOf(InvalidTimestampException.class)
        .hasMessage("is before 1970");
  }

  @ParameterizedTest
  @CsvSource({
    "2024-05-06T07:08:09Z, 1714979289000000000",
    "2024-05-06T07:08:09, 1714979289000000000",
    "2024-05-06 07:08:09, 1714979289000000000",
    "2024-05-06t07:08:09z, 1714979289000000000",
    "2024-05-06T07:08Z, 1714979280000000000",
    "2024-05-06T07:08, 1714979280000000000",
    "2024-05-06, 1714953600000000000",
    "2024-05-06T07:08:09.5Z, 1714979289500000000",
    "'2024-05-06T07:08:09,5Z', 1714979289500000000",
    "2024-05-06T07:08:09.012345678Z, 1714979289012345678",
    "2024-05-06T07:08:09.0123456789Z, 1714979289012345678",
    "2024-05-06T09:08:09+02:00, 1714979289000000000",
    "2024-05-06T09:08:09+0200, 1714979289000000000",
    "2024-05-06T09:08:09+02, 1714979289000000000",
    "2024-05-06T01:38:09.25-05:30, 1714979289250000000",
    "2024-05-06T09:08+02:00, 1714979280000000000",
    "2024-05-06 09:08:09 +02:00, 1714979289000000000",
    "2026-11-24 20:21:21.324 UTC, 1795551681324000000",
    "2026-11-24 20:21:21.324 GMT, 1795551681324000000",
    "2026-11-24 20:21:21.324utc, 1795551681324000000",
    "2026-11-24 20:21:21.324+00, 1795551681324000000",
    "'2026-11-24 20:21:21,324 +0000', 1795551681324000000",
    "' 2024-05-06T07:08:09Z ', 1714979289000000000",
    "2024-02-29T00:00:00Z, 1709164800000000000",
    "1970-01-01T00:00:00Z, 0",
    "1970-01-01T00:00:00.000000001Z, 1",
    "1970-01-01T01:00:00+01:00, 0",
    "2262-04-11T23:47:16.854775807Z, 9223372036854775807",
  })
  void ofText_iso_isThatInstant(String text, long nanos) throws Exception {
    assertThat(Timestamps.ofText(text)).isEqualTo(nanos);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        " ",
        "now",
        "2024-05",
        "2024-5-6T07:08:09Z",
        "2023-02-29T00:00:00Z",
        "2024-13-01T00:00:00Z",
        "2024-00-01T00:00:00Z",
        "2024-05-32T00:00:00Z",
        "2024-05-06T24:00:00Z",
        "2024-05-06T07:60:00Z",
        "2024-05-06T07:08:60Z",
        "2024-05-06T07:08:09.Z",
        "2024-05-06T07:08:09.",
        "2024-05-06T07:08:",
        "2024-05-06T07",
        "2024-05-06T07:08:09X",
        "2024-05-06T07:08:09 CET",
        "2024-05-06T07:08:09+99:00",
        "2024-05-06T07:08:09ZZ",
        "2024/05/06",
        "+2024-05-06T07:08:09Z",
        "２０２４-05-06T07:08:09Z",
        "1700000000.",
        ".5",
        "1.2.3",
        "0x10",
        "1e9",
      })
  void ofText_neitherIsoNorNumber_throws(String text) {
    assertThatThrownBy(() -> Timestamps.ofText(text))
        .isInstanceOf(InvalidTimestampException.class)
        .hasMessage("is neither ISO-8601 nor a number");
  }

  @ParameterizedTest
  @CsvSource({
    "1969-12-31T23:59:59.999999999Z, is before 1970",
    "1970-01-01T00:59:59+01:00, is before 1970",
    "0001-01-01T00:00:00Z, is before 1970",
    "2262-04-11T23:47:16.854775808Z, is beyond 2262",
    "2262-04-11T23:47:17Z, is beyond 2262",
    "9999-12-31T23:59:59Z, is beyond 2262",
  })
  void ofText_outsideTheStorableRange_throws(String text, String reason) {
    assertThatThrownBy(() -> Timestamps.ofText(text))
        .isInstanceOf(InvalidTimestampException.class)
        .hasMessageStartingWith(reason);
  }

  @Test
  void format_anyInstant_parsesToTheSameInstant() throws Exception {
    var random = new Random(1);
    for (int i = 0; i < 10_000; i++) {
      long nanos = random.nextLong() >>> 1;

      var text = Timestamps.format(nanos);

      assertThat(text).hasSize(30);
      assertThat(Timestamps.ofText(text)).isEqualTo(nanos);
      assertThat(Instant.EPOCH.plus(Duration.ofNanos(nanos))).isEqualTo(Instant.parse(text));
    }
  }
}
