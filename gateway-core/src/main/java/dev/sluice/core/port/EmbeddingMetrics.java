package dev.sluice.core.port;

import java.time.Duration;

/** What is counted of embeddings. Safe for use by many threads; nothing blocks. */
public interface EmbeddingMetrics {

  /** A template has been embedded in this time. */
  void recordEmbedded(Duration took);

  /** The model could not be asked; templates wait. */
  void recordFailure();

  /** So many templates have no vectors yet. */
  void recordBacklog(long templates);
}
