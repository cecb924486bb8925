package dev.sluice.api.boot;

import dev.sluice.core.delivery.DictionaryEncoder;
import dev.sluice.core.dictionary.SharedDictionaryCache;
import dev.sluice.core.dictionary.TextReference;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * What logs have in common is kept once in the dictionary; which texts are known to be there is
 * remembered. What is forgotten for want of room is written again, which does no harm.
 *
 * @param workerCacheEntries texts that each delivery worker remembers for itself, 40 bytes each;
 *     from 8 to 67108864
 * @param cacheEntries texts that all workers of the process remember together, 32 bytes each; from
 *     8 to 67108864
 * @param longTextThreshold an attribute's value of so many bytes, from 512 to 1MB, is kept in the
 *     dictionary from the second time on, and its rows refer to it; 0 for never
 * @param encodeResources whether rows carry the identity of their resource's attributes
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
