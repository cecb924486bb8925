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
final class NamespaceCache {
  private static final int SLOTS = 512;

  private final HashKeys hashKeys;
  private final KeyedTextHash.KeyFunction hash;
  private final @Nullable HashNamespace[] slots = new @Nullable HashNamespace[SLOTS];

  NamespaceCache(HashKeys hashKeys) {
    this.hashKeys = hashKeys;
    this.hash = KeyedTextHash.KeyFunction.xxh3(hashKeys.keySeed());
  }

  HashNamespace get(EntryKind kind, String tenant, byte[] bytes, int offset, int length) {
    long mixed = hash.hash(bytes, offset, length) + tenant.hashCode() + kind.hashCode();
    int slot = (int) mixed & (SLOTS - 1);
    var namespace = slots[slot];
    if (namespace == null || !namespace.matches(kind, tenant, bytes, offset, length)) {
      namespace =
          new HashNamespace(
              hashKeys, kind, tenant, Arrays.copyOfRange(bytes, offset, offset + length));
      slots[slot] = namespace;
    }
    return namespace;
  }
}
