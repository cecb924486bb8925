package dev.sluice.templates.dictionary;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;

/**
 * A namespace of hashed texts: one kind, tenant and service. Equal bytes within a namespace are one
 * text; equal bytes in two namespaces are independent.
 *
 * <p>A namespace has two numbers, which are pseudo-random without the {@link HashKeys}. They are
 * combined with the key and the check of each text, which costs two operations per text. Texts of
 * two namespaces collide with a probability of 2^-64 times that of equal keys.
 *
 * <p>Immutable.
 */
public final class HashNamespace {
  private final EntryKind kind;
  private final String tenant;
  private final byte[] service;
  private final long key;
  private final long check;

  HashNamespace(HashKeys hashKeys, EntryKind kind, String tenant, byte[] service) {
    this.kind = kind;
    this.tenant = tenant;
    this.service = service;
    try {
      var sha = MessageDigest.getInstance("SHA-256");
      var name = tenant.getBytes(UTF_8);
      sha.update(hashKeys.namespaceKey());
      sha.update(kind.name().getBytes(UTF_8));
      // the length prefix separates the tenant from the service: "ab" + "c" is not "a" + "bc"
      sha.update(ByteBuffer.allocate(Integer.BYTES).putInt(name.length).flip());
      sha.update(name);
      sha.update(service);
      var digest = ByteBuffer.wrap(sha.digest());
      key = digest.getLong();
      check = digest.getLong();
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every JDK has SHA-256", e);
    }
  }

  /** Returns the kind of the texts. */
  public EntryKind kind() {
    return kind;
  }

  /** Returns the tenant of the texts. */
  public String tenant() {
    return tenant;
  }

  long key(long textKey) {
    return textKey ^ key;
  }

  long check(long textCheck) {
    return textCheck + check;
  }

  boolean matches(EntryKind kind, String tenant, byte[] bytes, int offset, int length) {
    return this.kind == kind
        && Arrays.equals(service, 0, service.length, bytes, offset, offset + length)
        && this.tenant.equals(tenant);
  }
}
