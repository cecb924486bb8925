package dev.sluice.core.delivery;

import dev.sluice.core.dictionary.HashNamespace;
import dev.sluice.core.dictionary.TextReference;
import dev.sluice.core.dictionary.WorkerDictionaryCache;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.otlp.AnyValueFormatter;
import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.OtlpRecord;
import dev.sluice.core.port.Dictionary.EntryKind;
import dev.sluice.core.port.Dictionary.WriteResult;
import dev.sluice.core.port.LogEnricher;

/**
 * Tells one delivery worker what its logs have in common with others: long texts, the attributes of
 * resources, and templates, which it leaves to another.
 *
 * <p>A long text has an identity once it has come a second time, whatever its service; what comes
 * once would only grow the dictionary. A resource is looked up by its bytes; the set of its
 * attributes is made of them when they are new.
 *
 * <p>Confined to a thread. What is known allocates nothing.
 */
public final class DictionaryEncoder implements LogEnricher {

  /**
   * What is kept in the dictionary beside templates.
   *
   * @param longTextThreshold bytes from which on an attribute's value is long, from {@link
   *     TextReference#MIN_TEXT_BYTES} to {@link TextReference#MAX_TEXT_BYTES}; 0 for never
   * @param resources whether logs are told their resource
   */
  public record EncoderSettings(int longTextThreshold, boolean resources) {
    public static final EncoderSettings DEFAULT = new EncoderSettings(1024, true);

    public EncoderSettings {
      if (longTextThreshold != 0
          && (longTextThreshold < TextReference.MIN_TEXT_BYTES
              || longTextThreshold > TextReference.MAX_TEXT_BYTES)) {
        throw new IllegalArgumentException(
            "long-text is %d bytes, from %d to %d, or 0 for never"
                .formatted(
                    longTextThreshold, TextReference.MIN_TEXT_BYTES, TextReference.MAX_TEXT_BYTES));
      }
    }
  }

  private static final byte[] NO_SERVICE = {};

  /**
   * New sets of attributes that a worker writes for one day of receipt: some tens of megabytes.
   * Whose resources say which process they are has thousands, and whose say which request it was
   * has one for each log.
   */
  private static final int MAX_NEW_RESOURCES_PER_DAY = 100_000;

  private static final long DAY_NANOS = 86_400_000_000_000L;

  private final LogEnricher templates;
  private final WorkerDictionaryCache dictionaryCache;
  private final int minTextLength;
  private final boolean resources;
  private final ByteOutput attributeBuffer = new ByteOutput(1 << 10);

  /** Of the batch. */
  private HashNamespace textNamespace;

  private HashNamespace resourceNamespace;
  private long batchId;
  private long day;
  private int newResources;

  /** Of the identity told last. */
  private long idHigh;

  private long idLow;

  /**
   * @param templates of the same worker, with the same look-up
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
   * {@inheritDoc} None either for so large a one, while too much waits to be written, or when too
   * many were new today.
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

  /** {@inheritDoc} Templates first: they add to what the look-up writes. */
  @Override
  public WriteResult flush() throws InterruptedException {
    var writeResult = templates.flush();
    return writeResult instanceof WriteResult.Written ? dictionaryCache.flush() : writeResult;
  }
}
