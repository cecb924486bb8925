package dev.sluice.core.port;

import java.time.Duration;

/** What is counted of embeddings. Safe for use by many threads; nothing blocks. */
public interface EmbeddingMeter {

  /** A template has been embedded in this time. */
  void embedded(Duration took);

  /** The model could not be asked; templates wait. */
  void failed();

  /** So many templates have no vectors yet. */
  void backlog(long templates);
}
