package dev.sluice.core.templates;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A template as the dictionary keeps it, one row for each template of a tenant. All that mining
 * knows can be made again from the rows.
 *
 * @param id the MD5 of the text in UTF-8, all 128 bits as they are
 * @param text the masked message with {@code <*>} for each value
 * @param mergedInto the more general template that took its place, which may have been replaced in
 *     turn; {@code null} while it stands for itself
 */
public record TemplateRow(UUID id, String text, @Nullable UUID mergedInto) {
  static TemplateRow of(String text, @Nullable UUID mergedInto) {
    return new TemplateRow(idOf(text), text, mergedInto);
  }

  /** The identity of a template with this text. */
  public static UUID idOf(String text) {
    try {
      var md5 = MessageDigest.getInstance("MD5").digest(text.getBytes(StandardCharsets.UTF_8));
      var halves = ByteBuffer.wrap(md5);
      return new UUID(halves.getLong(), halves.getLong());
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has MD5", e);
    }
  }
}
