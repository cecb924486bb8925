package dev.sluice.core.read;

import dev.sluice.core.port.LogReader.TooCostly;
import dev.sluice.core.port.TemplateReader;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Gatherers;
import org.jspecify.annotations.Nullable;

/**
 * Follows the links from templates to those that stand for them, forth and back. A log keeps the
 * template it was stored with; a person is shown the one at the end of its links.
 *
 * <p>A link to a template that is not there is as none. In a circle, which nobody should have
 * written, the greatest is the end, so that it is one for all of them.
 */
final class TemplateLinks {
  private final TemplateReader templates;
  private final String tenant;

  TemplateLinks(TemplateReader templates, String tenant) {
    this.templates = templates;
    this.tenant = tenant;
  }

  /** The end for each of these, itself where there is no link; a question or two for each step. */
  Map<UUID, UUID> ends(Collection<UUID> ids) throws InterruptedException {
    var links = new HashMap<UUID, @Nullable UUID>();
    Set<UUID> asked = new HashSet<>(ids);
    Set<UUID> next = asked;
    while (!next.isEmpty()) {
      var found = new LinkedHashSet<UUID>();
      for (var some : portions(next)) {
        for (var link : templates.links(tenant, some)) {
          links.put(link.id(), link.mergedInto());
          if (link.mergedInto() != null && asked.add(link.mergedInto())) {
            found.add(link.mergedInto());
          }
        }
      }
      next = found;
    }
    var ends = new HashMap<UUID, UUID>();
    for (var id : ids) {
      ends.put(id, end(id, links));
    }
    return ends;
  }

  private static UUID end(UUID id, Map<UUID, @Nullable UUID> links) {
    var way = new LinkedHashSet<UUID>();
    var at = id;
    while (way.add(at)) {
      var into = links.get(at);
      if (into == null || !links.containsKey(into)) {
        return at;
      }
      at = into;
    }
    var greatest = at;
    for (var each = links.get(at); each != null && !each.equals(at); each = links.get(each)) {
      greatest = each.compareTo(greatest) > 0 ? each : greatest;
    }
    return greatest;
  }

  /**
   * These and all from which links lead to them, each with the one of these that it leads to.
   *
   * @throws TooCostly when they are more than {@code most}
   */
  Map<UUID, UUID> leadingTo(Collection<UUID> ends, int most) throws InterruptedException {
    var all = new LinkedHashMap<UUID, UUID>();
    ends.forEach(end -> all.put(end, end));
    Collection<UUID> next = List.copyOf(all.keySet());
    while (!next.isEmpty()) {
      var found = new ArrayList<UUID>();
      for (var some : portions(next)) {
        for (var link : templates.linkedTo(tenant, some, most + 1)) {
          var end = all.get(link.mergedInto());
          if (end != null && all.putIfAbsent(link.id(), end) == null) {
            found.add(link.id());
          }
        }
      }
      if (all.size() > most) {
        throw new TooCostly(
            "the templates, with those that became them, are more than %d".formatted(most));
      }
      next = found;
    }
    return all;
  }

  /** As many as fit into a question each. */
  static List<List<UUID>> portions(Collection<UUID> ids) {
    return ids.stream().gather(Gatherers.windowFixed(TemplateReader.MOST_IDS)).toList();
  }
}
