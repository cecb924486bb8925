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
 * @param foldKey as many numbers as a block of {@link Fold} has
 * @param scopeKey of the hash that tells {@link Scope}s apart
 */
record Secret(
    long keySeed,
    long checkTweak,
    long checkFactor,
    long checkOffset,
    long[] foldKey,
    byte[] scopeKey) {

  private static final int SCOPE_KEY_BYTES = 32;

  static Secret random() {
    return drawnFrom(new SecureRandom());
  }

  static Secret drawnFrom(RandomGenerator random) {
    var scopeKey = new byte[SCOPE_KEY_BYTES];
    random.nextBytes(scopeKey);
    return new Secret(
        random.nextLong(),
        random.nextLong(),
        random.nextLong(),
        random.nextLong(),
        random.longs(Fold.BLOCK_LONGS).toArray(),
        scopeKey);
  }

  /** Without what it hides. */
  @Override
  public String toString() {
    return "Secret";
  }
}
