package dev.sluice.templates;

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
 * Mines templates: finds or creates the template of a masked message, and collects the rows that
 * must be written to the dictionary so that other instances know the template. Only masked forms
 * that are not cached reach the miner.
 *
 * <p>Templates belong to a tenant: two services with equal messages share the row in the
 * dictionary, and therefore the template and its merges. The service matters only for memory limits
 * and custom masks.
 *
 * <p>The templates depend only on the set of messages seen ({@link TemplateGeneralizer}), so that
 * instances which {@link #load} each other's rows, in any order, have the same templates. An id
 * stays valid once {@link #mine} has returned it: when a template is generalised, its row is linked
 * to the more general template.
 *
 * <p>Safe for use by many threads; the calls for one tenant are serialised.
 */
public final class TemplateMiner {
  /** The template of messages that are not mined because a memory limit is reached. */
  public static final TemplateRow CATCH_ALL = TemplateRow.of(MessageShape.PLACEHOLDER, null);

  static final TemplateMatch OVERFLOW_MATCH =
      new TemplateMatch(CATCH_ALL.id(), CATCH_ALL.text(), true);

  /**
   * The divisor of the memory limit for one service, so that a service with long messages cannot
   * use all of the memory.
   */
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
   * Returns the template of a message.
   *
   * @param masked the masked form of the message, from {@link MessageMasker}
   */
  public TemplateMatch mine(String tenant, String service, String masked) {
    MessageShape shape = MessageShape.of(masks.apply(service, masked));
    return tenant(tenant).mine(service, shape);
  }

  /**
   * Loads rows that this or another instance wrote: all rows of the tenant at the start, later the
   * new ones. A row's link needs the row that it refers to and all links that were written together
   * with it ({@link #pendingRows}) in the same call. Rows may repeat and come in any order.
   *
   * @return whether there are rows to write now, because the combined templates require more merges
   */
  public boolean load(String tenant, Collection<TemplateRow> rows) {
    return tenant(tenant).load(rows);
  }

  /**
   * Returns the rows that must be written, in one write, before any id that {@link #mine} returned
   * is used. They stay pending until {@link #markWritten}; writing a row twice is idempotent.
   */
  public List<TemplateRow> pendingRows(String tenant) {
    return tenant(tenant).pendingRows();
  }

  /** Removes rows that are stored in the dictionary from the pending rows. */
  public void markWritten(String tenant, Collection<TemplateRow> rows) {
    tenant(tenant).markWritten(rows);
  }

  /**
   * Replaces the custom masks, from the next message on. A message whose masked form is cached
   * keeps its template until the cache entry is evicted.
   */
  public void masks(List<CustomMask> list) {
    masks = new CustomMasks(list, budgetExceeded);
  }

  /** Returns the number of a tenant's templates that were not merged into another. */
  public int templateCount(String tenant) {
    return tenant(tenant).size();
  }

  /** Returns the estimated size of all templates in bytes. */
  public long memoryBytes() {
    return memoryBytes.sum();
  }

  /** Returns the number of active custom masks. */
  int masks() {
    return masks.size();
  }

  /** Returns the number of times that a custom mask was aborted. */
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

  /** The templates that the messages of one service have added. */
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
        link(shape, row); // the link records that the word of this shape was seen
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
      // general templates first: they cover the others, which then add nothing
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
            || into.id().equals(row.id()) // its replacement is not loaded: memory limit
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

    /** Returns the id at the end of a row's links, as far as the given rows contain them. */
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
   * Returns the shapes of rows. The text alone does not distinguish a value slot from a masked
   * word; the links do: where a template differs from a template that was merged into it, it has a
   * value slot.
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
