/** What stands behind {@link dev.sluice.core.port.Embedder}: a model in the jar, or an endpoint. */
@NullMarked
package dev.sluice.embeddings;

import org.jspecify.annotations.NullMarked;
