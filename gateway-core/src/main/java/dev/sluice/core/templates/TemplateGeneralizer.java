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
 *       equal, or both are values by their looks ({@link MessageShape#isIdentifier}).
 *   <li>A shape and all that differ from it in one and the same slot become one, with a value in
 *       that slot, when their words there are together {@linkplain MessageShape#evidence evidence}
 *       enough.
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
final class TemplateGeneralizer {
  private final Map<String, List<MessageShape>> shapesBySkeleton = new HashMap<>();
  private int size;

  /**
   * What one shape changed.
   *
   * @param template what the shape belongs to now
   * @param retired templates that were there before and are covered by {@code template} now
   * @param added whether the template was not there before
   */
  record AddResult(MessageShape template, List<MessageShape> retired, boolean added) {}

  /** The template that covers a shape, {@code null} if there is none. */
  @Nullable MessageShape find(MessageShape shape) {
    for (MessageShape template : shapesBySkeleton.getOrDefault(shape.skeleton(), List.of())) {
      if (template.covers(shape)) {
        return template;
      }
    }
    return null;
  }

  /** Adds a shape, which may be a template made elsewhere. */
  AddResult add(MessageShape shape) {
    MessageShape known = find(shape);
    if (known != null) {
      return new AddResult(known, List.of(), false);
    }
    List<MessageShape> peers =
        shapesBySkeleton.computeIfAbsent(shape.skeleton(), _ -> new ArrayList<>());
    size -= peers.size();
    var before = List.copyOf(peers);
    peers.add(shape);
    var newest = shape;
    var mergeable = findMergeable(peers);
    while (!mergeable.isEmpty()) {
      newest = generalize(mergeable);
      peers.removeIf(newest::covers);
      peers.add(newest);
      mergeable = findMergeable(peers);
    }
    size += peers.size();
    return new AddResult(newest, before.stream().filter(newest::covers).toList(), true);
  }

  /** How many templates there are. */
  int size() {
    return size;
  }

  /** All templates, in no order. */
  List<MessageShape> templates() {
    return shapesBySkeleton.values().stream().flatMap(List::stream).toList();
  }

  /**
   * What must become one now that the last of the peers is new; empty when nothing must. A rule
   * that applies must see the new one, hence starts from it or from a peer that differs from it in
   * one slot; and from such a peer it finds the same as from the new one, unless one of them is
   * loose.
   */
  private static List<MessageShape> findMergeable(List<MessageShape> peers) {
    int last = peers.size() - 1;
    MessageShape newest = peers.get(last);
    List<MessageShape> found = mergeableWith(peers, last);
    for (int i = 0; found.isEmpty() && i < last; i++) {
      MessageShape peer = peers.get(i);
      if ((newest.hasValueSlot() || peer.hasValueSlot()) && differingSlot(newest, peer) >= 0) {
        found = mergeableWith(peers, i);
      }
    }
    return found;
  }

  /** What the two rules make one with the peer at {@code center}. */
  private static List<MessageShape> mergeableWith(List<MessageShape> peers, int center) {
    MessageShape shape = peers.get(center);
    var bySlot = new HashMap<Integer, List<MessageShape>>();
    for (int i = 0; i < peers.size(); i++) {
      MessageShape peer = peers.get(i);
      int slot = i == center ? SEVERAL : differingSlot(shape, peer);
      if (slot == NONE) {
        return List.of(shape, peer);
      }
      if (slot >= 0) {
        bySlot.computeIfAbsent(slot, _ -> new ArrayList<>(List.of(shape))).add(peer);
      }
    }
    for (var entry : bySlot.entrySet()) {
      if (evidence(entry.getValue(), entry.getKey()) >= MessageShape.FULL_EVIDENCE) {
        return entry.getValue();
      }
    }
    return List.of();
  }

  private static int evidence(Collection<MessageShape> shapes, int slot) {
    var seen = new HashSet<@Nullable String>();
    int evidence = 0;
    for (MessageShape shape : shapes) {
      if (seen.add(shape.words()[slot])) {
        evidence += shape.evidence(slot);
      }
    }
    return evidence;
  }

  private static final int NONE = -1;
  private static final int SEVERAL = -2;

  /** The only slot where two shapes differ, or {@link #NONE} or {@link #SEVERAL}. */
  private static int differingSlot(MessageShape a, MessageShape b) {
    int slot = NONE;
    for (int i = 0; i < a.words().length; i++) {
      String x = a.words()[i];
      String y = b.words()[i];
      if (x != null
          && y != null
          && !x.equals(y)
          && !(MessageShape.isIdentifier(x) && MessageShape.isIdentifier(y))) {
        if (slot != NONE) {
          return SEVERAL;
        }
        slot = i;
      }
    }
    return slot;
  }

  /** The least general template that covers all. */
  private static MessageShape generalize(List<MessageShape> shapes) {
    MessageShape first = shapes.getFirst();
    @Nullable String[] words = first.words().clone();
    for (MessageShape shape : shapes) {
      for (int i = 0; i < words.length; i++) {
        if (words[i] != null && !words[i].equals(shape.words()[i])) {
          words[i] = null;
        }
      }
    }
    return new MessageShape(first.skeleton(), words, first.evidenceThresholds());
  }
}
