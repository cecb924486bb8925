package dev.sluice.core.domain;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LimitsTest {

  @Test
  void defaults_nothingConfigured_areTheDocumentedOnes() {
    assertThat(Limits.DEFAULT)
        .isEqualTo(
            new Limits(67_108_864, 200_000, 268_435_456, 1_048_576, 256, 256, 65_536, 1_024, 32));
  }

  @ParameterizedTest
  @CsvSource({
    "0, max-request-bytes", "1, max-records", "2, max-expanded-bytes", "3, max-body-bytes",
    "4, max-attributes", "5, max-key-bytes", "6, max-value-bytes", "7, max-name-bytes",
    "8, max-nesting"
  })
  void limits_zeroOrLess_throwWithTheName(int component, String name) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> with(component, 0))
        .withMessage(name + " is 0, must be positive");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> with(component, -7))
        .withMessage(name + " is -7, must be positive");
    assertThat(with(component, 1)).isNotNull();
  }

  @ParameterizedTest
  @CsvSource({"4, max-attributes, 1024", "8, max-nesting, 64"})
  void limits_aboveTheMaximum_throwWithTheName(int component, String name, int max) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> with(component, max + 1))
        .withMessage(name + " is " + (max + 1) + ", at most " + max);
    assertThat(with(component, max)).isNotNull();
  }

  @Test
  void trusted_everyRecordLimit_isTheMaximum() {
    assertThat(Limits.TRUSTED.maxAttributes()).isEqualTo(1024);
    assertThat(Limits.TRUSTED.maxNesting()).isEqualTo(64);
    assertThat(
            new int[] {
              Limits.TRUSTED.maxBodyBytes(),
              Limits.TRUSTED.maxKeyBytes(),
              Limits.TRUSTED.maxValueBytes(),
              Limits.TRUSTED.maxNameBytes()
            })
        .containsOnly(Integer.MAX_VALUE);
  }

  private static Limits with(int component, int value) {
    int[] v = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    v[component] = value;
    return new Limits(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8]);
  }
}
