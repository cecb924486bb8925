package dev.sluice.templates;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.WriteResult;
import dev.sluice.templates.dictionary.Dictionary.DictionaryEntry;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import dev.sluice.templates.dictionary.HashNamespace;
import dev.sluice.templates.dictionary.WorkerDictionaryCache;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * Resolves the templates of messages for one delivery worker: masks each message, looks up the
 * masked form in the worker's cache, and mines masked forms that are not cached. The id of a
 * template is that of the most recent lookup of the {@link WorkerDictionaryCache}.
 *
 * <p>Confined to one thread. A message whose masked form is cached allocates nothing.
 */
public final class TemplateResolver {

  /**
   * The maximum number of messages of one service, between two flushes, that are mined and end in
   * the catch-all template. Further messages of the service go to the catch-all without mining,
   * unless their masked form was cached on an earlier day. The limit bounds the CPU time that a
   * flood of distinct messages costs; measured; see docs/templates.md.
   */
  private static final int MAX_OVERFLOWS_PER_FLUSH = 1_000;

  private static final UUID CATCH_ALL = TemplateMiner.CATCH_ALL.id();

  private final TemplateRegistry templateRegistry;
  private final WorkerDictionaryCache dictionaryCache;
  private final MessageMasker masker = new MessageMasker();

  /** The tenant of the current batch. */
  private String tenant = "";

  /** The receive time of the current batch. */
  private long receivedNanos;

  /**
   * The name of the current service, followed by the mask generation, because other masks yield
   * other templates.
   */
  private byte[] service = new byte[64];

  private int serviceLength;
  private HashNamespace namespace;

  /** Tenants with mined messages since the last flush, with the receive time. */
  private final Map<String, Long> receivedByTenant = new HashMap<>();

  /** The number of mined messages since the last flush that ended in the catch-all template. */
  private final Map<ServiceKey, Integer> overflowsByService = new HashMap<>();

  private long overflowedLogs;

  TemplateResolver(TemplateRegistry templateRegistry, WorkerDictionaryCache dictionaryCache) {
    this.templateRegistry = templateRegistry;
    this.dictionaryCache = dictionaryCache;
    this.namespace = dictionaryCache.namespace(EntryKind.TEMPLATE, tenant, service, 0, 0);
  }

  /**
   * Begins a batch; the following calls are about its records.
   *
   * @throws RuntimeException when the dictionary must be queried first and does not respond
   */
  public void beginBatch(LogBatch batch) throws InterruptedException {
    tenant = batch.tenant();
    receivedNanos = batch.receivedNanos();
    templateRegistry.ensureLoaded(tenant);
    dictionaryCache.setReceiveTime(receivedNanos);
    beginService(service, 0, 0);
  }

  /**
   * Begins the logs of a service; the following calls are about them.
   *
   * @param bytes the array with the service name in UTF-8
   * @param length the length of the name; 0 when the service is unknown
   */
  public void beginService(byte[] bytes, int offset, int length) {
    if (service.length < length + Integer.BYTES) {
      service = new byte[2 * length + Integer.BYTES];
    }
    System.arraycopy(bytes, offset, service, 0, length);
    serviceLength = length;
    ByteBuffer.wrap(service).putInt(length, templateRegistry.maskGeneration());
    namespace =
        dictionaryCache.namespace(EntryKind.TEMPLATE, tenant, service, 0, length + Integer.BYTES);
  }

  /**
   * Resolves the template of a message.
   *
   * @param bytes the array with the message in UTF-8
   */
  public void resolve(byte[] bytes, int offset, int length) {
    masker.apply(bytes, offset, length);
    if (!dictionaryCache.find(namespace, masker.bytes(), 0, masker.length())) {
      mine();
    }
    if (dictionaryCache.idLow() == CATCH_ALL.getLeastSignificantBits()
        && dictionaryCache.idHigh() == CATCH_ALL.getMostSignificantBits()
        && masker.length()
            != TemplateMiner.CATCH_ALL.text().length()) { // equal: the whole message is one value
      overflowedLogs++;
    }
  }

  private record ServiceKey(String tenant, String name) {}

  private void mine() {
    var serviceKey =
        new ServiceKey(tenant, new String(service, 0, serviceLength, StandardCharsets.UTF_8));
    boolean flood = overflowsByService.getOrDefault(serviceKey, 0) >= MAX_OVERFLOWS_PER_FLUSH;
    if (flood && dictionaryCache.findExpired()) {
      return;
    }
    var match =
        flood
            ? TemplateMiner.OVERFLOW_MATCH
            : templateRegistry.miner().mine(tenant, serviceKey.name(), masker.text());
    receivedByTenant.put(tenant, receivedNanos);
    if (match.overflowed()) {
      overflowsByService.merge(serviceKey, 1, Integer::sum);
      dictionaryCache.putTransient(match.id(), match.text());
    } else {
      dictionaryCache.put(match.id(), match.text());
    }
  }

  /**
   * Writes all pending entries of the cache, and all pending rows of the tenants with mined
   * messages, including the links of templates that were merged, whichever worker mined them.
   */
  public WriteResult flush() throws InterruptedException {
    var rows = new HashMap<String, List<TemplateRow>>();
    try {
      receivedByTenant.forEach(
          (tenantName, seenNanos) -> rows.put(tenantName, addPendingRows(tenantName, seenNanos)));
      var writeResult = dictionaryCache.flush();
      if (writeResult instanceof WriteResult.Written) {
        rows.forEach(templateRegistry.miner()::markWritten);
        templateRegistry.recordOverflow(overflowedLogs);
      }
      return writeResult;
    } finally {
      overflowedLogs = 0; // after a failed write the batch is redelivered and counted again
      overflowsByService.clear();
      receivedByTenant.clear();
    }
  }

  private List<TemplateRow> addPendingRows(String tenantName, long seenNanos) {
    var rows = templateRegistry.miner().pendingRows(tenantName);
    toEntries(tenantName, rows, Map.of(), seenNanos).forEach(dictionaryCache::addEntry);
    return rows;
  }

  /**
   * Converts rows to dictionary entries.
   *
   * @param seen the time when the template of a row was first seen, by id; may lack rows
   * @param otherwiseNanos the time for the other rows
   */
  static List<DictionaryEntry> toEntries(
      String tenant, Collection<TemplateRow> rows, Map<UUID, Long> seen, long otherwiseNanos) {
    return rows.stream()
        .map(
            row -> {
              long firstSeenNanos = seen.getOrDefault(row.id(), otherwiseNanos);
              return new DictionaryEntry(
                  tenant,
                  EntryKind.TEMPLATE,
                  row.id(),
                  row.text(),
                  firstSeenNanos,
                  firstSeenNanos,
                  row.mergedInto());
            })
        .toList();
  }
}
