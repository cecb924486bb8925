package dev.sluice.templates;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.RecordIds;
import dev.sluice.core.otlp.AnyValue;
import dev.sluice.core.otlp.AnyValueFormatter;
import dev.sluice.core.otlp.Attributes;
import dev.sluice.core.otlp.BatchWalker;
import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.OtlpRecord;
import dev.sluice.core.otlp.UnstorableBatchException;
import dev.sluice.core.port.LogEnricher;
import dev.sluice.core.port.WriteResult;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import dev.sluice.templates.dictionary.HashNamespace;
import dev.sluice.templates.dictionary.TextReference;
import dev.sluice.templates.dictionary.WorkerDictionaryCache;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The enricher of one delivery worker. It resolves the ids of templates, long texts and resource
 * attributes.
 *
 * <p>A long text gets an id when it occurs for the second time, in any service, because a text that
 * occurs once would only grow the dictionary. A resource is looked up by its OTLP bytes; its
 * attributes are formatted only when the bytes are new.
 *
 * <p>Confined to one thread. A lookup of a known template, text or resource allocates nothing.
 */
public final class DictionaryEncoder implements LogEnricher {

  /**
   * The settings of the dictionary for texts other than templates.
   *
   * @param longTextThreshold the minimum size in bytes of an attribute value that counts as long,
   *     from {@link TextReference#MIN_TEXT_BYTES} to {@link TextReference#MAX_TEXT_BYTES}; 0 to
   *     store no texts
   * @param resources whether the ids of resource attributes are resolved
   */
  public record EncoderSettings(int longTextThreshold, boolean resources) {
    public EncoderSettings {
      if (longTextThreshold != 0
          && (longTextThreshold < TextReference.MIN_TEXT_BYTES
              || longTextThreshold > TextReference.MAX_TEXT_BYTES)) {
        throw new IllegalArgumentException(
            "long-text-threshold is %d bytes, must be from %d to %d, or 0 to store no long texts"
                .formatted(
                    longTextThreshold, TextReference.MIN_TEXT_BYTES, TextReference.MAX_TEXT_BYTES));
      }
    }
  }

  private static final byte[] NO_SERVICE = {};

  /**
   * The number of records after which a large delivery writes its new entries in between, so that
   * the limits of the caches and of the miner, which apply until a write, apply to few records.
   */
  private static final int FLUSH_RECORDS = 32_768;

  /**
   * The maximum number of new sets of resource attributes that a worker writes per receive day.
   * Clients whose resources identify a process have thousands of sets. Clients whose resources
   * identify a request would have one for each log.
   */
  private static final int MAX_NEW_RESOURCES_PER_DAY = 100_000;

  private static final long DAY_NANOS = 86_400_000_000_000L;

  private final @Nullable TemplateResolver templates;
  private final WorkerDictionaryCache dictionaryCache;
  private final int minTextLength;
  private final boolean resources;
  private final BatchWalker walker;
  private final ByteOutput scratch = new ByteOutput(1 << 10);
  private final BatchWalker.BatchVisitor visitor = (_, log) -> resolve(log);
  private RecordIds ids = RecordIds.NONE;

  /** The namespace for texts of the current batch. */
  private HashNamespace textNamespace;

  private HashNamespace resourceNamespace;
  private long batchId;
  private long day;
  private int newResources;

  /** The generation of the current resource in the walk. */
  private int resourceGeneration;

  /** The number of the current resource in {@link #ids}. */
  private int resource;

  /**
   * @param templates the template resolver of the same worker, with the same cache; null to resolve
   *     no templates
   * @param dictionaryCache the cache of this worker
   */
  public DictionaryEncoder(
      @Nullable TemplateResolver templates,
      WorkerDictionaryCache dictionaryCache,
      EncoderSettings settings) {
    this.templates = templates;
    this.dictionaryCache = dictionaryCache;
    this.minTextLength =
        settings.longTextThreshold() == 0 ? Integer.MAX_VALUE : settings.longTextThreshold();
    this.resources = settings.resources();
    this.walker = new BatchWalker(minTextLength);
    this.textNamespace = namespace(EntryKind.TEXT, "");
    this.resourceNamespace = namespace(EntryKind.RESOURCE, "");
  }

  private HashNamespace namespace(EntryKind kind, String tenant) {
    return dictionaryCache.namespace(kind, tenant, NO_SERVICE, 0, 0);
  }

