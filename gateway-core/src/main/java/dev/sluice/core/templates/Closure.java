package dev.sluice.core.templates;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The templates of one tenant: the shapes that were seen, generalised as far as they show by
 * themselves what is a value.
 *
 * <p>Two rules, applied until neither finds anything, for shapes of the same frame:
 *
 * <ol>
 *   <li>Shapes between which no slot <em>differs</em> become one. Two words differ unless they are
 *       equal, or both are values by their looks ({@link Shape#isIdentifier}).
 *   <li>A shape and all that differ from it in one and the same slot become one, with a value in
 *       that slot, when their words there are together {@linkplain Shape#evidence evidence} enough.
 * </ol>
 *
 * A template made so takes the place of those it was made of. What matters is that the result
 * depends only on the set of all shapes, not on their order, nor on which instance met them first,
 * nor on whether some had been replaced by their template before the others came. That holds since
 * both rules are monotone in the order "is covered by": replace shapes by more general ones, and
 * whatever a rule would have made of them is covered by what it makes now. (If the more general
 * ones still have different words in the slot, rule 2 sees at least the same words. If one has a
 * value there, it does not differ from the others any more, and rule 1 makes them one.) So there is
 * exactly one least fixpoint, and adding a shape to the fixpoint of the others gives the fixpoint
 * of all. Numbers of messages and times play no part.
 *
 * <p>For one thread at a time.
 */
final class Closure {
  private final Map<String, List<Shape>> frames = new HashMap<>();
  private int size;

  /**
   * What one shape changed.
   *
   * @param template what the shape belongs to now
   * @param retired templates that were there before and are covered by {@code template} now
   * @param fresh whether the template was not there before
   */
  record Change(Shape template, List<Shape> retired, boolean fresh) {}

  /** The template that covers a shape, {@code null} if there is none. */
  @Nullable Shape find(Shape shape) {
    for (Shape template : frames.getOrDefault(shape.frame(), List.of())) {
      if (template.covers(shape)) {
        return template;
      }
    }
    return null;
  }

  /** Adds a shape, which may be a template made elsewhere. */
  Change add(Shape shape) {
    Shape known = find(shape);
    if (known != null) {
      return new Change(known, List.of(), false);
    }
    List<Shape> peers = frames.computeIfAbsent(shape.frame(), _ -> new ArrayList<>());
    size -= peers.size();
    var before = List.copyOf(peers);
    peers.add(shape);
    var newest = shape;
    var together = together(peers);
    while (!together.isEmpty()) {
      newest = join(together);
      peers.removeIf(newest::covers);
      peers.add(newest);
      together = together(peers);
    }
    size += peers.size();
    return new Change(newest, before.stream().filter(newest::covers).toList(), true);
  }

  /** How many templates there are. */
  int size() {
    return size;
  }

  /** All templates, in no order. */
  List<Shape> templates() {
    return frames.values().stream().flatMap(List::stream).toList();
  }

  /**
   * What must become one now that the last of the peers is new; empty when nothing must. A rule
   * that applies must see the new one, hence starts from it or from a peer that differs from it in
   * one slot; and from such a peer it finds the same as from the new one, unless one of them is
   * loose.
   */
  private static List<Shape> together(List<Shape> peers) {
    int last = peers.size() - 1;
    Shape newest = peers.get(last);
    List<Shape> found = around(peers, last);
    for (int i = 0; found.isEmpty() && i < last; i++) {
      Shape peer = peers.get(i);
      if ((newest.isLoose() || peer.isLoose()) && difference(newest, peer) >= 0) {
        found = around(peers, i);
      }
    }
    return found;
  }

  /** What the two rules make one with the peer at {@code center}. */
  private static List<Shape> around(List<Shape> peers, int center) {
    Shape shape = peers.get(center);
    var bySlot = new HashMap<Integer, List<Shape>>();
    for (int i = 0; i < peers.size(); i++) {
      Shape peer = peers.get(i);
      int slot = i == center ? SEVERAL : difference(shape, peer);
      if (slot == NONE) {
        return List.of(shape, peer);
      }
      if (slot >= 0) {
        bySlot.computeIfAbsent(slot, _ -> new ArrayList<>(List.of(shape))).add(peer);
      }
    }
    for (var entry : bySlot.entrySet()) {
      if (evidence(entry.getValue(), entry.getKey()) >= Shape.ENOUGH) {
        return entry.getValue();
      }
    }
    return List.of();
  }

  private static int evidence(Collection<Shape> shapes, int slot) {
    var seen = new HashSet<@Nullable String>();
    int evidence = 0;
    for (Shape shape : shapes) {
      if (seen.add(shape.words()[slot])) {
        evidence += shape.evidence(slot);
      }
    }
    return evidence;
  }

  private static final int NONE = -1;
  private static final int SEVERAL = -2;

  /** The only slot where two shapes differ, or {@link #NONE} or {@link #SEVERAL}. */
  private static int difference(Shape a, Shape b) {
    int slot = NONE;
    for (int i = 0; i < a.words().length; i++) {
      String x = a.words()[i];
      String y = b.words()[i];
      if (x != null
          && y != null
          && !x.equals(y)
          && !(Shape.isIdentifier(x) && Shape.isIdentifier(y))) {
        if (slot != NONE) {
          return SEVERAL;
        }
        slot = i;
      }
    }
    return slot;
  }

  /** The least general template that covers all. */
  private static Shape join(List<Shape> shapes) {
    Shape first = shapes.getFirst();
    @Nullable String[] words = first.words().clone();
    for (Shape shape : shapes) {
      for (int i = 0; i < words.length; i++) {
        if (words[i] != null && !words[i].equals(shape.words()[i])) {
          words[i] = null;
        }
      }
    }
    return new Shape(first.frame(), words, first.needs());
  }
}
