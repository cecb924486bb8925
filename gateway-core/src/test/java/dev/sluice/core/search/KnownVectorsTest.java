package dev.sluice.core.search;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.port.TemplateVectorStore.Vectors;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class KnownVectorsTest {
  private static final UUID A = new UUID(1, 1);
  private static final UUID B = new UUID(1, 2);
  private static final UUID C = new UUID(1, 3);
  private static final int TOKENS = 10_000;

  /** Of two, and half a one more. */
  private static final long ROOM = 2 * TOKENS + TOKENS / 2;

  private final Store store = new Store();

  private KnownVectors known(long mostBytes) {
    return new KnownVectors(store, mostBytes);
  }

  private static Vectors vectors(UUID id, float... whole) {
    return new Vectors(id, whole, new byte[TOKENS]);
  }

  @Test
  void of_whatWasAskedBefore_isNotAskedOfTheStoreAgain() throws Exception {
    store.has("acme", vectors(A, 1, 0));
    store.has("acme", vectors(B, 0, 1));
    var known = known(ROOM);

    assertThat(known.of("acme", List.of(A))).extracting(Vectors::id).containsExactly(A);
    assertThat(known.of("acme", List.of(B, A))).extracting(Vectors::id).containsExactly(A, B);
    assertThat(known.of("acme", List.of(A, B))).extracting(Vectors::id).containsExactly(A, B);

    assertThat(store.asked).containsExactly(List.of(A), List.of(B));
  }

  @Test
  void of_whatHasNone_isLeftOutAndAskedAgain() throws Exception {
    var known = known(ROOM);
    assertThat(known.of("acme", List.of(A))).isEmpty();
    store.has("acme", vectors(A, 1, 0));

    assertThat(known.of("acme", List.of(A))).hasSize(1);
  }

  /** The same text has the same id, whosever template it is. */
  @Test
  void of_aTemplateOfTwoTenants_isToEachHisOwn() throws Exception {
    store.has("acme", vectors(A, 1, 0));
    store.has("other", vectors(A, 0, 1));
    var known = known(ROOM);

    for (int i = 0; i < 2; i++) {
      assertThat(known.of("acme", List.of(A)))
          .satisfiesExactly(each -> assertThat(each.sentenceVector()).containsExactly(1, 0));
      assertThat(known.of("other", List.of(A)))
          .satisfiesExactly(each -> assertThat(each.sentenceVector()).containsExactly(0, 1));
      assertThat(known.of("third", List.of(A))).isEmpty();
    }
  }

  @Test
  void of_moreThanThereIsRoomFor_forgetsTheOneThatWasNotAskedForLongest() throws Exception {
    for (var id : List.of(A, B, C)) {
      store.has("acme", vectors(id, 1, 0));
    }
    var known = known(ROOM);
    for (var id : List.of(A, B, A, C)) {
      known.of("acme", List.of(id));
    }
    store.asked.clear();

    known.of("acme", List.of(A, C));
    assertThat(store.asked).isEmpty();

    known.of("acme", List.of(B));
    assertThat(store.asked).containsExactly(List.of(B));

    store.asked.clear();
    known.of("acme", List.of(C, B, A));
    assertThat(store.asked).containsExactly(List.of(A));
  }

  @Test
  void of_noRoom_isAskedOfTheStoreEachTime() throws Exception {
    store.has("acme", vectors(A, 1, 0));
    var known = known(0);

    for (int i = 0; i < 2; i++) {
      assertThat(known.of("acme", List.of(A))).hasSize(1);
    }

    assertThat(store.asked).containsExactly(List.of(A), List.of(A));
  }

  /** Knows which ids it was asked for. */
  private static final class Store implements KnownVectors.Store {
    private record Key(String tenant, UUID id) {}

    private final Map<Key, Vectors> rows = new HashMap<>();
    final List<List<UUID>> asked = new ArrayList<>();

    void has(String tenant, Vectors vectors) {
      rows.put(new Key(tenant, vectors.id()), vectors);
    }

    @Override
    public List<Vectors> find(String tenant, Collection<UUID> ids) {
      asked.add(List.copyOf(ids));
      return ids.stream()
          .map(id -> rows.get(new Key(tenant, id)))
          .filter(Objects::nonNull)
          .toList();
    }
  }
}
