/**
 * Readers and views of stored logs. {@link ConcurrencyLimitedReader} limits concurrent queries so
 * that they do not slow down delivery; {@link TemplateReport} and {@link TemplateSummaries}
 * describe templates. The query API and {@code dev.sluice.query.search} use it.
 */
@NullMarked
package dev.sluice.query.read;

import org.jspecify.annotations.NullMarked;
