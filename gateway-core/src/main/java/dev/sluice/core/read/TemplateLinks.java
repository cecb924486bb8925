package dev.sluice.core.read;

import dev.sluice.core.port.LogReader.QueryTooExpensiveException;
import dev.sluice.core.port.TemplateStats;
import dev.sluice.core.port.TemplateStats.TemplateLink;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Gatherers;

/**
 * The links of a tenant from templates to those that stand for them, which are followed forth and
 * back. A log keeps the template it was stored with; a person is shown the one at the end of its
 * links.
 *
 * <p>In a circle, which nobody should have written, the greatest is the end, so that it is one for
 * all of them. Immutable.
 */
public final class TemplateLinks {
  private final Map<UUID, UUID> forth = new HashMap<>();
  private final Map<UUID, List<UUID>> back = new HashMap<>();

  TemplateLinks(Collection<TemplateLink> links) {
    for (var link : links) {
      forth.put(link.id(), link.mergedInto());
      back.computeIfAbsent(link.mergedInto(), _ -> new ArrayList<>(1)).add(link.id());
    }
  }

  /** What became of a template; itself where there is no link. */
  public UUID end(UUID id) {
    var way = new HashSet<UUID>();
    var at = id;
    while (way.add(at)) {
      var into = forth.get(at);
      if (into == null) {
        return at;
      }
      at = into;
    }
    var greatest = at;
    for (var each = forth.get(at); each != null && !each.equals(at); each = forth.get(each)) {
      greatest = each.compareTo(greatest) > 0 ? each : greatest;
    }
    return greatest;
  }

  /** What became of each of these. */
  Map<UUID, UUID> ends(Collection<UUID> ids) {
    var ends = new HashMap<UUID, UUID>();
    ids.forEach(id -> ends.put(id, end(id)));
    return ends;
  }

  /**
   * These and all from which links lead to them, each with the one of these that it leads to.
   *
   * @throws QueryTooExpensiveException when they are more than {@code most}
   */
  Map<UUID, UUID> leadingTo(Collection<UUID> ends, int most) {
    var all = new LinkedHashMap<UUID, UUID>();
    ends.forEach(end -> all.put(end, end));
    var next = new ArrayDeque<>(all.keySet());
    while (!next.isEmpty()) {
      var into = next.remove();
      for (var id : back.getOrDefault(into, List.of())) {
        if (all.putIfAbsent(id, all.get(into)) == null) {
          next.add(id);
        }
      }
      if (all.size() > most) {
        throw new QueryTooExpensiveException(
            "the templates, with those that became them, are more than %d".formatted(most));
      }
    }
    return all;
  }

  /** As many as fit into a question each. */
  static List<List<UUID>> portions(Collection<UUID> ids) {
    return ids.stream().gather(Gatherers.windowFixed(TemplateStats.MAX_IDS)).toList();
  }
}
