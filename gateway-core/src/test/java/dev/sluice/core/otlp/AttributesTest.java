package dev.sluice.core.otlp;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class AttributesTest {
  private static final int KEYS = 1024;
  private static final int REPETITIONS = 200;

  /** Attributes that count the comparisons of two keys. */
  private static final class CountingAttributes extends Attributes {
    private long comparisons;

    @Override
    boolean isKey(int i, byte[] bytes, int offset, int length) {
      comparisons++;
      return super.isKey(i, bytes, offset, length);
    }
  }

  /** The keys have equal length and equal ends, so that no cheap check tells one from another. */
  private static List<byte[]> keys(int count) {
    return IntStream.range(0, count).mapToObj(i -> "k%06dk".formatted(i).getBytes(UTF_8)).toList();
  }

  private static byte[] join(List<byte[]> keys) {
    var all = new byte[keys.size() * 8];
    for (int i = 0; i < keys.size(); i++) {
      System.arraycopy(keys.get(i), 0, all, i * 8, 8);
    }
    return all;
  }

  @Test
  void put_repeatedKeys_comparesEachWithFewOthers() {
    var bytes = join(keys(KEYS));
    var attributes = new CountingAttributes();

    for (int i = 0; i < REPETITIONS * KEYS; i++) {
      attributes.put(bytes, i % KEYS * 8, 8);
    }

    assertThat(attributes.size()).isEqualTo(KEYS);
    assertThat(attributes.sentCount()).isEqualTo(REPETITIONS * KEYS);
    assertThat(attributes.comparisons).isLessThan(3L * REPETITIONS * KEYS);
  }

  @Test
  void put_distinctKeys_comparesEachWithFewOthers() {
    var bytes = join(keys(KEYS));
    var attributes = new CountingAttributes();

    for (int round = 0; round < REPETITIONS; round++) {
      attributes.clear();
      for (int i = 0; i < KEYS; i++) {
        attributes.put(bytes, i * 8, 8);
      }
    }

    assertThat(attributes.comparisons).isLessThan(3L * REPETITIONS * KEYS);
  }

  @Test
  void put_afterClear_findsNoEarlierKey() {
    var bytes = join(keys(100));
    var attributes = new Attributes();
    for (int size = 100; size > 0; size--) {
      attributes.clear();
      for (int i = 0; i < 2 * size; i++) {
        attributes.put(bytes, i % size * 8, 8).bits = i;
      }
      assertThat(attributes.size()).isEqualTo(size);
      for (int i = 0; i < size; i++) {
        assertThat(attributes.keyOffset(i)).isEqualTo(i * 8);
        assertThat(attributes.value(i).asLong()).isEqualTo(size + i);
      }
    }
  }

  @Test
  void put_emptyKeys_areOneKey() {
    var bytes = join(keys(40));
    var attributes = new Attributes();

    for (int i = 0; i < 40; i++) {
      attributes.put(bytes, i * 8, 8);
      attributes.put(bytes, i * 8, 0);
    }

    assertThat(attributes.size()).isEqualTo(41);
  }
}
