package dev.sluice.core.security;

import java.time.Instant;
import java.util.HexFormat;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * An API key without its secret: the hash, and the rights of its holder. Thread-safe.
 *
 * <p>The hash is one SHA-256 of the key. A slow hash protects secrets that can be guessed; a key
 * has 256 random bits, and a slow hash would only cost time in each request.
 */
public final class ApiKey {
  private static final Pattern HASH = Pattern.compile("sha256:[0-9a-f]{64}");
  private static final int ID_LENGTH = 12;

  private final String id;
  private final String name;
  private final KeyHash hash;
  private final @Nullable Instant expires;
  private final Principal principal;
  private final Optional<Principal> authenticated;

  /** In seconds since the epoch; 0 before the first use. */
  private volatile long lastUsed;

  /**
   * Creates a key.
   *
   * @param hash {@code sha256:} and the hash in 64 lower-case hexadecimal digits
   * @param name a description for people
   * @param expires the time from which on the key is invalid; null for never
   * @throws IllegalArgumentException when a value is invalid, with a message for the operator
   */
  public ApiKey(
      String hash, String name, String tenant, Set<AccessScope> scopes, @Nullable Instant expires) {
    if (!HASH.matcher(hash).matches()) {
      throw new IllegalArgumentException("hash is not sha256: and 64 hexadecimal digits");
    }
    var digits = hash.substring(hash.indexOf(':') + 1);
    this.id = digits.substring(0, ID_LENGTH);
    this.name = name;
    this.hash = new KeyHash(HexFormat.of().parseHex(digits));
    this.expires = expires;
    this.principal = new Principal("key:" + id, tenant, scopes);
    this.authenticated = Optional.of(principal);
  }

  /** Returns the public identity: the first digits of the hash. */
  public String id() {
    return id;
  }

  public String name() {
    return name;
  }

  public Principal principal() {
    return principal;
  }

  /** Returns the time from which on the key is invalid; null for never. */
  public @Nullable Instant expires() {
    return expires;
  }

  public boolean isExpired(Instant now) {
    return expires != null && !now.isBefore(expires);
  }

  /** Returns the second of the last use since the start of the process; null when there is none. */
  public @Nullable Instant lastUsed() {
    return lastUsed == 0 ? null : Instant.ofEpochSecond(lastUsed);
  }

  KeyHash hash() {
    return hash;
  }

  /** Records a use. A busy key is written once a second: a write would stop other cores' reads. */
  Optional<Principal> use(Instant now) {
    long second = now.getEpochSecond();
    if (lastUsed != second) {
      lastUsed = second;
    }
    return authenticated;
  }

  void copyLastUse(ApiKey earlier) {
    lastUsed = earlier.lastUsed;
  }
}
