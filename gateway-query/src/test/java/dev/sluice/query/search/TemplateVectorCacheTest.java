package dev.sluice.query.search;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.query.port.TemplateVectorStore.Vectors;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class TemplateVectorCacheTest {
  private static final UUID A = new UUID(1, 1);
  private static final UUID B = new UUID(1, 2);
  private static final UUID C = new UUID(1, 3);
  private static final int TOKENS = 10_000;

  /** Capacity for two entries and a half. */
  private static final long CAPACITY = 2 * TOKENS + TOKENS / 2;

  private final RecordingLoader loader = new RecordingLoader();

  private TemplateVectorCache cache(long maxBytes) {
    return new TemplateVectorCache(loader, maxBytes);
  }

  private static Vectors vectors(UUID id, float... sentenceVector) {
    return new Vectors(id, sentenceVector, new byte[TOKENS]);
  }

  @Test
  void get_cachedIds_areNotLoadedAgain() throws Exception {
    loader.put("acme", vectors(A, 1, 0));
    loader.put("acme", vectors(B, 0, 1));
    var cache = cache(CAPACITY);

    assertThat(cache.get("acme", List.of(A))).extracting(Vectors::id).containsExactly(A);
    assertThat(cache.get("acme", List.of(B, A))).extracting(Vectors::id).containsExactly(A, B);
    assertThat(cache.get("acme", List.of(A, B))).extracting(Vectors::id).containsExactly(A, B);

    assertThat(loader.requests).containsExactly(List.of(A), List.of(B));
  }

  @Test
  void get_missingVectors_areOmittedAndLoadedAgain() throws Exception {
    var cache = cache(CAPACITY);
    assertThat(cache.get("acme", List.of(A))).isEmpty();
    loader.put("acme", vectors(A, 1, 0));

    assertThat(cache.get("acme", List.of(A))).hasSize(1);
  }

  /** The same text has the same template id for every tenant. */
  @Test
  void get_sameIdOfTwoTenants_isSeparate() throws Exception {
    loader.put("acme", vectors(A, 1, 0));
    loader.put("other", vectors(A, 0, 1));
    var cache = cache(CAPACITY);

    for (int i = 0; i < 2; i++) {
      assertThat(cache.get("acme", List.of(A)))
          .satisfiesExactly(each -> assertThat(each.sentenceVector()).containsExactly(1, 0));
      assertThat(cache.get("other", List.of(A)))
          .satisfiesExactly(each -> assertThat(each.sentenceVector()).containsExactly(0, 1));
      assertThat(cache.get("third", List.of(A))).isEmpty();
    }
  }

  @Test
  void get_overCapacity_evictsTheLeastRecentlyUsed() throws Exception {
    for (var id : List.of(A, B, C)) {
      loader.put("acme", vectors(id, 1, 0));
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
    loader.put("acme", vectors(A, 1, 0));
    var cache = cache(0);

    for (int i = 0; i < 2; i++) {
      assertThat(cache.get("acme", List.of(A))).hasSize(1);
    }

    assertThat(loader.requests).containsExactly(List.of(A), List.of(A));
  }

  /** A loader that records the requested ids. */
  private static final class RecordingLoader implements TemplateVectorCache.VectorLoader {
    private record Key(String tenant, UUID id) {}

    private final Map<Key, Vectors> rows = new HashMap<>();
    final List<List<UUID>> requests = new ArrayList<>();

    void put(String tenant, Vectors vectors) {
      rows.put(new Key(tenant, vectors.id()), vectors);
    }

    @Override
    public List<Vectors> load(String tenant, Collection<UUID> ids) {
      requests.add(List.copyOf(ids));
      return ids.stream()
          .map(id -> rows.get(new Key(tenant, id)))
          .filter(Objects::nonNull)
          .toList();
    }
  }
}
