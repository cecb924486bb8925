package dev.sluice.query.port;

import dev.sluice.core.domain.LogId;
import dev.sluice.core.domain.Severity;
import dev.sluice.query.filter.LogFilter;
import java.io.Serial;
import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A reader of stored logs.
 *
 * <p>Thread-safe. All methods block; an interrupt of the thread also cancels the query in the
 * store. A query that exceeds its time or memory limit throws {@link QueryTooExpensiveException};
 * any other exception means that the store is unavailable.
 */
public interface LogReader {

  /**
   * The exception for a query that exceeds a limit of time or memory; a narrower one may succeed.
   */
  final class QueryTooExpensiveException extends RuntimeException {
    @Serial private static final long serialVersionUID = 1L;

    /**
     * @param limit the exceeded limit
     */
    public QueryTooExpensiveException(String limit, Throwable cause) {
      super(limit, cause);
    }

    /**
     * @param limit the exceeded limit
     */
    public QueryTooExpensiveException(String limit) {
      super(limit);
    }
  }

  /** Reads one page, newest first; logs of the same instant are in the order of their ids. */
  LogPage read(Query query) throws InterruptedException;

  /** Returns the number of matching logs and the times of the oldest and the newest. */
  TimeExtent timeExtent(LogFilter filter) throws InterruptedException;

  /**
   * Counts matching logs by time; returns the buckets in the order of time, without empty ones.
   *
   * @param originNanos the start of the first bucket; not after {@code fromNanos} of the filter
   * @param widthNanos the width of each bucket, at least 1
   */
  List<HistogramBucket> histogram(LogFilter filter, long originNanos, long widthNanos)
      throws InterruptedException;

  /**
   * A query for one page of logs.
   *
   * @param filter the conditions that the logs match
   * @param limit the maximum number of logs, at least 1
   * @param after the end of the previous page; null for the newest page
   */
  record Query(LogFilter filter, int limit, @Nullable Position after) {}

  /**
   * The number of logs and their range of time.
   *
   * @param count the number of logs
   * @param firstNanos the event time of the oldest log; 0 when there is none
   * @param lastNanos the event time of the newest log; 0 when there is none
   */
  record TimeExtent(long count, long firstNanos, long lastNanos) {}

  /**
   * A bucket of a histogram.
   *
   * @param startNanos the first instant of the bucket
   * @param count the number of logs in the bucket
   * @param severities the number of logs by level, without logs that have no level
   */
  record HistogramBucket(long startNanos, long count, Map<Severity, Long> severities) {
    public HistogramBucket {
      severities = Map.copyOf(severities);
    }
  }

  /** A position between two logs in the order of reading: after the log with this time and id. */
  record Position(long timeNanos, LogId id) {

    /** Returns the position as an opaque text that is safe in a URL. */
    public String toCursor() {
      var bytes =
          ByteBuffer.allocate(Long.BYTES + LogId.BYTES)
              .putLong(timeNanos)
              .putLong(id.high())
              .putLong(id.low());
      return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes.array());
    }

    /**
     * Parses the output of {@link #toCursor}.
     *
     * @throws IllegalArgumentException when the text does not have the form of a cursor
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
   * A page of logs.
   *
   * @param logs the logs, newest first
   * @param next the position after which the next page begins; null for the last page
   */
  record LogPage(List<StoredLog> logs, @Nullable Position next) {}

  /**
   * A stored log. Times are nanoseconds since 1970; trace and span ids are lower-case hexadecimal.
   *
   * @param attributes the attributes of the log itself; before long texts are resolved, a value may
   *     be a {@link dev.sluice.templates.dictionary.TextReference}
   * @param templateId the id of the template of the body; null when it is unknown
   * @param resourceId the dictionary id of the resource attributes; null when there are none, or
   *     when it is unknown
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

    /** Returns a copy with another template. */
    public StoredLog withTemplateId(@Nullable UUID templateId) {
      return with(attributes, templateId, resourceId);
    }

    /** Returns a copy with other log attributes. */
    public StoredLog withAttributes(Map<String, String> attributes) {
      return with(attributes, templateId, resourceId);
    }

    /** Returns a copy with other log attributes, another template and another resource id. */
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
