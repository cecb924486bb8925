package dev.sluice.core.templates;

import java.util.UUID;

/**
 * What a masked message is one of.
 *
 * @param id identity of the template; stays valid when the template is generalised later
 * @param text of the template
 * @param caught whether this is the catch-all, since the message found no room as a template
 */
public record Mined(UUID id, String text, boolean caught) {}
