package dev.sluice.core.templates;

import dev.sluice.core.dictionary.Scope;
import dev.sluice.core.dictionary.TextLookup;
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
public final class TemplateLookup implements LogEnricher {

  /**
   * Messages of a service that may be mined between two writes only to be caught; those after them
   * are caught unseen, unless they were known on another day. One takes some twenty microseconds:
   * all of them a fiftieth of a second for a block of rows, or a third for half a million, which a
   * flood must not cost for each of its messages.
   */
  private static final int CAUGHT_AT_ONCE = 1_000;

  private static final UUID CATCH_ALL = Miner.CATCH_ALL.id();

  private final Templates templates;
  private final TextLookup texts;
  private final Mask mask = new Mask();

  /** Of the batch, and of the resource within it. */
  private String tenant = "";

  private long receivedNanos;

  /** The service's name, and behind it which masks are in force: others make other templates. */
  private byte[] service = new byte[64];

  private int serviceLength;
  private Scope scope;

  /** Since the last write: tenants with templates that were not known, and whose were caught. */
  private final Map<String, Long> learnt = new HashMap<>();

  private final Map<Service, Integer> caught = new HashMap<>();
  private long caughtLogs;

  TemplateLookup(Templates templates, TextLookup texts) {
    this.templates = templates;
    this.texts = texts;
    this.scope = texts.scope(EntryKind.TEMPLATE, tenant, service, 0, 0);
  }

  @Override
  public void beginBatch(LogBatch batch) throws InterruptedException {
    tenant = batch.tenant();
    receivedNanos = batch.receivedNanos();
    templates.know(tenant);
    texts.at(receivedNanos);
    beginService(service, 0, 0);
  }

  @Override
  public void beginService(byte[] bytes, int offset, int length) {
    if (service.length < length + Integer.BYTES) {
      service = new byte[2 * length + Integer.BYTES];
    }
    System.arraycopy(bytes, offset, service, 0, length);
    serviceLength = length;
    ByteBuffer.wrap(service).putInt(length, templates.masksInForce());
    scope = texts.scope(EntryKind.TEMPLATE, tenant, service, 0, length + Integer.BYTES);
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
    mask.apply(bytes, offset, length);
    if (!texts.find(scope, mask.bytes(), 0, mask.length())) {
      mine();
    }
    if (texts.idLow() == CATCH_ALL.getLeastSignificantBits()
        && texts.idHigh() == CATCH_ALL.getMostSignificantBits()
        && mask.length() != Miner.CATCH_ALL.text().length()) { // else a value is all it says
      caughtLogs++;
    }
  }

  private record Service(String tenant, String name) {}

  private void mine() {
    var of = new Service(tenant, new String(service, 0, serviceLength, StandardCharsets.UTF_8));
    boolean flood = caught.getOrDefault(of, 0) >= CAUGHT_AT_ONCE;
    if (flood && texts.findOfAnotherDay()) {
      return;
    }
    var mined = flood ? Miner.CAUGHT : templates.miner().mine(tenant, of.name(), mask.text());
    learnt.put(tenant, receivedNanos);
    if (mined.caught()) {
      caught.merge(of, 1, Integer::sum);
      texts.learnForNow(mined.id(), mined.text());
    } else {
      texts.learn(mined.id(), mined.text());
    }
  }

  @Override
  public long idHigh() {
    return texts.idHigh();
  }

  @Override
  public long idLow() {
    return texts.idLow();
  }

  /**
   * {@inheritDoc} With them go the links of templates that they took the place of, and whatever
   * else mining has to have written of these tenants: which worker has met it makes no difference.
   */
  @Override
  public WriteResult flush() throws InterruptedException {
    var rows = new HashMap<String, List<TemplateRow>>();
    try {
      learnt.forEach((of, seen) -> rows.put(of, add(of, seen)));
      var writeResult = texts.write();
      if (writeResult instanceof WriteResult.Written) {
        rows.forEach(templates.miner()::written);
        templates.caught(caughtLogs);
      }
      return writeResult;
    } finally {
      caughtLogs = 0; // what was not written comes again
      caught.clear();
      learnt.clear();
    }
  }

  private List<TemplateRow> add(String of, long seenNanos) {
    var rows = templates.miner().unwritten(of);
    entries(of, rows, Map.of(), seenNanos).forEach(texts::add);
    return rows;
  }

  /**
   * @param seen when the template of a row was first seen, where that is known
   * @param otherwiseNanos for the other rows
   */
  static List<DictionaryEntry> entries(
      String tenant, Collection<TemplateRow> rows, Map<UUID, Long> seen, long otherwiseNanos) {
    return rows.stream()
        .map(
            row -> {
              long at = seen.getOrDefault(row.id(), otherwiseNanos);
              return new DictionaryEntry(
                  tenant, EntryKind.TEMPLATE, row.id(), row.text(), at, at, row.mergedInto());
            })
        .toList();
  }
}
