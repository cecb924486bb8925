package dev.sluice.templates;

import java.util.UUID;

/**
 * The template of a masked message.
 *
 * @param id the id of the template; it stays valid when the template is generalised later
 * @param text the text of the template
 * @param overflowed whether this is the catch-all template because a memory limit was reached
 */
public record TemplateMatch(UUID id, String text, boolean overflowed) {}
