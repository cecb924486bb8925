package dev.sluice.core.port;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.UUID;
import org.junit.jupiter.api.Test;

class IdempotencyStoreTest {

  @Test
  void digest_knownKey_isTheStoredFormat() {
    assertThat(
            new IdempotencyStore.IdempotencyKey("default", "order 7 ü", UUID.randomUUID()).digest())
        .isEqualTo(UUID.fromString("7eb292db-7569-3b94-95fd-568ec5065b25"));
  }

  @Test
  void digest_differentTenantBoundary_differs() {
    var request = UUID.randomUUID();

    assertThat(new IdempotencyStore.IdempotencyKey("a", "bc", request).digest())
        .isNotEqualTo(new IdempotencyStore.IdempotencyKey("ab", "c", request).digest());
  }
}
