package dev.sluice.api.boot;

import dev.sluice.core.dictionary.TextCache;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Which texts are known to be in the dictionary. What is forgotten for want of room is written
 * again, which does no harm.
 *
 * @param workerEntries texts that each delivery worker remembers for itself, 32 bytes each
 * @param entries texts that all workers of the process remember together, 32 bytes each
 */
@ConfigurationProperties("sluice.dictionary")
record DictionaryProperties(
    @DefaultValue("8192") int workerEntries, @DefaultValue("1048576") int entries) {

  TextCache.Settings cache() {
    return new TextCache.Settings(workerEntries, entries);
  }
}
