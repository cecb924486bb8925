package dev.sluice.templates;

import dev.sluice.templates.dictionary.ContentId;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A template as stored in the dictionary, one row for each template of a tenant. The complete state
 * of the miner can be rebuilt from the rows.
 *
 * @param id the MD5 of the text in UTF-8, all 128 bits
 * @param text the masked message with {@code <*>} for each value
 * @param mergedInto the more general template that replaced this one, which may have been replaced
 *     in turn; {@code null} if this template was not replaced
 */
public record TemplateRow(UUID id, String text, @Nullable UUID mergedInto) {
  /**
   * Creates a row.
   *
   * @throws IllegalArgumentException if the template is merged into itself
   */
  public TemplateRow {
    if (id.equals(mergedInto)) {
      throw new IllegalArgumentException("template " + id + " is merged into itself");
    }
  }

  static TemplateRow of(String text, @Nullable UUID mergedInto) {
    return new TemplateRow(idOf(text), text, mergedInto);
  }

  /** Returns the id of a template with this text. */
  public static UUID idOf(String text) {
    return ContentId.of(text);
  }
}
