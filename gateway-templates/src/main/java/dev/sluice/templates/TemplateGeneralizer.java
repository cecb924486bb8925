package dev.sluice.templates;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The templates of one tenant: the shapes that were seen, generalised as far as the set of shapes
 * shows which words are values.
 *
 * <p>Two rules are applied to shapes with the same skeleton until neither applies:
 *
 * <ol>
 *   <li>Shapes that <em>differ</em> in no slot are merged. Two words differ unless they are equal
 *       or both are values by their form ({@link MessageShape#isIdentifier}); a value slot differs
 *       from no word.
 *   <li>A shape and all shapes that differ from it in the same single slot are merged into one with
 *       a value slot there, if the {@linkplain MessageShape#evidence evidence} of their words is
 *       sufficient.
 * </ol>
 *
 * <p>The merged template replaces the templates from which it was made. The result depends only on
 * the set of all shapes. It does not depend on their order, on the instance that saw them first, or
 * on whether some were already replaced by their template. The reason is that both rules are
 * monotone in the order "is covered by": if shapes are replaced by more general ones, the result of
 * a rule covers the previous result. (If the more general shapes still have different words in the
 * slot, rule 2 sees at least the same words. If one has a value slot there, it no longer differs
 * from the others, and rule 1 merges them.) Therefore exactly one least fixpoint exists, and adding
 * a shape to the fixpoint of the others yields the fixpoint of all. Message counts and times have
 * no influence.
 *
 * <p>For one thread at a time.
 */
final class TemplateGeneralizer {
  private final Map<String, List<MessageShape>> shapesBySkeleton = new HashMap<>();
  private int size;

  /**
   * The result of adding a shape.
   *
   * @param template the template of the shape
   * @param retired existing templates that {@code template} now covers
   * @param added whether {@code template} is new
   */
  record AddResult(MessageShape template, List<MessageShape> retired, boolean added) {}

  /** Returns the template that covers a shape; {@code null} if there is none. */
  @Nullable MessageShape find(MessageShape shape) {
    for (MessageShape template : shapesBySkeleton.getOrDefault(shape.skeleton(), List.of())) {
      if (template.covers(shape)) {
        return template;
      }
    }
    return null;
  }

  /** Adds a shape, which may be a template of another instance. */
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

  /** Returns the number of templates. */
  int size() {
    return size;
  }

  /** Returns all templates, in no particular order. */
  List<MessageShape> templates() {
    return shapesBySkeleton.values().stream().flatMap(List::stream).toList();
  }

  /**
   * Returns the shapes to merge after the last peer was added; empty if there are none. A rule that
   * applies must involve the new shape, so it starts from it or from a peer that differs from it in
   * one slot. From such a peer it finds the same shapes as from the new one, unless one of the two
   * {@linkplain MessageShape#hasValueSlot has a slot that matches different words}.
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

  /** Returns the shapes that the two rules merge with the peer at {@code center}. */
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

  /** Returns the only slot in which two shapes differ, or {@link #NONE} or {@link #SEVERAL}. */
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

  /** Returns the least general template that covers all shapes. */
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
