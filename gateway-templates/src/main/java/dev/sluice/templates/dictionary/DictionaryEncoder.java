package dev.sluice.templates.dictionary;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.otlp.AnyValueFormatter;
import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.OtlpRecord;
import dev.sluice.core.port.LogEnricher;
import dev.sluice.core.port.WriteResult;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;

/**
 * An enricher for one delivery worker that resolves the ids of long texts and of resource
 * attributes. It delegates templates to another enricher.
 *
 * <p>A long text gets an id when it occurs for the second time, in any service, because a text that
 * occurs once would only grow the dictionary. A resource is looked up by its OTLP bytes; its
 * attributes are formatted only when the bytes are new.
 *
 * <p>Confined to one thread. A lookup of a known text or resource allocates nothing.
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
    public static final EncoderSettings DEFAULT = new EncoderSettings(1024, true);

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
   * The maximum number of new sets of resource attributes that a worker writes per receive day.
   * Clients whose resources identify a process have thousands of sets. Clients whose resources
   * identify a request would have one for each log.
   */
  private static final int MAX_NEW_RESOURCES_PER_DAY = 100_000;

  private static final long DAY_NANOS = 86_400_000_000_000L;

  private final LogEnricher templates;
  private final WorkerDictionaryCache dictionaryCache;
  private final int minTextLength;
  private final boolean resources;
  private final ByteOutput attributeBuffer = new ByteOutput(1 << 10);

  /** The namespace for texts of the current batch. */
  private HashNamespace textNamespace;

  private HashNamespace resourceNamespace;
  private long batchId;
  private long day;
  private int newResources;

  /** The upper 64 bits of the most recently resolved id. */
  private long idHigh;

  private long idLow;

  /**
   * @param templates the template enricher of the same worker, with the same cache
   * @param dictionaryCache the cache of this worker
   */
  public DictionaryEncoder(
      LogEnricher templates, WorkerDictionaryCache dictionaryCache, EncoderSettings settings) {
    this.templates = templates;
    this.dictionaryCache = dictionaryCache;
    this.minTextLength =
        settings.longTextThreshold() == 0 ? Integer.MAX_VALUE : settings.longTextThreshold();
    this.resources = settings.resources();
    this.textNamespace = namespace(EntryKind.TEXT, "");
    this.resourceNamespace = namespace(EntryKind.RESOURCE, "");
  }

  @Override
  public void beginBatch(LogBatch next) throws InterruptedException {
    templates.beginBatch(next);
    dictionaryCache.setReceiveTime(next.receivedNanos());
    long received = next.receivedNanos() / DAY_NANOS;
    if (received > day) {
      day = received;
      newResources = 0;
    }
    textNamespace = namespace(EntryKind.TEXT, next.tenant());
    resourceNamespace = namespace(EntryKind.RESOURCE, next.tenant());
    batchId = next.appendId().getMostSignificantBits() ^ next.appendId().getLeastSignificantBits();
  }

  private HashNamespace namespace(EntryKind kind, String tenant) {
    return dictionaryCache.namespace(kind, tenant, NO_SERVICE, 0, 0);
  }

  @Override
  public void beginService(byte[] bytes, int offset, int length) {
    templates.beginService(bytes, offset, length);
  }

  /**
   * {@inheritDoc}
   *
   * <p>The id is also 0 for a new resource that is too large, that exceeds the daily maximum, or
   * that arrives while too many entries are pending.
   */
  @Override
  public void resolveResource(OtlpRecord.Resource resource, byte[] bytes) {
    idHigh = 0;
    idLow = 0;
    if (!resources
        || resource.attributes().size() == 0
        || resource.length() > TextReference.MAX_TEXT_BYTES) {
      return;
    }
    if (!dictionaryCache.find(resourceNamespace, bytes, resource.offset(), resource.length())) {
      if (dictionaryCache.isFull() || newResources >= MAX_NEW_RESOURCES_PER_DAY) {
        return;
      }
      newResources++;
      attributeBuffer.clear();
      AnyValueFormatter.append(resource.attributes(), bytes, attributeBuffer);
      dictionaryCache.put(attributeBuffer.array(), 0, attributeBuffer.size());
    }
    copyId();
  }

  @Override
  public void resolveTemplate(byte[] bytes, int offset, int length) {
    templates.resolveTemplate(bytes, offset, length);
    idHigh = templates.idHigh();
    idLow = templates.idLow();
  }

  @Override
  public boolean resolveText(byte[] bytes, int offset, int length) {
    if (length < minTextLength
        || length > TextReference.MAX_TEXT_BYTES
        || !dictionaryCache.findOrPutRepeated(textNamespace, bytes, offset, length, batchId)) {
      return false;
    }
    copyId();
    return true;
  }

  private void copyId() {
    idHigh = dictionaryCache.idHigh();
    idLow = dictionaryCache.idLow();
  }

  @Override
  public long idHigh() {
    return idHigh;
  }

  @Override
  public long idLow() {
    return idLow;
  }

  /**
   * {@inheritDoc}
   *
   * <p>The templates are flushed first, because they add pending entries to the cache.
   */
  @Override
  public WriteResult flush() throws InterruptedException {
    var writeResult = templates.flush();
    return writeResult instanceof WriteResult.Written ? dictionaryCache.flush() : writeResult;
  }
}
