/**
 * Implementations of {@link dev.sluice.query.port.Embedder}: {@link OnnxEmbedder} runs a model in
 * this process, {@link OpenAiEmbedder} calls an OpenAI-compatible endpoint. Only {@code
 * dev.sluice.api.config} uses this package.
 */
@NullMarked
package dev.sluice.embeddings;

import org.jspecify.annotations.NullMarked;
