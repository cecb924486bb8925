package dev.sluice.api.ops;

import dev.sluice.core.security.AccessScope;
import dev.sluice.core.security.ApiKey;
import dev.sluice.core.security.ApiKeyAuthenticator;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;

/**
 * The endpoint {@code /actuator/keys}: the API keys of the process with their last use, without
 * their hashes.
 */
@Endpoint(id = "keys")
public final class KeysEndpoint {
  private final ApiKeyAuthenticator authenticator;
  private final InstantSource clock;

  public KeysEndpoint(ApiKeyAuthenticator authenticator, InstantSource clock) {
    this.authenticator = authenticator;
    this.clock = clock;
  }

  /** The response of the endpoint. */
  public record KeysResponse(List<KeySummary> keys) {}

  /**
   * A key.
   *
   * @param id the first digits of its hash
   * @param lastUsed the second of its last use since the start of this process; null when there is
   *     none
   */
  public record KeySummary(
      String id,
      String name,
      String tenant,
      List<String> scopes,
      @Nullable Instant expires,
      boolean expired,
      @Nullable Instant lastUsed) {}

  /** Lists the keys by tenant and id. */
  @ReadOperation
  public KeysResponse keys() {
    var now = clock.instant();
    return new KeysResponse(
        authenticator.keys().stream()
            .map(key -> summary(key, now))
            .sorted(Comparator.comparing(KeySummary::tenant).thenComparing(KeySummary::id))
            .toList());
  }

  private static KeySummary summary(ApiKey key, Instant now) {
    var principal = key.principal();
    return new KeySummary(
        key.id(),
        key.name(),
        principal.tenant(),
        principal.scopes().stream().sorted().map(AccessScope::text).toList(),
        key.expires(),
        key.isExpired(now),
        key.lastUsed());
  }
}
