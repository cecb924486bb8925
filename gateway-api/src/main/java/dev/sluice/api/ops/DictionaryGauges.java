package dev.sluice.api.ops;

import dev.sluice.templates.TemplateRegistry;
import dev.sluice.templates.dictionary.SharedDictionaryCache;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.function.ToDoubleFunction;

/** The meters of the dictionary cache and of templates. */
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
        .description("Computed MD5 digests of texts")
        .register(registry);
    counter("entries.written", SharedDictionaryCache.DictionaryCacheStats::writtenEntries)
        .description("Entries that the dictionary has confirmed")
        .register(registry);
    counter("writes.failed", SharedDictionaryCache.DictionaryCacheStats::failedWrites)
        .description("Writes that the dictionary has not confirmed; they are retried")
        .register(registry);
    Gauge.builder("sluice.dictionary.cache.entries", texts, t -> t.stats().entries())
        .description("Entries of the dictionary cache that all workers of the process share")
        .register(registry);
    Gauge.builder("sluice.templates.count", templateRegistry, t -> t.stats().templates())
        .description("Templates of all tenants, without those merged into others")
        .register(registry);
    Gauge.builder("sluice.templates.memory", templateRegistry, t -> t.stats().bytes())
        .description("Estimated memory of all templates")
        .baseUnit("bytes")
        .register(registry);
    FunctionCounter.builder(
            "sluice.templates.overflow", templateRegistry, t -> t.stats().overflowedLogs())
        .description("Log records that got the catch-all template because a limit was reached")
        .register(registry);
    FunctionCounter.builder(
            "sluice.templates.masks.budget.exceeded",
            templateRegistry,
            t -> t.stats().maskBudgetExceeded())
        .description("Times that a custom mask exceeded its step budget on a message")
        .register(registry);
  }

  private void registerLookups(
      String tier,
      ToDoubleFunction<SharedDictionaryCache.DictionaryCacheStats> value,
      MeterRegistry registry) {
    counter("lookups", value)
        .description("Lookups of texts by cache tier; none is a miss")
        .tag("tier", tier)
        .register(registry);
  }

  private FunctionCounter.Builder<SharedDictionaryCache> counter(
      String name, ToDoubleFunction<SharedDictionaryCache.DictionaryCacheStats> value) {
    return FunctionCounter.builder(
        "sluice.dictionary." + name, texts, t -> value.applyAsDouble(t.stats()));
  }
}
