package dev.sluice.core.security;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.sluice.testkit.ManualClock;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.time.Instant;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ApiKeyAuthenticatorTest {
  private static final String KEY = "sluice_" + "A".repeat(43);
  private static final Instant EXPIRY = Instant.parse("2026-02-01T00:00:00Z");

  private final ManualClock clock = new ManualClock("2026-01-31T23:59:59Z");
  private final ApiKeyAuthenticator authenticator = new ApiKeyAuthenticator(clock);

  private static ApiKey key(String secret, @Nullable Instant expires) {
    try {
      var hash = MessageDigest.getInstance("SHA-256").digest(secret.getBytes(US_ASCII));
      return new ApiKey(
          "sha256:" + HexFormat.of().formatHex(hash),
          "test",
          "acme",
          Set.of(AccessScope.INGEST),
          expires);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void authenticate_knownKey_returnsTenantAndScopes() {
    authenticator.replaceKeys(List.of(key(KEY, null)));

    var principal = authenticator.authenticate(KEY).orElseThrow();

    assertThat(principal.tenant()).isEqualTo("acme");
    assertThat(principal.scopes()).containsExactly(AccessScope.INGEST);
    assertThat(principal.name()).startsWith("key:").doesNotContain(KEY);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "sluice_", "sluice_short", "other_", "sluice_B", "Sluice_A"})
  void authenticate_otherText_isRejected(String prefix) {
    authenticator.replaceKeys(List.of(key(KEY, null)));

    assertThat(authenticator.authenticate(prefix)).isEmpty();
    assertThat(authenticator.authenticate(prefix + "A".repeat(50 - prefix.length())))
        .isEqualTo(prefix.equals("sluice_") ? authenticator.authenticate(KEY) : Optional.empty());
  }

  @Test
  void authenticate_expiredKey_isRejectedFromTheMomentOn() {
    authenticator.replaceKeys(List.of(key(KEY, EXPIRY)));
    assertThat(authenticator.authenticate(KEY)).isPresent();

    clock.advance(Duration.ofSeconds(1));

    assertThat(authenticator.authenticate(KEY)).isEmpty();
  }

  @Test
  void replaceKeys_withoutAKey_revokesIt() {
    authenticator.replaceKeys(List.of(key(KEY, null)));
    authenticator.replaceKeys(List.of());

    assertThat(authenticator.authenticate(KEY)).isEmpty();
  }

  @Test
  void replaceKeys_sameKey_keepsItsLastUse() {
    authenticator.replaceKeys(List.of(key(KEY, null)));
    assertThat(authenticator.keys().getFirst().lastUsed()).isNull();
    var _ = authenticator.authenticate(KEY);

    authenticator.replaceKeys(List.of(key(KEY, null)));

    assertThat(authenticator.keys().getFirst().lastUsed()).isEqualTo("2026-01-31T23:59:59Z");
  }

  @Test
  void replaceKeys_sameKeyTwice_isRejectedAndChangesNothing() {
    authenticator.replaceKeys(List.of(key(KEY, null)));

    assertThatIllegalArgumentException()
        .isThrownBy(() -> authenticator.replaceKeys(List.of(key("x", null), key("x", null))));

    assertThat(authenticator.authenticate(KEY)).isPresent();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "*a", "a b", ".a", "../a", "é"})
  void principal_invalidTenant_isRejected(String tenant) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new Principal("p", tenant, Set.of(AccessScope.READ)));
  }

  @Test
  void principal_admin_hasNoTenantAndNoOtherScope() {
    assertThat(new Principal("p", "*", Set.of(AccessScope.ADMIN)).scopes()).hasSize(1);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new Principal("p", "acme", Set.of(AccessScope.ADMIN)));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new Principal("p", "*", Set.of(AccessScope.READ)));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new Principal("p", "*", EnumSet.allOf(AccessScope.class)));
  }
}
