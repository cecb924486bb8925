package dev.sluice.core.delivery;

import dev.sluice.core.dictionary.Scope;
import dev.sluice.core.dictionary.TextLookup;
import dev.sluice.core.dictionary.TextReference;
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
public final class SharedTexts implements LogEnricher {

  /**
   * What is kept in the dictionary beside templates.
   *
   * @param longText bytes from which on an attribute's value is long, from {@link
   *     TextReference#LEAST} to {@link TextReference#MOST}; 0 for never
   * @param resources whether logs are told their resource
   */
  public record Settings(int longText, boolean resources) {
    public static final Settings DEFAULT = new Settings(1024, true);

    public Settings {
      if (longText != 0 && (longText < TextReference.LEAST || longText > TextReference.MOST)) {
        throw new IllegalArgumentException(
            "long-text is %d bytes, from %d to %d, or 0 for never"
                .formatted(longText, TextReference.LEAST, TextReference.MOST));
      }
    }
  }

  private static final byte[] NO_SERVICE = {};

  /**
   * New sets of attributes that a worker writes for one day of receipt: some tens of megabytes.
   * Whose resources say which process they are has thousands, and whose say which request it was
   * has one for each log.
   */
  private static final int NEW_RESOURCES_A_DAY = 100_000;

  private static final long DAY_NANOS = 86_400_000_000_000L;

  private final LogEnricher templates;
  private final TextLookup texts;
  private final int shortest;
  private final boolean resources;
  private final ByteOutput set = new ByteOutput(1 << 10);

  /** Of the batch. */
  private Scope textsOfTenant;

  private Scope resourcesOfTenant;
  private long batch;
  private long day;
  private int newResources;

  /** Of the identity told last. */
  private long high;

  private long low;

  /**
   * @param templates of the same worker, with the same look-up
   */
  public SharedTexts(LogEnricher templates, TextLookup texts, Settings settings) {
    this.templates = templates;
    this.texts = texts;
    this.shortest = settings.longText() == 0 ? Integer.MAX_VALUE : settings.longText();
    this.resources = settings.resources();
    this.textsOfTenant = scope(EntryKind.TEXT, "");
    this.resourcesOfTenant = scope(EntryKind.RESOURCE, "");
  }

  @Override
  public void beginBatch(LogBatch next) throws InterruptedException {
    templates.beginBatch(next);
    texts.at(next.receivedNanos());
    long received = next.receivedNanos() / DAY_NANOS;
    if (received > day) {
      day = received;
      newResources = 0;
    }
    textsOfTenant = scope(EntryKind.TEXT, next.tenant());
    resourcesOfTenant = scope(EntryKind.RESOURCE, next.tenant());
    batch = next.appendId().getMostSignificantBits() ^ next.appendId().getLeastSignificantBits();
  }

  private Scope scope(EntryKind kind, String tenant) {
    return texts.scope(kind, tenant, NO_SERVICE, 0, 0);
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
    high = 0;
    low = 0;
    if (!resources || resource.attributes().size() == 0 || resource.length() > TextReference.MOST) {
      return;
    }
    if (!texts.find(resourcesOfTenant, bytes, resource.offset(), resource.length())) {
      if (texts.full() || newResources >= NEW_RESOURCES_A_DAY) {
        return;
      }
      newResources++;
      set.clear();
      AnyValueFormatter.append(resource.attributes(), bytes, set);
      texts.learn(set.array(), 0, set.size());
    }
    told();
  }

  @Override
  public void resolveTemplate(byte[] bytes, int offset, int length) {
    templates.resolveTemplate(bytes, offset, length);
    high = templates.idHigh();
    low = templates.idLow();
  }

  @Override
  public boolean resolveText(byte[] bytes, int offset, int length) {
    if (length < shortest
        || length > TextReference.MOST
        || !texts.identifyRepeated(textsOfTenant, bytes, offset, length, batch)) {
      return false;
    }
    told();
    return true;
  }

  private void told() {
    high = texts.idHigh();
    low = texts.idLow();
  }

  @Override
  public long idHigh() {
    return high;
  }

  @Override
  public long idLow() {
    return low;
  }

  /** {@inheritDoc} Templates first: they add to what the look-up writes. */
  @Override
  public WriteResult flush() throws InterruptedException {
    var writeResult = templates.flush();
    return writeResult instanceof WriteResult.Written ? texts.write() : writeResult;
  }
}
