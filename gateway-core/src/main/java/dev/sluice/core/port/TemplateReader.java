package dev.sluice.core.port;

import java.util.Collection;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * What is known of templates beside their texts, which the {@link Dictionary} has: which stand for
 * which.
 *
 * <p>Safe for use by many threads; all methods block, and interrupting the thread ends the search
 * in the store too. What takes more time or memory than a query may is {@link LogReader.TooCostly};
 * any other exception means that the store cannot answer at the moment.
 */
public interface TemplateReader {

  /** Ids in one question. */
  int MOST_IDS = Dictionary.MOST_IDS;

  /**
   * Where these are linked to. An id without an entry in the dictionary is left out.
   *
   * @param ids at most {@link #MOST_IDS}
   */
  List<Link> links(String tenant, Collection<UUID> ids) throws InterruptedException;

  /**
   * Which are linked to one of these, in no particular order.
   *
   * @param ids at most {@link #MOST_IDS}
   * @param limit links at most, from 1; which are left out then is not said
   */
  List<Link> linkedTo(String tenant, Collection<UUID> ids, int limit) throws InterruptedException;

  /**
   * @param mergedInto the more general template that stands for this one too, and may itself be
   *     linked; null while it stands for itself
   */
  record Link(UUID id, @Nullable UUID mergedInto) {}
}
