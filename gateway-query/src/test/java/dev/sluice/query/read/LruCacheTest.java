package dev.sluice.query.read;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class LruCacheTest {
  private static final UUID A = new UUID(1, 1);
  private static final UUID B = new UUID(1, 2);
  private static final UUID C = new UUID(1, 3);
  private static final int VALUE_BYTES = 10_000;

  /** Capacity for two entries and a half. */
  private static final long CAPACITY = 2 * VALUE_BYTES + VALUE_BYTES / 2;

  private final RecordingLoader loader = new RecordingLoader();

  private LruCache<String> cache(long maxBytes) {
    return new LruCache<>(maxBytes, _ -> VALUE_BYTES, loader);
  }

  @Test
  void get_cachedIds_areNotLoadedAgain() throws Exception {
    loader.put("acme", A, "a");
    loader.put("acme", B, "b");
    var cache = cache(CAPACITY);

    assertThat(cache.get("acme", List.of(A))).isEqualTo(Map.of(A, "a"));
    assertThat(cache.get("acme", List.of(B, A))).isEqualTo(Map.of(A, "a", B, "b"));
    assertThat(cache.get("acme", List.of(A, B))).isEqualTo(Map.of(A, "a", B, "b"));

    assertThat(loader.requests).containsExactly(List.of(A), List.of(B));
  }

  @Test
  void get_missingValues_areOmittedAndLoadedAgain() throws Exception {
    var cache = cache(CAPACITY);
    assertThat(cache.get("acme", List.of(A))).isEmpty();
    loader.put("acme", A, "a");

    assertThat(cache.get("acme", List.of(A))).hasSize(1);
  }

  /** The same text has the same template id for every tenant. */
  @Test
  void get_sameIdOfTwoTenants_isSeparate() throws Exception {
    loader.put("acme", A, "a");
    loader.put("other", A, "other a");
    var cache = cache(CAPACITY);

    for (int i = 0; i < 2; i++) {
      assertThat(cache.get("acme", List.of(A))).containsEntry(A, "a");
      assertThat(cache.get("other", List.of(A))).containsEntry(A, "other a");
      assertThat(cache.get("third", List.of(A))).isEmpty();
    }
  }

  @Test
  void get_overCapacity_evictsTheLeastRecentlyUsed() throws Exception {
    for (var id : List.of(A, B, C)) {
      loader.put("acme", id, "text");
    }
    var cache = cache(CAPACITY);
    for (var id : List.of(A, B, A, C)) {
      cache.get("acme", List.of(id));
    }
    loader.requests.clear();

    cache.get("acme", List.of(A, C));
    assertThat(loader.requests).isEmpty();

    cache.get("acme", List.of(B));
    assertThat(loader.requests).containsExactly(List.of(B));

    loader.requests.clear();
    cache.get("acme", List.of(C, B, A));
    assertThat(loader.requests).containsExactly(List.of(A));
  }

  @Test
  void get_zeroCapacity_loadsEachTime() throws Exception {
    loader.put("acme", A, "a");
    var cache = cache(0);

    for (int i = 0; i < 2; i++) {
      assertThat(cache.get("acme", List.of(A))).hasSize(1);
    }

    assertThat(loader.requests).containsExactly(List.of(A), List.of(A));
  }

  /** A loader that records the requested ids. */
  private static final class RecordingLoader implements LruCache.Loader<String> {
    private record Key(String tenant, UUID id) {}

    private final Map<Key, String> values = new HashMap<>();
    final List<List<UUID>> requests = new ArrayList<>();

    void put(String tenant, UUID id, String value) {
      values.put(new Key(tenant, id), value);
    }

    @Override
    public Map<UUID, String> load(String tenant, Collection<UUID> ids) {
      requests.add(List.copyOf(ids));
      var found = new HashMap<UUID, String>();
      ids.forEach(id -> found.computeIfAbsent(id, _ -> values.get(new Key(tenant, id))));
      return found;
    }
  }
}
