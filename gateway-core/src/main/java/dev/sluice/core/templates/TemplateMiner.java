package dev.sluice.core.templates;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Tells which template a masked message belongs to, and what has to be written to the dictionary so
 * that everybody else can tell too. It is asked only for messages whose key is not known yet.
 *
 * <p>Templates are of a tenant, as their identities are: two services whose messages read the same
 * share the row in the dictionary, hence the template and what it was merged into. The service
 * counts for its share of memory and for extra masks.
 *
 * <p>What is known depends on the set of messages seen ({@link TemplateGeneralizer}), so that
 * instances which {@link #load} each other's rows, in any order, come to the same templates. An
 * identity that was given out stays right: when a template is generalised, its row is linked to the
 * one that took its place.
 *
 * <p>Safe for use by many threads; one at a time for each tenant.
 */
public final class TemplateMiner {
  /** Of messages for which there was no room. */
  public static final TemplateRow CATCH_ALL = TemplateRow.of(MessageShape.PLACEHOLDER, null);

  static final TemplateMatch OVERFLOW_MATCH =
      new TemplateMatch(CATCH_ALL.id(), CATCH_ALL.text(), true);

  /** So many must be able to fill the memory of all, so that one of long messages cannot. */
  private static final int MIN_SERVICES = 8;

  private static final int BYTES_PER_TEMPLATE = 200; // objects, list and map entries
  private static final int BYTES_PER_WORD = 64;

  private final MinerSettings settings;
  private final Map<String, TenantTemplates> tenants = new ConcurrentHashMap<>();
  private final LongAdder memoryBytes = new LongAdder();
  private final LongAdder budgetExceeded = new LongAdder();
  private volatile CustomMasks masks;

  public TemplateMiner(MinerSettings settings) {
    this.settings = Objects.requireNonNull(settings);
    masks = new CustomMasks(List.of(), budgetExceeded);
  }

  /**
   * The template of a message.
   *
   * @param masked what {@link MessageMasker} made of the message
   */
  public TemplateMatch mine(String tenant, String service, String masked) {
    MessageShape shape = MessageShape.of(masks.apply(service, masked));
    return tenant(tenant).mine(service, shape);
  }

  /**
   * Learns what this or another instance wrote: all rows of the tenant at the start, later those
   * that are new. A row's link is understood when the row it leads to is among them, and so are all
   * links that were made in one go ({@link #pendingRows}). Rows may come twice and in any order.
   *
   * @return whether there is something to write now, since both instances together know more than
   *     each did
   */
  public boolean load(String tenant, Collection<TemplateRow> rows) {
    return tenant(tenant).load(rows);
  }

  /**
   * Rows to be written before any identity that {@link #mine} gave out is used, in one go. They
   * stay until they are {@link #markWritten}; to write a row again changes nothing.
   */
  public List<TemplateRow> pendingRows(String tenant) {
    return tenant(tenant).pendingRows();
  }

  /** Takes note that these rows are safe in the dictionary. */
  public void markWritten(String tenant, Collection<TemplateRow> rows) {
    tenant(tenant).markWritten(rows);
  }

  /**
   * Replaces the extra masks, from the next message on. A message whose key is known keeps its
   * template until the key is forgotten.
   */
  public void masks(List<CustomMask> list) {
    masks = new CustomMasks(list, budgetExceeded);
  }

  /** Templates of a tenant that stand for themselves. */
  public int templateCount(String tenant) {
    return tenant(tenant).size();
  }

  /** What all templates take, estimated. */
  public long memoryBytes() {
    return memoryBytes.sum();
  }

  /** Extra masks in force. */
  int masks() {
    return masks.size();
  }

  /** How often an extra mask was given up. */
  public long budgetExceeded() {
    return budgetExceeded.sum();
  }

  private TenantTemplates tenant(String name) {
    return tenants.computeIfAbsent(name, _ -> new TenantTemplates());
  }

  private static long memoryBytes(MessageShape shape) {
    long chars = shape.skeleton().length();
    for (String word : shape.words()) {
      chars += word == null ? 0 : word.length() + BYTES_PER_WORD / 2;
    }
    return BYTES_PER_TEMPLATE + 2 * chars;
  }

  /** What the messages of a service have brought in. */
  private record ServiceUsage(int templates, long bytes) {
    static final ServiceUsage NONE = new ServiceUsage(0, 0);

    ServiceUsage plus(ServiceUsage other) {
      return new ServiceUsage(templates + other.templates, bytes + other.bytes);
    }

    ServiceUsage minus(long templateBytes) {
      return new ServiceUsage(templates - 1, bytes - templateBytes);
    }
  }

  private final class TenantTemplates {
    private final TemplateGeneralizer generalizer = new TemplateGeneralizer();
    private final IdentityHashMap<MessageShape, String> serviceByShape = new IdentityHashMap<>();
    private final Map<String, ServiceUsage> usageByService = new HashMap<>();
    private final Map<UUID, TemplateRow> pendingRows = new LinkedHashMap<>();

    synchronized TemplateMatch mine(String service, MessageShape shape) {
      MessageShape template = generalizer.find(shape);
      if (template == null) {
        var usage = usageByService.getOrDefault(service, ServiceUsage.NONE);
        if (usage.templates() >= settings.maxTemplatesPerService()
            || usage.bytes() + memoryBytes(shape) > settings.maxBytes() / MIN_SERVICES
            || pendingRows.size() > 2 * settings.maxTemplatesPerService()
            || memoryBytes.sum() + memoryBytes(shape) > settings.maxBytes()) {
          add(null, MessageShape.of(CATCH_ALL.text()));
          return OVERFLOW_MATCH;
        }
        template = add(service, shape);
      }
      String text = template.text();
      return new TemplateMatch(TemplateRow.idOf(text), text, false);
    }

    private MessageShape add(@Nullable String service, MessageShape shape) {
      var addResult = generalizer.add(shape);
      var template = addResult.template();
      if (addResult.added()) {
        var row = TemplateRow.of(template.text(), null);
        for (MessageShape old : addResult.retired()) {
          remove(old);
          link(old, row);
        }
        link(shape, row); // else nothing would tell that its word was seen
        pendingRows.put(row.id(), row);
        if (service != null) {
          serviceByShape.put(template, service);
          usageByService.merge(
              service, new ServiceUsage(1, memoryBytes(template)), ServiceUsage::plus);
        }
        memoryBytes.add(memoryBytes(template));
      }
      return template;
    }

    private void remove(MessageShape old) {
      String service = serviceByShape.remove(old);
      if (service != null) {
        usageByService.computeIfPresent(
            service, (_, usage) -> usage.templates() == 1 ? null : usage.minus(memoryBytes(old)));
      }
      memoryBytes.add(-memoryBytes(old));
    }

    private void link(MessageShape old, TemplateRow into) {
      if (!old.text().equals(into.text())) {
        var row = TemplateRow.of(old.text(), into.id());
        pendingRows.put(row.id(), row);
      }
    }

    synchronized boolean load(Collection<TemplateRow> rows) {
      Map<UUID, TemplateRow> byId =
          rows.stream()
              .collect(
                  Collectors.toMap(TemplateRow::id, row -> row, TenantTemplates::preferLinked));
      Map<UUID, MessageShape> shapes = toShapes(byId);
      // the general ones first: they cover the others, which then bring in nothing
      byId.values().stream()
          .sorted(Comparator.comparing(row -> row.mergedInto() != null))
          .map(row -> Objects.requireNonNull(shapes.get(row.id())))
          .takeWhile(_ -> memoryBytes.sum() < settings.maxBytes())
          .forEach(shape -> add(null, shape));
      boolean changed = false;
      for (var row : byId.values()) {
        MessageShape template = generalizer.find(Objects.requireNonNull(shapes.get(row.id())));
        var into = template == null ? row : TemplateRow.of(template.text(), null);
        if (template == null
            || into.id().equals(row.id()) // for want of room what took its place is not known
            || canonicalId(row, byId).equals(into.id())) {
          pendingRows.remove(row.id());
        } else {
          pendingRows.put(row.id(), new TemplateRow(row.id(), row.text(), into.id()));
          changed = true;
        }
      }
      return changed;
    }

    private static TemplateRow preferLinked(TemplateRow one, TemplateRow other) {
      return one.mergedInto() != null ? one : other;
    }

    /** Where the links of a row lead, as far as the rows tell. */
    private static UUID canonicalId(TemplateRow row, Map<UUID, TemplateRow> byId) {
      var current = row;
      for (int steps = 0; current.mergedInto() != null && steps < byId.size(); steps++) {
        var next = byId.get(current.mergedInto());
        if (next == null) {
          return current.mergedInto();
        }
        current = next;
      }
      return current.id();
    }

    synchronized List<TemplateRow> pendingRows() {
      return List.copyOf(pendingRows.values());
    }

    synchronized void markWritten(Collection<TemplateRow> rows) {
      rows.forEach(row -> pendingRows.remove(row.id(), row));
    }

    synchronized int size() {
      return generalizer.size();
    }
  }

  /**
   * The templates of rows. A text does not tell a slot that is for values from a word that was
   * masked; the links do: where a template reads otherwise than one that was merged into it, there
   * is a slot for values.
   */
  private static Map<UUID, MessageShape> toShapes(Map<UUID, TemplateRow> rows) {
    var shapes = new HashMap<UUID, MessageShape>();
    rows.forEach((id, row) -> shapes.put(id, MessageShape.of(row.text())));
    var links = new ArrayList<>(rows.values());
    links.removeIf(row -> row.mergedInto() == null || !shapes.containsKey(row.mergedInto()));
    boolean changed = true;
    while (changed) {
      changed = false;
      for (var row : links) {
        var from = Objects.requireNonNull(shapes.get(row.id()));
        var into = Objects.requireNonNull(shapes.get(Objects.requireNonNull(row.mergedInto())));
        if (from.skeleton().equals(into.skeleton())) {
          for (int i = 0; i < into.words().length; i++) {
            String word = into.words()[i];
            if (word != null && !word.equals(from.words()[i])) {
              into.words()[i] = null;
              changed = true;
            }
          }
        }
      }
    }
    return shapes;
  }
}
