package dev.sluice.core.dictionary;

import dev.sluice.core.port.Dictionary.EntryKind;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The scopes that a worker has met lately, so that one is not made for every resource. Each has one
 * place, and gives way to the next that has the same.
 *
 * <p>Confined to a thread. Allocates nothing for a scope that is there.
 */
final class Scopes {
  private static final int PLACES = 512;

  private final Secret secret;
  private final TextHash.Key hash;
  private final @Nullable Scope[] places = new @Nullable Scope[PLACES];

  Scopes(Secret secret) {
    this.secret = secret;
    this.hash = TextHash.Key.xxh3(secret.keySeed());
  }

  Scope of(EntryKind kind, String tenant, byte[] bytes, int offset, int length) {
    long mixed = hash.of(bytes, offset, length) + tenant.hashCode() + kind.hashCode();
    int place = (int) mixed & (PLACES - 1);
    var scope = places[place];
    if (scope == null || !scope.is(kind, tenant, bytes, offset, length)) {
      scope = new Scope(secret, kind, tenant, Arrays.copyOfRange(bytes, offset, offset + length));
      places[place] = scope;
    }
    return scope;
  }
}
