package dev.sluice.query.port;

import java.time.Duration;

/** Records the metrics of embedding templates. Thread-safe; no method blocks. */
public interface EmbeddingMetrics {

  /** Records an embedded template and the time it took. */
  void recordEmbedded(Duration duration);

  /** Counts a failed call of the model, after which templates wait. */
  void recordFailure();

  /** Records the number of templates that have no vectors yet. */
  void recordBacklog(long templates);
}
