package dev.sluice.core.dictionary;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.UUID;

/**
 * The public identity of a text: its MD5 (RFC 1321), the 16 bytes in their order as a UUID. No bits
 * of it are given up for a version, so anybody can compute it with the tools at hand.
 *
 * <p>MD5 is here because identities have to agree with those of other systems, not as protection:
 * who makes two texts of one MD5 has made one entry, the first to come.
 */
public final class ContentId {
  private ContentId() {}

  /** Of these bytes. */
  public static UUID of(byte[] bytes, int offset, int length) {
    try {
      var md5 = MessageDigest.getInstance("MD5");
      md5.update(bytes, offset, length);
      var digest = ByteBuffer.wrap(md5.digest());
      return new UUID(digest.getLong(), digest.getLong());
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every JDK has MD5", e);
    }
  }

  /** Of the text's UTF-8. */
  public static UUID of(String text) {
    var bytes = text.getBytes(UTF_8);
    return of(bytes, 0, bytes.length);
  }
}
