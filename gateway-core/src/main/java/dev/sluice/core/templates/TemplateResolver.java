package dev.sluice.core.templates;

import dev.sluice.core.dictionary.HashNamespace;
import dev.sluice.core.dictionary.WorkerDictionaryCache;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.otlp.OtlpRecord;
import dev.sluice.core.port.Dictionary.DictionaryEntry;
import dev.sluice.core.port.Dictionary.EntryKind;
import dev.sluice.core.port.Dictionary.WriteResult;
import dev.sluice.core.port.LogEnricher;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * Tells one delivery worker the templates of messages: masks each, looks the masked form up, and
 * has those mined that are not known.
 *
 * <p>Confined to a thread. A message whose masked form is known allocates nothing.
 */
public final class TemplateResolver implements LogEnricher {

  /**
   * Messages of a service that may be mined between two writes only to be caught; those after them
   * are caught unseen, unless they were known on another day. One takes some twenty microseconds:
   * all of them a fiftieth of a second for a block of rows, or a third for half a million, which a
   * flood must not cost for each of its messages.
   */
  private static final int MAX_OVERFLOWS_PER_FLUSH = 1_000;

  private static final UUID CATCH_ALL = TemplateMiner.CATCH_ALL.id();

  private final TemplateRegistry templateRegistry;
  private final WorkerDictionaryCache dictionaryCache;
  private final MessageMasker masker = new MessageMasker();

  /** Of the batch, and of the resource within it. */
  private String tenant = "";

  private long receivedNanos;

  /** The service's name, and behind it which masks are in force: others make other templates. */
  private byte[] service = new byte[64];

  private int serviceLength;
  private HashNamespace namespace;

  /** Since the last write: tenants with templates that were not known, and whose were caught. */
  private final Map<String, Long> receivedByTenant = new HashMap<>();

  private final Map<ServiceKey, Integer> overflowsByService = new HashMap<>();
  private long overflowedLogs;

  TemplateResolver(TemplateRegistry templateRegistry, WorkerDictionaryCache dictionaryCache) {
    this.templateRegistry = templateRegistry;
    this.dictionaryCache = dictionaryCache;
    this.namespace = dictionaryCache.namespace(EntryKind.TEMPLATE, tenant, service, 0, 0);
  }

  @Override
  public void beginBatch(LogBatch batch) throws InterruptedException {
    tenant = batch.tenant();
    receivedNanos = batch.receivedNanos();
    templateRegistry.ensureLoaded(tenant);
    dictionaryCache.setReceiveTime(receivedNanos);
    beginService(service, 0, 0);
  }

  @Override
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

  /** Resources are none of its business. */
  @Override
  public void resolveResource(OtlpRecord.Resource resource, byte[] bytes) {}

  /** Nor are texts. */
  @Override
  public boolean resolveText(byte[] bytes, int offset, int length) {
    return false;
  }

  @Override
  public void resolveTemplate(byte[] bytes, int offset, int length) {
    masker.apply(bytes, offset, length);
    if (!dictionaryCache.find(namespace, masker.bytes(), 0, masker.length())) {
      mine();
    }
    if (dictionaryCache.idLow() == CATCH_ALL.getLeastSignificantBits()
        && dictionaryCache.idHigh() == CATCH_ALL.getMostSignificantBits()
        && masker.length()
            != TemplateMiner.CATCH_ALL.text().length()) { // else a value is all it says
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

  @Override
  public long idHigh() {
    return dictionaryCache.idHigh();
  }

  @Override
  public long idLow() {
    return dictionaryCache.idLow();
  }

  /**
   * {@inheritDoc} With them go the links of templates that they took the place of, and whatever
   * else mining has to have written of these tenants: which worker has met it makes no difference.
   */
  @Override
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
      overflowedLogs = 0; // what was not written comes again
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
   * @param seen when the template of a row was first seen, where that is known
   * @param otherwiseNanos for the other rows
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
