package dev.sluice.templates.dictionary;

import java.security.SecureRandom;
import java.util.random.RandomGenerator;

/**
 * The secret keys of the hashes in the dictionary cache. Without them, an attacker cannot construct
 * two texts that collide in the cache. They are random for each process, and hashes made with them
 * never leave it.
 *
 * <p>Immutable.
 *
 * @param keySeed the seed of XXH3
 * @param checkTweak the tweak of PolymurHash
 * @param checkFactor the first seed of PolymurHash
 * @param checkOffset the second seed of PolymurHash
 * @param nhKey the key of {@link NhReducer}, {@link NhReducer#BLOCK_LONGS} numbers
 * @param namespaceKey the key of the hash that separates {@link HashNamespace}s
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

  /** Returns the class name only, without the secrets. */
  @Override
  public String toString() {
    return "HashKeys";
  }
}
