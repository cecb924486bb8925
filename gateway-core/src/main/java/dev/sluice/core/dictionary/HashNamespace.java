package dev.sluice.core.dictionary;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.port.Dictionary.EntryKind;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;

/**
 * Within which equal bytes are one text: of one kind, tenant and service. The same bytes in two
 * scopes have nothing to do with each other.
 *
 * <p>A scope is two numbers, as good as random without the {@link HashKeys}, that are put on top of
 * the key and the check of each text in it: it costs two additions for a text, and is made once for
 * a resource. Texts of two scopes are mistaken for each other with a probability of 2^-64 times
 * that of equal keys.
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
      // or the end of one name could be the beginning of the other
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

  /** What its texts are. */
  public EntryKind kind() {
    return kind;
  }

  /** Whose they are. */
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
