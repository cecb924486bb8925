package dev.sluice.api.ops;

import dev.sluice.templates.TemplateRegistry;
import dev.sluice.templates.dictionary.SharedDictionaryCache;
import java.time.Instant;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;

/**
 * The endpoint {@code /actuator/dictionary}: the dictionary cache of this process with its hits and
 * misses, and the templates that this process knows.
 */
@Endpoint(id = "dictionary")
public final class DictionaryEndpoint {
  private final @Nullable Dependencies dependencies;

  /**
   * @param dependencies the sources of the figures; null in a process that does not deliver
   */
  public DictionaryEndpoint(@Nullable Dependencies dependencies) {
    this.dependencies = dependencies;
  }

  /**
   * The sources of the figures.
   *
   * @param texts the dictionary cache
   * @param templates the templates
   * @param enabled whether this process mines templates
   * @param syncStatus the result of the last template sync
   */
  public record Dependencies(
      SharedDictionaryCache texts,
      TemplateRegistry templates,
      boolean enabled,
      Supplier<SyncStatus> syncStatus) {}

  /**
   * The result of the last template sync, which reads the templates of other gateways.
   *
   * @param at the time of the last successful sync; null before the first one
   * @param error the error of the last sync; null after success
   */
  public record SyncStatus(@Nullable Instant at, @Nullable String error) {}

  /** The response of the endpoint. */
  public record DictionaryResponse(CacheStats cache, MinerStats templates) {}

  /**
   * The dictionary cache. Counts are since the start, up to the last delivery of each worker.
   *
   * @param capacity the maximum number of entries in the shared cache
   * @param entries the number of entries in the shared cache
   * @param bytes the memory of the shared cache in bytes, including free slots
   * @param lookups the lookups by cache tier
   * @param digests the number of computed MD5 digests
   * @param written the number of entries that the dictionary has confirmed
   * @param failed the number of writes that the dictionary has not confirmed
   */
  public record CacheStats(
      long capacity,
      long entries,
      long bytes,
      LookupCounts lookups,
      long digests,
      long written,
      long failed) {}

  /**
   * Lookups by the cache tier that had the text.
   *
   * @param worker hits of the worker's own cache
   * @param pending hits of the worker's entries that are not written yet
   * @param shared hits of the cache that all workers share
   * @param none misses: the text was written to the dictionary
   */
  public record LookupCounts(long worker, long pending, long shared, long none) {}

  /**
   * The templates. Counts are since the start.
   *
   * @param enabled whether this process mines templates
   * @param count the number of templates of all tenants, without those merged into others
   * @param bytes the estimated memory of the templates in bytes
   * @param overflow the number of logs that got the catch-all template because a limit was reached
   * @param customMasks the number of custom masks in use
   * @param masksBudgetExceeded the number of times a custom mask exceeded its step budget on a
   *     message
   * @param sync the result of the last template sync
   */
  public record MinerStats(
      boolean enabled,
      long count,
      long bytes,
      long overflow,
      int customMasks,
      long masksBudgetExceeded,
      SyncStatus sync) {}

  record ErrorResponse(String reason) {}

  /** Responds 200 with the figures, or 404 in a process that does not deliver. */
  @ReadOperation
  public WebEndpointResponse<Object> dictionary() {
    return dependencies == null
        ? new WebEndpointResponse<>(
            new ErrorResponse(
                "sluice.roles has no deliver: this process does not use the dictionary"),
            WebEndpointResponse.STATUS_NOT_FOUND)
        : new WebEndpointResponse<>(
            new DictionaryResponse(cacheStats(dependencies), minerStats(dependencies)));
  }

  private static CacheStats cacheStats(Dependencies dependencies) {
    var dictionaryCacheStats = dependencies.texts().stats();
    return new CacheStats(
        dictionaryCacheStats.capacity(),
        dictionaryCacheStats.entries(),
        dictionaryCacheStats.bytes(),
        new LookupCounts(
            dictionaryCacheStats.workerHits(),
            dictionaryCacheStats.pendingHits(),
            dictionaryCacheStats.sharedHits(),
            dictionaryCacheStats.misses()),
        dictionaryCacheStats.digests(),
        dictionaryCacheStats.writtenEntries(),
        dictionaryCacheStats.failedWrites());
  }

  private static MinerStats minerStats(Dependencies dependencies) {
    var registryStats = dependencies.templates().stats();
    return new MinerStats(
        dependencies.enabled(),
        registryStats.templates(),
        registryStats.bytes(),
        registryStats.overflowedLogs(),
        registryStats.customMasks(),
        registryStats.maskBudgetExceeded(),
        dependencies.syncStatus().get());
  }
}
