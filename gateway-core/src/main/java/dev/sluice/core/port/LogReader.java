package dev.sluice.core.port;

import dev.sluice.core.domain.LogId;
import dev.sluice.core.domain.Severity;
import dev.sluice.core.query.LogFilter;
import java.io.Serial;
import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Reads stored logs back. Safe for use by many threads; all methods block, and interrupting the
 * thread ends the search in the store too. What takes more time or memory than a query may is
 * {@link QueryTooExpensiveException}; any other exception means that the store cannot answer at the
 * moment.
 */
public interface LogReader {

  /** The query needs more than queries are given; a narrower one may do. */
  final class QueryTooExpensiveException extends RuntimeException {
    @Serial private static final long serialVersionUID = 1L;

    /**
     * @param limit the limit that was met
     */
    public QueryTooExpensiveException(String limit, Throwable cause) {
      super(limit, cause);
    }

    /**
     * @param limit the limit that was met
     */
    public QueryTooExpensiveException(String limit) {
      super(limit);
    }
  }

  /** One page, newest first; logs of one instant by identity. */
  LogPage read(Query query) throws InterruptedException;

  /** How many logs there are, and from when to when. */
  TimeExtent timeExtent(LogFilter filter) throws InterruptedException;

  /**
   * Counts over time, in the order of time; empty buckets are left out.
   *
   * @param originNanos where the first bucket begins; not after the filter's {@code fromNanos}
   * @param widthNanos of each bucket, at least 1
   */
  List<HistogramBucket> histogram(LogFilter filter, long originNanos, long widthNanos)
      throws InterruptedException;

  /**
   * What to read.
   *
   * @param limit logs at most, from 1
   * @param after where the page before ended; null for the newest page
   */
  record Query(LogFilter filter, int limit, @Nullable Position after) {}

  /**
   * @param count all logs
   * @param firstNanos event time of the oldest; 0 when there is none
   * @param lastNanos event time of the newest; 0 when there is none
   */
  record TimeExtent(long count, long firstNanos, long lastNanos) {}

  /**
   * @param startNanos first instant of the bucket
   * @param count all logs in it
   * @param severities of those, the ones that have a level
   */
  record HistogramBucket(long startNanos, long count, Map<Severity, Long> severities) {
    public HistogramBucket {
      severities = Map.copyOf(severities);
    }
  }

  /** A place between two logs in the order of reading. */
  record Position(long timeNanos, LogId id) {

    /** The place as text, which says nothing to others and fits into a URL. */
    public String toCursor() {
      var bytes =
          ByteBuffer.allocate(Long.BYTES + LogId.BYTES)
              .putLong(timeNanos)
              .putLong(id.high())
              .putLong(id.low());
      return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes.array());
    }

    /**
     * The reverse of {@link #toCursor}.
     *
     * @throws IllegalArgumentException when it has not the form of one
     */
    public static Position ofCursor(String cursor) {
      var bytes = ByteBuffer.wrap(Base64.getUrlDecoder().decode(cursor));
      if (bytes.remaining() != Long.BYTES + LogId.BYTES) {
        throw new IllegalArgumentException("a cursor has 32 characters");
      }
      return new Position(bytes.getLong(), new LogId(bytes.getLong(), bytes.getLong()));
    }
  }

  /**
   * @param logs newest first
   * @param next where to go on; null after the last page
   */
  record LogPage(List<StoredLog> logs, @Nullable Position next) {}

  /**
   * A log as it was stored; times are nanoseconds since 1970, ids lower-case hexadecimal.
   *
   * @param attributes of its own; where they are as the store keeps them, a long text may be a
   *     {@link dev.sluice.core.dictionary.TextReference}
   * @param templateId what its body is one of; null where nobody has told
   * @param resourceId which set of attributes its resource has; null for none, or where nobody has
   *     told
   */
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
      String scopeSchemaUrl,
      @Nullable UUID templateId,
      @Nullable UUID resourceId) {

    /** The same of another template. */
    public StoredLog withTemplateId(@Nullable UUID templateId) {
      return with(attributes, templateId, resourceId);
    }

    /** The same with other attributes of its own. */
    public StoredLog withAttributes(Map<String, String> attributes) {
      return with(attributes, templateId, resourceId);
    }

    /** The same with other attributes of its own, another template and another resource's id. */
    public StoredLog with(
        Map<String, String> attributes, @Nullable UUID templateId, @Nullable UUID resourceId) {
      return new StoredLog(
          id,
          timeNanos,
          observedNanos,
          receivedNanos,
          severityNumber,
          severityText,
          service,
          body,
          traceId,
          spanId,
          flags,
          eventName,
          attributes,
          droppedAttributes,
          resource,
          resourceSchemaUrl,
          scopeName,
          scopeVersion,
          scope,
          scopeSchemaUrl,
          templateId,
          resourceId);
    }
  }
}
