package dev.sluice.core.dictionary;

import java.security.SecureRandom;
import java.util.random.RandomGenerator;

/**
 * What nobody outside of the process knows, and without which nobody can make two texts that the
 * cache takes for one. Drawn anew in each process: hashes made with it never leave it.
 *
 * <p>Immutable.
 *
 * @param keySeed of XXH3
 * @param checkTweak of PolymurHash, with the two seeds
 * @param nhKey as many numbers as a block of {@link NhReducer} has
 * @param namespaceKey of the hash that tells {@link HashNamespace}s apart
 */
record HashKeys(
    long keySeed,
    long checkTweak,
    long checkFactor,
    long checkOffset,
    long[] nhKey,
    byte[] namespaceKey) {

  private static final int NAMESPACE_KEY_BYTES = 32;

  static HashKeys random() {
    return generate(new SecureRandom());
  }

  static HashKeys generate(RandomGenerator random) {
    var namespaceKey = new byte[NAMESPACE_KEY_BYTES];
    random.nextBytes(namespaceKey);
    return new HashKeys(
        random.nextLong(),
        random.nextLong(),
        random.nextLong(),
        random.nextLong(),
        random.longs(NhReducer.BLOCK_LONGS).toArray(),
        namespaceKey);
  }

  /** Without what it hides. */
  @Override
  public String toString() {
    return "HashKeys";
  }
}
