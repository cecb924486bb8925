package dev.sluice.api.config;

import dev.sluice.templates.DictionaryEncoder;
import dev.sluice.templates.dictionary.SharedDictionaryCache;
import dev.sluice.templates.dictionary.TextReference;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * The dictionary, which stores texts that logs share once. Caches remember the texts that are in
 * the dictionary. A text that a full cache has evicted is written again, which is idempotent.
 *
 * @param workerCacheEntries entries of the cache of each delivery worker, 40 bytes each, from 8 to
 *     67108864; above it older entries are evicted
 * @param cacheEntries entries of the cache that all workers of the process share, 32 bytes each,
 *     from 8 to 67108864; above it older entries are evicted
 * @param longTextThreshold size from which an attribute value is stored in the dictionary, from its
 *     second occurrence on, and the rows refer to it; from 512B to 1MB; 0 means never
 * @param encodeResources whether the rows have the id of their resource attributes
 */
@ConfigurationProperties("sluice.dictionary")
record DictionaryProperties(
    @DefaultValue("8192") int workerCacheEntries,
    @DefaultValue("1048576") int cacheEntries,
    @DefaultValue("1KB") DataSize longTextThreshold,
    @DefaultValue("true") boolean encodeResources) {

  DictionaryProperties {
    requireEntries("sluice.dictionary.worker-cache-entries", workerCacheEntries);
    requireEntries("sluice.dictionary.cache-entries", cacheEntries);
    if (longTextThreshold.toBytes() != 0) {
      PropertyChecks.requireBetween(
          "sluice.dictionary.long-text-threshold",
          Math.clamp(longTextThreshold.toBytes(), -1, Integer.MAX_VALUE),
          TextReference.MIN_TEXT_BYTES,
          TextReference.MAX_TEXT_BYTES);
    }
  }

  private static void requireEntries(String key, int value) {
    PropertyChecks.requireBetween(
        key,
        value,
        SharedDictionaryCache.CacheSettings.MIN_ENTRIES,
        SharedDictionaryCache.CacheSettings.MAX_ENTRIES);
  }

  SharedDictionaryCache.CacheSettings cacheSettings() {
    return new SharedDictionaryCache.CacheSettings(workerCacheEntries, cacheEntries);
  }

  DictionaryEncoder.EncoderSettings encoderSettings() {
    return new DictionaryEncoder.EncoderSettings(
        Math.clamp(longTextThreshold.toBytes(), -1, Integer.MAX_VALUE), encodeResources);
  }
}
