/**
 * Semantic search: each template is embedded once, and a query is compared with the vectors. {@link
 * SemanticSearch} answers a query, {@link EmbeddingBackfill} embeds new templates. The query API
 * and {@code dev.sluice.api.config} use it. See {@code docs/search.md}.
 */
@NullMarked
package dev.sluice.query.search;

import org.jspecify.annotations.NullMarked;
