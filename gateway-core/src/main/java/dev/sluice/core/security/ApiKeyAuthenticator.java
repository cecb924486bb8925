package dev.sluice.core.security;

import java.time.InstantSource;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Authenticates API keys by their hashes. The keys can be replaced at any time. Thread-safe. */
public final class ApiKeyAuthenticator implements Authenticator {
  /** The beginning of each key: secret scanners and people recognize a key by it. */
  private static final String KEY_PREFIX = "sluice_";

  /** The prefix, and 256 bits in base64url without padding. */
  private static final int KEY_LENGTH = KEY_PREFIX.length() + 43;

  private final InstantSource clock;
  private volatile Map<KeyHash, ApiKey> keys = Map.of();

  /**
   * @param clock the clock of expiry and last use
   */
  public ApiKeyAuthenticator(InstantSource clock) {
    this.clock = clock;
  }

  /**
   * Replaces all keys. A key that was in use before keeps its last use.
   *
   * @throws IllegalArgumentException when a key occurs twice; nothing is replaced then
   */
  public synchronized void replaceKeys(List<ApiKey> replacement) {
    var byHash = HashMap.<KeyHash, ApiKey>newHashMap(replacement.size());
    for (var key : replacement) {
      if (byHash.put(key.hash(), key) != null) {
        throw new IllegalArgumentException("key " + key.id() + " occurs twice");
      }
      var earlier = keys.get(key.hash());
      if (earlier != null) {
        key.copyLastUse(earlier);
      }
    }
    keys = byHash;
  }

  /** Returns the keys, expired ones too, in no order. */
  public List<ApiKey> keys() {
    return List.copyOf(keys.values());
  }

  @Override
  public Optional<Principal> authenticate(String credential) {
    if (credential.length() != KEY_LENGTH || !credential.startsWith(KEY_PREFIX)) {
      return Optional.empty();
    }
    var key = keys.get(KeyHash.of(credential));
    var now = clock.instant();
    return key == null || key.isExpired(now) ? Optional.empty() : key.use(now);
  }
}
