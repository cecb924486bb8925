package dev.sluice.query.read;

import dev.sluice.query.port.LogReader.QueryTooExpensiveException;
import dev.sluice.query.port.TemplateStats;
import dev.sluice.query.port.TemplateStats.TemplateLink;
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
 * The merge links of a tenant's templates, which can be followed in both directions. A log record
 * keeps the template that it was stored with; clients are shown the canonical template, which is
 * the end of the links.
 *
 * <p>In a cycle, which is an error of the writer, the greatest id is the canonical one, so that all
 * members of the cycle have the same. Immutable.
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

  /** Returns the canonical template of a template; the id itself if the template has no link. */
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

  /** Returns the canonical template of each id. */
  Map<UUID, UUID> canonicalIds(Collection<UUID> ids) {
    var canonicalIds = new HashMap<UUID, UUID>();
    ids.forEach(id -> canonicalIds.put(id, canonical(id)));
    return canonicalIds;
  }

  /**
   * Returns the given canonical templates and all templates that were merged into them, each with
   * its canonical template.
   *
   * @throws QueryTooExpensiveException when the result has more than {@code limit} templates
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
            "the templates and the templates merged into them are more than %d".formatted(limit));
      }
    }
    return all;
  }

  /**
   * Splits the ids into lists of at most {@link TemplateStats#MAX_IDS}, the maximum of one query.
   */
  static List<List<UUID>> partition(Collection<UUID> ids) {
    return ids.stream().gather(Gatherers.windowFixed(TemplateStats.MAX_IDS)).toList();
  }
}
