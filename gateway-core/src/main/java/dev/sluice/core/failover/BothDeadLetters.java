package dev.sluice.core.failover;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.DeadLetterQueue;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The dead letters of both spools: pages over the first's, then over the second's, whose ids have a
 * prefix. What one has is shown while the other is out of reach.
 */
final class BothDeadLetters implements DeadLetterQueue {
  private final DeadLetterQueue first;
  private final DeadLetterQueue second;
  private final String prefix;
  private final Runnable reachable;

  /**
   * @param prefix of the second's ids, which none of the first's begins with
   * @param reachable throws while the first is in trouble
   */
  BothDeadLetters(
      DeadLetterQueue first, DeadLetterQueue second, String prefix, Runnable reachable) {
    this.first = first;
    this.second = second;
    this.prefix = prefix;
    this.reachable = reachable;
  }

  private boolean isSecond(String id) {
    return id.startsWith(prefix);
  }

  private String bare(String id) {
    return id.substring(prefix.length());
  }

  private DeadLetterItem prefixed(DeadLetterItem kept) {
    return new DeadLetterItem(prefix + kept.id(), kept.letter());
  }

  @Override
  public List<DeadLetterItem> list(@Nullable String after, int limit) {
    if (after != null && isSecond(after)) {
      return ofSecond(bare(after), limit);
    }
    List<DeadLetterItem> page;
    try {
      page = new ArrayList<>(first.list(after, limit));
    } catch (IllegalArgumentException e) {
      throw e; // not the form of an id
    } catch (RuntimeException e) {
      try {
        return ofSecond(null, limit);
      } catch (RuntimeException also) {
        e.addSuppressed(also);
        throw e;
      }
    }
    if (page.size() < limit) {
      try {
        page.addAll(ofSecond(null, limit - page.size()));
      } catch (RuntimeException _) {
        // the first has answered
      }
    }
    return page;
  }

  private List<DeadLetterItem> ofSecond(@Nullable String after, int limit) {
    return second.list(after, limit).stream().map(this::prefixed).toList();
  }

  @Override
  public Optional<DeadLetterItem> find(String id) {
    return isSecond(id) ? second.find(bare(id)).map(this::prefixed) : first.find(id);
  }

  @Override
  public boolean replay(String id, LogBatch log) {
    return isSecond(id) ? second.replay(bare(id), log) : first.replay(id, log);
  }

  @Override
  public boolean purge(String id) {
    return isSecond(id) ? second.purge(bare(id)) : first.purge(id);
  }

  @Override
  public Capacity capacity() {
    reachable.run(); // asked for with the metrics, which must not wait
    var one = first.capacity();
    var other = second.capacity();
    return new Capacity(one.used() + other.used(), one.max() + other.max());
  }
}
