package dev.sluice.templates.dictionary;

import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A cache of the namespaces that a worker used recently, so that a resource does not need a new one
 * each time. It is direct-mapped: each namespace has one slot, and replaces the one in its slot.
 *
 * <p>Confined to one thread. A hit allocates nothing.
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
