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
 * <p>What is known depends on the set of messages seen ({@link Closure}), so that instances which
 * {@link #learn} each other's rows, in any order, come to the same templates. An identity that was
 * given out stays right: when a template is generalised, its row is linked to the one that took its
 * place.
 *
 * <p>Safe for use by many threads; one at a time for each tenant.
 */
public final class Miner {
  /** Of messages for which there was no room. */
  public static final TemplateRow CATCH_ALL = TemplateRow.of(Shape.VALUE, null);

  static final Mined CAUGHT = new Mined(CATCH_ALL.id(), CATCH_ALL.text(), true);

  /** So many must be able to fill the memory of all, so that one of long messages cannot. */
  private static final int SERVICES_AT_LEAST = 8;

  private static final int BYTES_PER_TEMPLATE = 200; // objects, list and map entries
  private static final int BYTES_PER_WORD = 64;

  private final MinerSettings settings;
  private final Map<String, Tenant> tenants = new ConcurrentHashMap<>();
  private final LongAdder bytes = new LongAdder();
  private final LongAdder givenUp = new LongAdder();
  private volatile ExtraMasks masks;

  public Miner(MinerSettings settings) {
    this.settings = Objects.requireNonNull(settings);
    masks = new ExtraMasks(List.of(), givenUp);
  }

  /**
   * The template of a message.
   *
   * @param masked what {@link Mask} made of the message
   */
  public Mined mine(String tenant, String service, String masked) {
    Shape shape = Shape.of(masks.apply(service, masked));
    return tenant(tenant).mine(service, shape);
  }

  /**
   * Learns what this or another instance wrote: all rows of the tenant at the start, later those
   * that are new. A row's link is understood when the row it leads to is among them, and so are all
   * links that were made in one go ({@link #unwritten}). Rows may come twice and in any order.
   *
   * @return whether there is something to write now, since both instances together know more than
   *     each did
   */
  public boolean learn(String tenant, Collection<TemplateRow> rows) {
    return tenant(tenant).learn(rows);
  }

  /**
   * Rows to be written before any identity that {@link #mine} gave out is used, in one go. They
   * stay until they are {@link #written}; to write a row again changes nothing.
   */
  public List<TemplateRow> unwritten(String tenant) {
    return tenant(tenant).unwritten();
  }

  /** Takes note that these rows are safe in the dictionary. */
  public void written(String tenant, Collection<TemplateRow> rows) {
    tenant(tenant).written(rows);
  }

  /**
   * Replaces the extra masks, from the next message on. A message whose key is known keeps its
   * template until the key is forgotten.
   */
  public void masks(List<ExtraMask> list) {
    masks = new ExtraMasks(list, givenUp);
  }

  /** Templates of a tenant that stand for themselves. */
  public int templates(String tenant) {
    return tenant(tenant).size();
  }

  /** What all templates take, estimated. */
  public long bytes() {
    return bytes.sum();
  }

  /** Extra masks in force. */
  int masks() {
    return masks.size();
  }

  /** How often an extra mask was given up. */
  public long givenUp() {
    return givenUp.sum();
  }

  private Tenant tenant(String name) {
    return tenants.computeIfAbsent(name, _ -> new Tenant());
  }

  private static long bytes(Shape shape) {
    long chars = shape.frame().length();
    for (String word : shape.words()) {
      chars += word == null ? 0 : word.length() + BYTES_PER_WORD / 2;
    }
    return BYTES_PER_TEMPLATE + 2 * chars;
  }

  /** What the messages of a service have brought in. */
  private record Share(int templates, long bytes) {
    static final Share NONE = new Share(0, 0);

    Share plus(Share other) {
      return new Share(templates + other.templates, bytes + other.bytes);
    }

    Share less(long templateBytes) {
      return new Share(templates - 1, bytes - templateBytes);
    }
  }

  private final class Tenant {
    private final Closure closure = new Closure();
    private final IdentityHashMap<Shape, String> broughtBy = new IdentityHashMap<>();
    private final Map<String, Share> shares = new HashMap<>();
    private final Map<UUID, TemplateRow> unwritten = new LinkedHashMap<>();

    synchronized Mined mine(String service, Shape shape) {
      Shape template = closure.find(shape);
      if (template == null) {
        var share = shares.getOrDefault(service, Share.NONE);
        if (share.templates() >= settings.templatesPerService()
            || share.bytes() + bytes(shape) > settings.bytes() / SERVICES_AT_LEAST
            || unwritten.size() > 2 * settings.templatesPerService()
            || bytes.sum() + bytes(shape) > settings.bytes()) {
          add(null, Shape.of(CATCH_ALL.text()));
          return CAUGHT;
        }
        template = add(service, shape);
      }
      String text = template.text();
      return new Mined(TemplateRow.idOf(text), text, false);
    }

    private Shape add(@Nullable String service, Shape shape) {
      var change = closure.add(shape);
      var template = change.template();
      if (change.fresh()) {
        var row = TemplateRow.of(template.text(), null);
        for (Shape old : change.retired()) {
          forget(old);
          link(old, row);
        }
        link(shape, row); // else nothing would tell that its word was seen
        unwritten.put(row.id(), row);
        if (service != null) {
          broughtBy.put(template, service);
          shares.merge(service, new Share(1, bytes(template)), Share::plus);
        }
        bytes.add(bytes(template));
      }
      return template;
    }

    private void forget(Shape old) {
      String service = broughtBy.remove(old);
      if (service != null) {
        shares.computeIfPresent(
            service, (_, share) -> share.templates() == 1 ? null : share.less(bytes(old)));
      }
      bytes.add(-bytes(old));
    }

    private void link(Shape old, TemplateRow into) {
      if (!old.text().equals(into.text())) {
        var row = TemplateRow.of(old.text(), into.id());
        unwritten.put(row.id(), row);
      }
    }

    synchronized boolean learn(Collection<TemplateRow> rows) {
      Map<UUID, TemplateRow> byId =
          rows.stream().collect(Collectors.toMap(TemplateRow::id, row -> row, Tenant::linked));
      Map<UUID, Shape> shapes = shapes(byId);
      // the general ones first: they cover the others, which then bring in nothing
      byId.values().stream()
          .sorted(Comparator.comparing(row -> row.mergedInto() != null))
          .map(row -> Objects.requireNonNull(shapes.get(row.id())))
          .takeWhile(_ -> bytes.sum() < settings.bytes())
          .forEach(shape -> add(null, shape));
      boolean news = false;
      for (var row : byId.values()) {
        Shape template = closure.find(Objects.requireNonNull(shapes.get(row.id())));
        var into = template == null ? row : TemplateRow.of(template.text(), null);
        if (template == null
            || into.id().equals(row.id()) // for want of room what took its place is not known
            || end(row, byId).equals(into.id())) {
          unwritten.remove(row.id());
        } else {
          unwritten.put(row.id(), new TemplateRow(row.id(), row.text(), into.id()));
          news = true;
        }
      }
      return news;
    }

    private static TemplateRow linked(TemplateRow one, TemplateRow other) {
      return one.mergedInto() != null ? one : other;
    }

    /** Where the links of a row lead, as far as the rows tell. */
    private static UUID end(TemplateRow row, Map<UUID, TemplateRow> byId) {
      var at = row;
      for (int steps = 0; at.mergedInto() != null && steps < byId.size(); steps++) {
        var next = byId.get(at.mergedInto());
        if (next == null) {
          return at.mergedInto();
        }
        at = next;
      }
      return at.id();
    }

    synchronized List<TemplateRow> unwritten() {
      return List.copyOf(unwritten.values());
    }

    synchronized void written(Collection<TemplateRow> rows) {
      rows.forEach(row -> unwritten.remove(row.id(), row));
    }

    synchronized int size() {
      return closure.size();
    }
  }

  /**
   * The templates of rows. A text does not tell a slot that is for values from a word that was
   * masked; the links do: where a template reads otherwise than one that was merged into it, there
   * is a slot for values.
   */
  private static Map<UUID, Shape> shapes(Map<UUID, TemplateRow> rows) {
    var shapes = new HashMap<UUID, Shape>();
    rows.forEach((id, row) -> shapes.put(id, Shape.of(row.text())));
    var links = new ArrayList<>(rows.values());
    links.removeIf(row -> row.mergedInto() == null || !shapes.containsKey(row.mergedInto()));
    boolean changed = true;
    while (changed) {
      changed = false;
      for (var row : links) {
        var from = Objects.requireNonNull(shapes.get(row.id()));
        var into = Objects.requireNonNull(shapes.get(Objects.requireNonNull(row.mergedInto())));
        if (from.frame().equals(into.frame())) {
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
