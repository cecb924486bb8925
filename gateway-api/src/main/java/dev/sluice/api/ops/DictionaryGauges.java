package dev.sluice.api.ops;

import dev.sluice.core.dictionary.TextCache;
import dev.sluice.core.templates.Templates;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.function.ToDoubleFunction;

/** What is known of the dictionary and of templates, for Prometheus; counted where it happens. */
public final class DictionaryGauges implements MeterBinder {
  private final TextCache texts;
  private final Templates templates;

  public DictionaryGauges(TextCache texts, Templates templates) {
    this.texts = texts;
    this.templates = templates;
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    lookups("worker", TextCache.Tally::near, registry);
    lookups("pending", TextCache.Tally::fresh, registry);
    lookups("shared", TextCache.Tally::shared, registry);
    lookups("none", TextCache.Tally::unknown, registry);
    texts("digests", TextCache.Tally::digests)
        .description("MD5 computed of texts")
        .register(registry);
    texts("entries.written", TextCache.Tally::written)
        .description("Entries that the dictionary has confirmed")
        .register(registry);
    texts("writes.failed", TextCache.Tally::failed)
        .description("Writes that the dictionary has not confirmed; they are tried again")
        .register(registry);
    Gauge.builder("sluice.dictionary.cache.entries", texts, t -> t.tally().entries())
        .description("Texts that all workers of the process remember together")
        .register(registry);
    Gauge.builder("sluice.templates.count", templates, t -> t.tally().templates())
        .description("Templates that stand for themselves, of all tenants")
        .register(registry);
    Gauge.builder("sluice.templates.memory", templates, t -> t.tally().bytes())
        .description("What all templates take in memory, estimated")
        .baseUnit("bytes")
        .register(registry);
    FunctionCounter.builder("sluice.templates.caught", templates, t -> t.tally().caught())
        .description("Log records for whose template there was no room")
        .register(registry);
    FunctionCounter.builder(
            "sluice.templates.masks.given.up", templates, t -> t.tally().masksGivenUp())
        .description("How often an extra mask was given up on a message")
        .register(registry);
  }

  private void lookups(
      String barrier, ToDoubleFunction<TextCache.Tally> figure, MeterRegistry registry) {
    texts("lookups", figure)
        .description("Look-ups of texts, by who answered them")
        .tag("barrier", barrier)
        .register(registry);
  }

  private FunctionCounter.Builder<TextCache> texts(
      String name, ToDoubleFunction<TextCache.Tally> figure) {
    return FunctionCounter.builder(
        "sluice.dictionary." + name, texts, t -> figure.applyAsDouble(t.tally()));
  }
}