  @Override
  public WriteResult enrich(List<LogBatch> batches, RecordIds into) throws InterruptedException {
    ids = into;
    ids.clear();
    int records = 0;
    int flushed = 0;
    for (var batch : batches) {
      if (records - flushed >= FLUSH_RECORDS || dictionaryCache.isFull()) {
        var writeResult = flush();
        if (!(writeResult instanceof WriteResult.Written)) {
          return writeResult;
        }
        flushed = records;
      }
      records += batch.records();
      beginBatch(batch);
      try {
        walker.walk(batch, visitor);
      } catch (UnstorableBatchException _) {
        // the store reports the batch, with the reason
      }
      ids.padTo(records);
    }
    return flush();
  }

  private void beginBatch(LogBatch batch) throws InterruptedException {
    if (templates != null) {
      templates.beginBatch(batch);
    }
    dictionaryCache.setReceiveTime(batch.receivedNanos());
    long received = batch.receivedNanos() / DAY_NANOS;
    if (received > day) {
      day = received;
      newResources = 0;
    }
    textNamespace = namespace(EntryKind.TEXT, batch.tenant());
    resourceNamespace = namespace(EntryKind.RESOURCE, batch.tenant());
    batchId =
        batch.appendId().getMostSignificantBits() ^ batch.appendId().getLeastSignificantBits();
  }

  private void resolve(OtlpRecord log) {
    var bytes = log.bytes();
    if (log.resource().generation() != resourceGeneration) {
      resourceGeneration = log.resource().generation();
      resource =
          findResource(log.resource(), bytes)
              ? ids.addResource(dictionaryCache.idHigh(), dictionaryCache.idLow())
              : 0;
      beginService(log.resource().serviceName(bytes), bytes);
    }
    resolveTexts(log.attributes(), bytes);
    if (templates == null) {
      ids.addRecord(resource, 0, 0);
    } else {
      resolveTemplate(templates, log.body(), bytes);
      ids.addRecord(resource, dictionaryCache.idHigh(), dictionaryCache.idLow());
    }
  }

  /**
   * Finds or adds the id of a resource. There is none without attributes, and none for a new
   * resource that is too large, that exceeds the daily maximum, or that arrives while too many
   * entries are pending.
   */
  private boolean findResource(OtlpRecord.Resource next, byte[] bytes) {
    if (!resources
        || next.attributes().size() == 0
        || next.length() > TextReference.MAX_TEXT_BYTES) {
      return false;
    }
    if (!dictionaryCache.find(resourceNamespace, bytes, next.offset(), next.length())) {
      if (dictionaryCache.isFull() || newResources >= MAX_NEW_RESOURCES_PER_DAY) {
        return false;
      }
      newResources++;
      scratch.clear();
      AnyValueFormatter.append(next.attributes(), bytes, scratch);
      dictionaryCache.put(scratch.array(), 0, scratch.size());
    }
    return true;
  }

  private void beginService(@Nullable AnyValue name, byte[] bytes) {
    if (templates != null) {
      scratch.clear();
      if (name != null) {
        AnyValueFormatter.append(name, bytes, scratch);
      }
      templates.beginService(scratch.array(), 0, scratch.size());
    }
  }

  private void resolveTexts(Attributes attributes, byte[] bytes) {
    for (int i = 0; i < attributes.size(); i++) {
      var value = attributes.value(i);
      if (value.kind() == AnyValue.Kind.STRING
          && value.length() >= minTextLength
          && value.length() <= TextReference.MAX_TEXT_BYTES
          && dictionaryCache.findOrPutRepeated(
              textNamespace, bytes, value.offset(), value.length(), batchId)) {
        ids.addText(value.offset(), dictionaryCache.idHigh(), dictionaryCache.idLow());
      }
    }
  }

  private void resolveTemplate(TemplateResolver resolver, AnyValue body, byte[] bytes) {
    switch (body.kind()) {
      case STRING -> resolver.resolve(bytes, body.offset(), body.length());
      case EMPTY, BOOL, INT, DOUBLE, ARRAY, MAP, BYTES -> {
        scratch.clear();
        AnyValueFormatter.append(body, bytes, scratch);
        resolver.resolve(scratch.array(), 0, scratch.size());
      }
    }
  }

  /**
   * Writes the new entries; the template resolver writes those of the shared cache with its own.
   */
  private WriteResult flush() throws InterruptedException {
    return templates == null ? dictionaryCache.flush() : templates.flush();
  }
}
