/**
 * The driven ports of the queries: {@link LogReader} and {@link TemplateStats} read logs and
 * statistics, {@link TemplateVectorStore} and {@link Embedder} serve semantic search. A port names
 * no technology; its contract is a test suite in {@code gateway-testkit}.
 */
@NullMarked
package dev.sluice.query.port;

import org.jspecify.annotations.NullMarked;
