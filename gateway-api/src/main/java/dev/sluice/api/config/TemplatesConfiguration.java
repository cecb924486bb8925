package dev.sluice.api.config;

import dev.sluice.api.config.RoleCondition.DeliveryCondition;
import dev.sluice.api.ops.DictionaryEndpoint;
import dev.sluice.api.ops.DictionaryGauges;
import dev.sluice.core.port.Scheduler;
import dev.sluice.templates.TemplateRegistry;
import dev.sluice.templates.dictionary.Dictionary;
import dev.sluice.templates.dictionary.SharedDictionaryCache;
import java.time.InstantSource;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;

/** The wiring of template mining and of the dictionary cache. */
@Configuration(proxyBeanMethods = false)
class TemplatesConfiguration {
  @Bean
  @Conditional(DeliveryCondition.class)
  SharedDictionaryCache sharedDictionaryCache(
      DictionaryProperties properties, Dictionary dictionary) {
    return new SharedDictionaryCache(properties.cacheSettings(), dictionary);
  }

  @Bean
  @Conditional(DeliveryCondition.class)
  TemplateRegistry templateRegistry(
      TemplatesProperties properties, Dictionary dictionary, Scheduler scheduler) {
    var templateRegistry = new TemplateRegistry(properties.minerSettings(), dictionary);
    var file = properties.customMasksFile();
    if (file != null) {
      CustomMasksFile.read(file, templateRegistry::setCustomMasks)
          .watch(scheduler, Thread::startVirtualThread);
    }
    return templateRegistry;
  }

  @Bean
  @Conditional(DeliveryCondition.class)
  TemplatesLifecycle templatesLifecycle(
      TemplateRegistry templateRegistry,
      TemplatesProperties properties,
      Scheduler scheduler,
      InstantSource clock) {
    return new TemplatesLifecycle(templateRegistry, properties.syncInterval(), scheduler, clock);
  }

  @Bean
  @Conditional(DeliveryCondition.class)
  DictionaryEndpoint.Dependencies dictionaryDependencies(
      SharedDictionaryCache texts,
      TemplateRegistry templateRegistry,
      TemplatesProperties properties,
      TemplatesLifecycle lifecycle) {
    return new DictionaryEndpoint.Dependencies(
        texts, templateRegistry, properties.enabled(), lifecycle::lastStatus);
  }

  @Bean
  DictionaryEndpoint dictionaryEndpoint(
      ObjectProvider<DictionaryEndpoint.Dependencies> dependencies) {
    return new DictionaryEndpoint(dependencies.getIfAvailable());
  }

  @Bean
  @Conditional(DeliveryCondition.class)
  DictionaryGauges dictionaryGauges(
      SharedDictionaryCache texts, TemplateRegistry templateRegistry) {
    return new DictionaryGauges(texts, templateRegistry);
  }
}
