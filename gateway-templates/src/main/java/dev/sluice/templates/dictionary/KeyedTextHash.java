package dev.sluice.templates.dictionary;

import com.dynatrace.hash4j.hashing.Hasher64;
import com.dynatrace.hash4j.hashing.Hashing;

/**
 * A hash function with two results for a text: the key, which selects its cache entry, and the
 * check, which verifies that the entry belongs to the text (ADR 0027).
 *
 * <p>The key is XXH3-64 with a secret seed. A secret seed is not enough: the numbers that XXH3
 * mixes into a long text are sums of the seed and published constants, so their differences are
 * known. An attacker can construct a pair of texts of 1.1 kB with the same hash, of 64 and of 128
 * bits, for a considerable share of all seeds; {@code KeyedTextHashTest} has such a pair. More bits
 * of XXH3 are therefore no protection against an attacker.
 *
 * <p>The check is PolymurHash 2.0, a polynomial modulo 2^61-1 with a secret key. Two different
 * texts of at most {@code n} bytes, even chosen by an attacker, have the same check with a
 * probability of at most {@code n * 2^-60.2} (proved by its author). For a text up to {@value
 * #MAX_DIRECT_BYTES} bytes this is 2^-52. Longer texts are reduced first. The {@link NhReducer}
 * results are equal with a probability of 2^-63; the checks are equal with 2^-54 for a text of 8
 * kB, which is reduced to 40 bytes, and with 2^-48 for 1 MiB.
 *
 * <p>A collision needs equal keys and equal checks. A million texts in a cache form 2^39 pairs. If
 * an attacker made them all with the same key, any two have the same check with a probability of
 * 2^-13; with pseudo-random keys a collision has a probability of 2^-77. The reduction is common to
 * the key and the check: any two of a million long texts have the same reduced text with a
 * probability of 2^-24, whatever their keys are.
 *
 * <p>Confined to one thread. Allocates nothing, except for a text longer than all texts before it.
 */
final class KeyedTextHash {

  /** The maximum length in bytes up to which two hashes cost less than the reduction. */
  static final int MAX_DIRECT_BYTES = 256;

  /** The hash function of the key; tests that need equal keys replace it. */
  @FunctionalInterface
  interface KeyFunction {
    long hash(byte[] bytes, int offset, int length);

    /** Returns the XXH3 hash of 64 bits. The function is thread-safe. */
    static KeyFunction xxh3(long seed) {
      return Hashing.xxh3_64(seed)::hashBytesToLong;
    }
  }

  private final KeyFunction keyFunction;
  private final Hasher64 checkHasher;
  private final NhReducer reducer;
  private long key;
  private long check;

  KeyedTextHash(HashKeys hashKeys, KeyFunction keyFunction) {
    this.keyFunction = keyFunction;
    this.checkHasher =
        Hashing.polymurHash2_0(
            hashKeys.checkTweak(), hashKeys.checkFactor(), hashKeys.checkOffset());
    this.reducer = new NhReducer(hashKeys.nhKey());
  }

  /** Hashes a text; {@link #key} and {@link #check} return the results until the next call. */
  void hash(byte[] bytes, int offset, int length) {
    if (length <= MAX_DIRECT_BYTES) {
      key = keyFunction.hash(bytes, offset, length);
      check = checkHasher.hashBytesToLong(bytes, offset, length);
    } else {
      int reducedLength = reducer.reduce(bytes, offset, length);
      key = keyFunction.hash(reducer.bytes(), 0, reducedLength);
      check = checkHasher.hashBytesToLong(reducer.bytes(), 0, reducedLength);
    }
  }

  long key() {
    return key;
  }

  long check() {
    return check;
  }
}
