package dev.sluice.api.ops;

import dev.sluice.query.port.EmbeddingMetrics;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/** The Micrometer meters of the embedding backfill. */
public final class MicrometerEmbeddingMetrics implements EmbeddingMetrics {
  private final Timer templateDuration;
  private final Counter failures;
  private final AtomicLong backlog = new AtomicLong();

  public MicrometerEmbeddingMetrics(MeterRegistry registry) {
    templateDuration =
        Timer.builder("sluice.embeddings.template.duration")
            .description("Time to compute the vectors of one template")
            .register(registry);
    failures =
        Counter.builder("sluice.embeddings.failed")
            .description("Failed calls of the embedding model; the templates are retried")
            .register(registry);
    Gauge.builder("sluice.embeddings.backlog", backlog, AtomicLong::doubleValue)
        .description("Templates without vectors; search finds them only by their words")
        .register(registry);
  }

  @Override
  public void recordEmbedded(Duration duration) {
    templateDuration.record(duration);
  }

  @Override
  public void recordFailure() {
    failures.increment();
  }

  @Override
  public void recordBacklog(long templates) {
    backlog.set(templates);
  }
}
