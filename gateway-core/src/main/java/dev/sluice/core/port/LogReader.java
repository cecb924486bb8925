package dev.sluice.core.port;

import dev.sluice.core.domain.LogId;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Reads stored logs back. Safe for use by many threads. */
public interface LogReader {

  /** One page, newest first; logs of one instant by identity. Blocking. */
  Page read(Query query) throws InterruptedException;

  /**
   * What to read; a filter that is absent does not filter.
   *
   * @param tenant whose logs
   * @param service exact name
   * @param severities severity numbers, any of them; empty for all
   * @param fromNanos earliest event time, nanoseconds since 1970, inclusive
   * @param toNanos latest event time, exclusive
   * @param traceId 32 lower-case hexadecimal digits
   * @param text words that must all be in the body, in any case and order
   * @param attributes attributes of the record that must have exactly these values
   * @param limit logs at most, from 1
   * @param after where the page before ended
   */
  record Query(
      String tenant,
      @Nullable String service,
      List<Integer> severities,
      @Nullable Long fromNanos,
      @Nullable Long toNanos,
      @Nullable String traceId,
      @Nullable String text,
      Map<String, String> attributes,
      int limit,
      @Nullable Position after) {}

  /** A place between two logs in the order of reading. */
  record Position(long timeNanos, LogId id) {}

  /**
   * @param logs newest first
   * @param next where to go on; null after the last page
   */
  record Page(List<StoredLog> logs, @Nullable Position next) {}

  /** A log as it was stored; times are nanoseconds since 1970, ids lower-case hexadecimal. */
  record StoredLog(
      LogId id,
      long timeNanos,
      long observedNanos,
      long receivedNanos,
      int severityNumber,
      String severityText,
      String service,
      String body,
      String traceId,
      String spanId,
      long flags,
      String eventName,
      Map<String, String> attributes,
      long droppedAttributes,
      Map<String, String> resource,
      String resourceSchemaUrl,
      String scopeName,
      String scopeVersion,
      Map<String, String> scope,
      String scopeSchemaUrl) {}
}
