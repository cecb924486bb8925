package dev.sluice.templates.dictionary;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.UUID;

/**
 * The content id of a text: the 16 bytes of its MD5 (RFC 1321), in the same order, as a UUID. No
 * bits are replaced by a UUID version, so that common tools can compute the id.
 *
 * <p>MD5 serves compatibility with the ids of other systems, not security: two texts with the same
 * MD5 share one entry, which has the text of the first.
 */
public final class ContentId {
  private ContentId() {}

  /** Returns the id of the bytes. */
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

  /** Returns the id of the text in UTF-8. */
  public static UUID of(String text) {
    var bytes = text.getBytes(UTF_8);
    return of(bytes, 0, bytes.length);
  }
}
