package dev.sluice.clickhouse;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.clickhouse.ClickHouseException.FailureKind;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ClickHouseExceptionTest {

  /** The codes that are known to cause errors in other ClickHouse exporters. */
  @ParameterizedTest
  @CsvSource({
    "RETRYABLE, '3 107 159 164 202 203 209 210 241 242 243 252 285 319 425 999'",
    "RETRYABLE, '1 49 173 394 497 516 735 1000'",
    "REJECTED, '6 27 38 41 53 72 117 395 469'",
    "SCHEMA_MISMATCH, '10 16 47 60 81'",
  })
  void ofServerError_code_hasItsFailureKind(FailureKind kind, String codes) {
    for (var code : codes.split(" ", -1)) {
      var failed = ClickHouseException.ofServerError(Integer.parseInt(code), "", new Exception());

      assertThat(failed.kind()).as(code).isEqualTo(kind);
    }
  }
}
