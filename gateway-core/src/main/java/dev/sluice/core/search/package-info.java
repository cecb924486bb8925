/**
 * Logs by their meaning: templates are embedded once each, questions are held against them. See
 * {@code docs/search.md}.
 */
@NullMarked
package dev.sluice.core.search;

import org.jspecify.annotations.NullMarked;
