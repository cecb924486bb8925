package dev.sluice.core.failover;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.DeadLetterQueue;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The dead letter queues of both spools as one: lists the primary's items, then the fallback's,
 * whose ids have a prefix. The items of one spool are listed while the other is unreachable.
 */
final class CompositeDeadLetterQueue implements DeadLetterQueue {
  private final DeadLetterQueue primary;
  private final DeadLetterQueue fallback;
  private final String prefix;
  private final Runnable requireReachable;

  /**
   * Creates the composite.
   *
   * @param prefix the prefix of the fallback's ids; no id of the primary begins with it
   * @param requireReachable throws while the circuit breaker is open
   */
  CompositeDeadLetterQueue(
      DeadLetterQueue primary, DeadLetterQueue fallback, String prefix, Runnable requireReachable) {
    this.primary = primary;
    this.fallback = fallback;
    this.prefix = prefix;
    this.requireReachable = requireReachable;
  }

  private boolean isFallback(String id) {
    return id.startsWith(prefix);
  }

  private String stripPrefix(String id) {
    return id.substring(prefix.length());
  }

  private DeadLetterItem withPrefix(DeadLetterItem item) {
    return new DeadLetterItem(prefix + item.id(), item.letter());
  }

  @Override
  public List<DeadLetterItem> list(@Nullable String after, int limit) {
    if (after != null && isFallback(after)) {
      return listFallback(stripPrefix(after), limit);
    }
    List<DeadLetterItem> page;
    try {
      page = new ArrayList<>(primary.list(after, limit));
    } catch (IllegalArgumentException e) {
      throw e; // "after" is not a valid id
    } catch (RuntimeException e) {
      try {
        return listFallback(null, limit);
      } catch (RuntimeException fallbackFailure) {
        e.addSuppressed(fallbackFailure);
        throw e;
      }
    }
    if (page.size() < limit) {
      try {
        page.addAll(listFallback(null, limit - page.size()));
      } catch (RuntimeException _) {
        // the page of the primary is still returned
      }
    }
    return page;
  }

  private List<DeadLetterItem> listFallback(@Nullable String after, int limit) {
    return fallback.list(after, limit).stream().map(this::withPrefix).toList();
  }

  @Override
  public Optional<DeadLetterItem> find(String id) {
    return isFallback(id) ? fallback.find(stripPrefix(id)).map(this::withPrefix) : primary.find(id);
  }

  @Override
  public boolean replay(String id, LogBatch log) {
    return isFallback(id) ? fallback.replay(stripPrefix(id), log) : primary.replay(id, log);
  }

  @Override
  public boolean purge(String id) {
    return isFallback(id) ? fallback.purge(stripPrefix(id)) : primary.purge(id);
  }

  @Override
  public Capacity capacity() {
    requireReachable.run(); // called for metrics, which must not block on an unreachable spool
    var one = primary.capacity();
    var other = fallback.capacity();
    return new Capacity(one.used() + other.used(), one.max() + other.max());
  }
}
