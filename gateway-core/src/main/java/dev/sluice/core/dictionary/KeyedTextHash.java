package dev.sluice.core.dictionary;

import com.dynatrace.hash4j.hashing.Hasher64;
import com.dynatrace.hash4j.hashing.Hashing;

/**
 * Two numbers for a text: the key by which it is found, and the check that it is the one.
 *
 * <p>The key is XXH3-64. Its seed is secret, which is not enough: the numbers that XXH3 mixes into
 * a long text are sums of the seed and of published constants, so their differences are known, and
 * a pair of texts of 1.1 kB can be written down that has one hash, of 64 and of 128 bits alike,
 * under one and a half percent of all seeds (found by trying; {@code TextHashTest} has it). More
 * bits of the same hash are therefore no check against somebody who means it.
 *
 * <p>The check is PolymurHash 2.0, a polynomial modulo 2^61-1 under a secret key: two different
 * texts of at most {@code n} bytes, whoever made them, have one check with a probability of at most
 * {@code n * 2^-60.2} (its author's proof). For a text up to {@value #MAX_DIRECT_BYTES} bytes that
 * is 2^-52. Longer ones are folded first: 2^-63 that the {@link NhReducer} is the same, and for 8
 * kB, of which it leaves 40 bytes, 2^-54 that the check is, for 1 MiB 2^-48. To be mistaken, two
 * texts must agree in the key as well. Of a million texts in a cache, 2^39 pairs, all made by
 * somebody who has found one key for all of them, some two have one check with 2^-13; where the
 * keys are as good as random, with 2^-77. The fold comes before both: some two of a million long
 * ones have one with 2^-24, whatever their keys.
 *
 * <p>Confined to a thread. Allocates nothing, but for a text longer than any before it.
 */
final class KeyedTextHash {

  /** Up to here, in bytes, hashing a text twice is cheaper than folding it. */
  static final int MAX_DIRECT_BYTES = 256;

  /** The hash that the key is; replaced by tests that need equal keys. */
  @FunctionalInterface
  interface KeyFunction {
    long hash(byte[] bytes, int offset, int length);

    /** XXH3 of 64 bits. Safe for use by many threads. */
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

  /** Hashes a text; {@link #key} and {@link #check} are of it until the next. */
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
