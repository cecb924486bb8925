package dev.sluice.api.ops;

import dev.sluice.core.dictionary.SharedDictionaryCache;
import dev.sluice.core.templates.TemplateRegistry;
import java.time.Instant;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;

/**
 * {@code /actuator/dictionary}: what this process knows of the dictionary, and how far that spares
 * it from asking.
 */
@Endpoint(id = "dictionary")
public final class DictionaryEndpoint {
  private final @Nullable Dependencies dependencies;

  /**
   * @param dependencies null in a process that does not deliver
   */
  public DictionaryEndpoint(@Nullable Dependencies dependencies) {
    this.dependencies = dependencies;
  }

  /**
   * What there is to ask.
   *
   * @param enabled whether logs are told their templates
   * @param syncStatus how it last went to read what others have written
   */
  public record Dependencies(
      SharedDictionaryCache texts,
      TemplateRegistry templates,
      boolean enabled,
      Supplier<SyncStatus> syncStatus) {}

  /**
   * @param at when it last went well; null when it never has
   * @param trouble why it did not go well the last time; null when it did
   */
  public record SyncStatus(@Nullable Instant at, @Nullable String trouble) {}

  public record DictionaryResponse(CacheStats cache, MinerStats templates) {}

  /**
   * Counts are since the start, as of the workers' last deliveries.
   *
   * @param capacity texts that all workers can remember together
   * @param entries texts that they remember
   * @param bytes that their memory takes, full or not
   * @param digests MD5 computed of texts
   * @param written entries that the dictionary has confirmed
   * @param failed writes that it has not
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
   * Look-ups by who answered them.
   *
   * @param worker the worker that asked
   * @param pending what it has met and not yet written
   * @param shared the memory of all workers
   * @param none nobody: the text was written to the dictionary
   */
  public record LookupCounts(long worker, long pending, long shared, long none) {}

  /**
   * @param count templates that stand for themselves, of all tenants
   * @param bytes they take in memory, estimated
   * @param caught logs since the start for whose template there was no room
   * @param masks extra masks in force
   * @param masksGivenUp how often one was given up on a message since the start
   * @param reading of what others have written
   */
  public record MinerStats(
      boolean enabled,
      long count,
      long bytes,
      long caught,
      int masks,
      long masksGivenUp,
      SyncStatus reading) {}

  record ErrorResponse(String reason) {}

  /** 200, or 404 in a process that does not deliver. */
  @ReadOperation
  public WebEndpointResponse<Object> dictionary() {
    return dependencies == null
        ? new WebEndpointResponse<>(
            new ErrorResponse(
                "sluice.roles has no deliver: this process asks no dictionary for logs"),
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
