/**
 * Template mining: {@link MessageMasker} masks a message, {@link TemplateMiner} assigns an unknown
 * masked message to a template. {@link TemplateRegistry} is the entry type; each delivery worker
 * has a {@link TemplateResolver}. Delivery uses it through {@link
 * dev.sluice.core.port.LogEnricher}. See {@code docs/templates.md}, which also has the state
 * diagram of the masker.
 */
@NullMarked
package dev.sluice.templates;

import org.jspecify.annotations.NullMarked;
