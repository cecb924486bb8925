package dev.sluice.core.templates;

import java.util.UUID;

/**
 * What a masked message is one of.
 *
 * @param id identity of the template; stays valid when the template is generalised later
 * @param text of the template
 * @param overflowed whether this is the catch-all, since the message found no room as a template
 */
public record TemplateMatch(UUID id, String text, boolean overflowed) {}
