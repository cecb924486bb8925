package dev.sluice.core.templates;

import dev.sluice.core.dictionary.ContentId;
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
  /**
   * @throws IllegalArgumentException when it leads to itself
   */
  public TemplateRow {
    if (id.equals(mergedInto)) {
      throw new IllegalArgumentException(id + " is merged into itself");
    }
  }

  static TemplateRow of(String text, @Nullable UUID mergedInto) {
    return new TemplateRow(idOf(text), text, mergedInto);
  }

  /** The identity of a template with this text. */
  public static UUID idOf(String text) {
    return ContentId.of(text);
  }
}
