package dev.sluice.templates.dictionary;

import static org.assertj.core.api.Assertions.assertThat;

import com.dynatrace.hash4j.hashing.Hashing;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.SplittableRandom;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

class KeyedTextHashTest {
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private static final int SEEDS = 5_000;

  /** The published value for an empty input and seed 0. */
  @Test
  void xxh3_emptyInputWithSeedZero_isTheReferenceValue() {
    assertThat(KeyedTextHash.KeyFunction.xxh3(0).hash(new byte[0], 0, 0))
        .isEqualTo(0x2D06800538D394C2L);
  }

  /** Shows that XXH3 of 64 or 128 bits cannot serve as the check. */
  @Test
  void xxh3_craftedPair_collidesUnderManySecretSeeds() {
    var pair = craftedPair();
    var seeds = new SplittableRandom(2);
    int equal = 0;
    for (int i = 0; i < SEEDS; i++) {
      var hash = Hashing.xxh3_128(seeds.nextLong());
      if (hash.hashBytesTo128Bits(pair[0]).equals(hash.hashBytesTo128Bits(pair[1]))) {
        equal++;
      }
    }

    assertThat(equal).isGreaterThan(SEEDS / 200);
  }

  @Test
  void hash_craftedPair_differsUnderEverySecret() {
    var pair = craftedPair();
    var seeds = new SplittableRandom(2);
    for (int i = 0; i < SEEDS; i++) {
      var hashKeys = HashKeys.generate(seeds);
      var hash = new KeyedTextHash(hashKeys, KeyedTextHash.KeyFunction.xxh3(hashKeys.keySeed()));

      hash.hash(pair[0], 0, pair[0].length);
      long key = hash.key();
      long check = hash.check();
      hash.hash(pair[1], 0, pair[1].length);

      assertThat(hash.key()).isNotEqualTo(key);
      assertThat(hash.check()).isNotEqualTo(check);
    }
  }

  @Property
  void hash_sameBytesAtAnotherOffset_isEqualAndOtherBytesDiffer(
      @ForAll @IntRange(max = 2_000) int length, @ForAll @IntRange(max = 15_999) int bit) {
    var hashKeys = HashKeys.generate(new SplittableRandom(3));
    var hash = new KeyedTextHash(hashKeys, KeyedTextHash.KeyFunction.xxh3(hashKeys.keySeed()));
    var bytes = new byte[length + 20];
    new SplittableRandom(length).nextBytes(bytes);
    hash.hash(bytes, 3, length);
    long key = hash.key();
    long check = hash.check();
    var moved = new byte[length + 20];
    System.arraycopy(bytes, 3, moved, 11, length);

    hash.hash(moved, 11, length);
    assertThat(hash.key()).isEqualTo(key);
    assertThat(hash.check()).isEqualTo(check);

    if (length > 0) {
      moved[11 + bit / 8 % length] ^= (byte) (1 << bit % 8);
      hash.hash(moved, 11, length);
      assertThat(hash.key()).isNotEqualTo(key);
      assertThat(hash.check()).isNotEqualTo(check);
    }
  }

  /**
   * Creates two texts of 1.1 kB that differ in the upper bit of two numbers: the first number of
   * stripe 0 and the first number of stripe 12. XXH3 mixes a secret number into each, {@code s}
   * into one and {@code s} plus a published constant into the other, and multiplies the halves. The
   * chosen difference of the lower halves makes it likely that they are equal after the mixing.
   * Then the change adds to one product as much as it subtracts from the other.
   */
  private static byte[][] craftedPair() {
    int one = 0;
    int other = 12 * 64;
    var text = new byte[1100];
    new SplittableRandom(4).nextBytes(text);
    long first = (long) LONG.get(text, one) & Long.MAX_VALUE;
    long second = (long) LONG.get(text, other) & 0x7FFFFFFF_00000000L;
    LONG.set(text, one, first);
    LONG.set(text, other, second | (((int) first ^ 101_319_696) & 0xFFFFFFFFL));
    var changed = text.clone();
    changed[one + 7] ^= (byte) 0x80;
    changed[other + 7] ^= (byte) 0x80;
    return new byte[][] {text, changed};
  }
}
