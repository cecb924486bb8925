package dev.sluice.api.ops;

import dev.sluice.core.dictionary.SharedDictionaryCache;
import dev.sluice.core.templates.TemplateRegistry;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.function.ToDoubleFunction;

/** What is known of the dictionary and of templates, for Prometheus; counted where it happens. */
public final class DictionaryGauges implements MeterBinder {
  private final SharedDictionaryCache texts;
  private final TemplateRegistry templateRegistry;

  public DictionaryGauges(SharedDictionaryCache texts, TemplateRegistry templateRegistry) {
    this.texts = texts;
    this.templateRegistry = templateRegistry;
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    registerLookups("worker", SharedDictionaryCache.DictionaryCacheStats::workerHits, registry);
    registerLookups("pending", SharedDictionaryCache.DictionaryCacheStats::pendingHits, registry);
    registerLookups("shared", SharedDictionaryCache.DictionaryCacheStats::sharedHits, registry);
    registerLookups("none", SharedDictionaryCache.DictionaryCacheStats::misses, registry);
    counter("digests", SharedDictionaryCache.DictionaryCacheStats::digests)
        .description("MD5 computed of texts")
        .register(registry);
    counter("entries.written", SharedDictionaryCache.DictionaryCacheStats::writtenEntries)
        .description("Entries that the dictionary has confirmed")
        .register(registry);
    counter("writes.failed", SharedDictionaryCache.DictionaryCacheStats::failedWrites)
        .description("Writes that the dictionary has not confirmed; they are tried again")
        .register(registry);
    Gauge.builder("sluice.dictionary.cache.entries", texts, t -> t.stats().entries())
        .description("Texts that all workers of the process remember together")
        .register(registry);
    Gauge.builder("sluice.templates.count", templateRegistry, t -> t.stats().templates())
        .description("Templates that stand for themselves, of all tenants")
        .register(registry);
    Gauge.builder("sluice.templates.memory", templateRegistry, t -> t.stats().bytes())
        .description("What all templates take in memory, estimated")
        .baseUnit("bytes")
        .register(registry);
    FunctionCounter.builder(
            "sluice.templates.overflow", templateRegistry, t -> t.stats().overflowedLogs())
        .description("Log records for whose template there was no room")
        .register(registry);
    FunctionCounter.builder(
            "sluice.templates.masks.budget.exceeded",
            templateRegistry,
            t -> t.stats().maskBudgetExceeded())
        .description("How often an extra mask was given up on a message")
        .register(registry);
  }

  private void registerLookups(
      String tier,
      ToDoubleFunction<SharedDictionaryCache.DictionaryCacheStats> value,
      MeterRegistry registry) {
    counter("lookups", value)
        .description("Look-ups of texts, by who answered them")
        .tag("tier", tier)
        .register(registry);
  }

  private FunctionCounter.Builder<SharedDictionaryCache> counter(
      String name, ToDoubleFunction<SharedDictionaryCache.DictionaryCacheStats> value) {
    return FunctionCounter.builder(
        "sluice.dictionary." + name, texts, t -> value.applyAsDouble(t.stats()));
  }
}
