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
public final class TemplateMergeGraph {
  private final Map<UUID, UUID> mergedInto = new HashMap<>();
  private final Map<UUID, List<UUID>> mergedFrom = new HashMap<>();

  TemplateMergeGraph(Collection<TemplateLink> links) {
    for (var link : links) {
      mergedInto.put(link.id(), link.mergedInto());
      mergedFrom.computeIfAbsent(link.mergedInto(), _ -> new ArrayList<>(1)).add(link.id());
    }
  }

  /** What became of a template; itself where there is no link. */
  public UUID canonical(UUID id) {
    var visited = new HashSet<UUID>();
    var current = id;
    while (visited.add(current)) {
      var into = mergedInto.get(current);
      if (into == null) {
        return current;
      }
      current = into;
    }
    var greatest = current;
    for (var each = mergedInto.get(current);
        each != null && !each.equals(current);
        each = mergedInto.get(each)) {
      greatest = each.compareTo(greatest) > 0 ? each : greatest;
    }
    return greatest;
  }

  /** What became of each of these. */
  Map<UUID, UUID> canonicalIds(Collection<UUID> ids) {
    var canonicalIds = new HashMap<UUID, UUID>();
    ids.forEach(id -> canonicalIds.put(id, canonical(id)));
    return canonicalIds;
  }

  /**
   * These and all from which links lead to them, each with the one of these that it leads to.
   *
   * @throws QueryTooExpensiveException when they are more than {@code most}
   */
  Map<UUID, UUID> membersOf(Collection<UUID> canonicalIds, int limit) {
    var all = new LinkedHashMap<UUID, UUID>();
    canonicalIds.forEach(end -> all.put(end, end));
    var next = new ArrayDeque<>(all.keySet());
    while (!next.isEmpty()) {
      var into = next.remove();
      for (var id : mergedFrom.getOrDefault(into, List.of())) {
        if (all.putIfAbsent(id, all.get(into)) == null) {
          next.add(id);
        }
      }
      if (all.size() > limit) {
        throw new QueryTooExpensiveException(
            "the templates, with those that became them, are more than %d".formatted(limit));
      }
    }
    return all;
  }

  /** As many as fit into a question each. */
  static List<List<UUID>> partition(Collection<UUID> ids) {
    return ids.stream().gather(Gatherers.windowFixed(TemplateStats.MAX_IDS)).toList();
  }
}
