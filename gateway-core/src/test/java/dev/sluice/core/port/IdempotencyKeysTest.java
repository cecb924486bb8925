package dev.sluice.core.port;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.UUID;
import org.junit.jupiter.api.Test;

class IdempotencyKeysTest {

  @Test
  void digest_anyKey_isThatOfReleasesBefore() {
    assertThat(new IdempotencyKeys.Key("default", "order 7 ü", UUID.randomUUID()).digest())
        .isEqualTo(UUID.fromString("7eb292db-7569-3b94-95fd-568ec5065b25"));
  }

  @Test
  void digest_tenantEndsElsewhere_isAnother() {
    var request = UUID.randomUUID();

    assertThat(new IdempotencyKeys.Key("a", "bc", request).digest())
        .isNotEqualTo(new IdempotencyKeys.Key("ab", "c", request).digest());
  }
}
