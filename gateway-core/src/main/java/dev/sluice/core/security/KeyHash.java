package dev.sluice.core.security;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import org.jspecify.annotations.Nullable;

/** The SHA-256 of an API key, compared in constant time. */
final class KeyHash {
  private final byte[] bytes;

  KeyHash(byte[] bytes) {
    this.bytes = bytes;
  }

  /** Returns the hash of a key. */
  static KeyHash of(String key) {
    try {
      return new KeyHash(MessageDigest.getInstance("SHA-256").digest(key.getBytes(UTF_8)));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof KeyHash hash && MessageDigest.isEqual(bytes, hash.bytes);
  }

  /** The bits of a cryptographic hash are evenly distributed, so that four bytes are enough. */
  @Override
  public int hashCode() {
    return bytes[0] << 24 | (bytes[1] & 0xff) << 16 | (bytes[2] & 0xff) << 8 | bytes[3] & 0xff;
  }
}
