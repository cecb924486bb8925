package dev.sluice.query.port;

import dev.sluice.core.domain.LogId;
import dev.sluice.query.filter.LogFilter;
import dev.sluice.templates.dictionary.Dictionary;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The statistics of templates: the links between merged templates, and the numbers of their logs.
 * The texts of templates are in the {@link Dictionary}. Counts have a resolution of one minute of
 * event time. They are by the template with which a log is stored, even when that template is
 * merged into another one later.
 *
 * <p>Thread-safe. All methods block; an interrupt of the thread also cancels the query in the
 * store. A query that exceeds its time or memory limit throws {@link
 * LogReader.QueryTooExpensiveException}; any other exception means that the store is unavailable.
 */
public interface TemplateStats {

  /** The maximum number of ids in one query. */
  int MAX_IDS = Dictionary.MAX_IDS;

  /** The maximum number of counts in one result, which is held in memory. */
  int MAX_COUNTS = 100_000;

  /**
   * Returns the links from merged templates to other templates, in no particular order. A link to a
   * template that is not in the dictionary is omitted.
   *
   * @param limit the maximum number of links, at least 1; which links are omitted beyond it is
   *     unspecified
   */
  List<TemplateLink> links(String tenant, int limit) throws InterruptedException;

  /**
   * Returns the number of logs of each template in the minutes of the query and in the preceding
   * period of the same length, in no particular order. A template without logs in both periods is
   * omitted.
   *
   * @throws LogReader.QueryTooExpensiveException when there are more than {@link #MAX_COUNTS}
   *     counts or their service names are too long
   */
  List<TemplateCount> counts(TemplateQuery query) throws InterruptedException;

  /**
   * Returns for each template the range from its first log to its latest log. A template without
   * logs is omitted.
   *
   * @param service the service whose logs count; null for all services of the tenant
   * @param ids the ids of the templates, at most {@link #MAX_IDS}
   */
  Map<UUID, MinuteRange> activeRanges(String tenant, @Nullable String service, Collection<UUID> ids)
      throws InterruptedException;

  /**
   * Returns for each template and service the range from its first log to its latest log, in no
   * particular order.
   *
   * @param service the service whose logs count; null for all services of the tenant
   * @param ids the ids of the templates, at most {@link #MAX_IDS}
   * @throws LogReader.QueryTooExpensiveException when there are more than {@link #MAX_COUNTS}
   *     ranges or their service names are too long
   */
  List<ServiceActivity> serviceActivity(
      String tenant, @Nullable String service, Collection<UUID> ids) throws InterruptedException;

  /**
   * Returns the number of logs of a few templates by service, level and bucket of time, in no
   * particular order. The last minute of the query has separate elements, since the time range of a
   * user may end within that minute.
   *
   * @param query the query, with at least one id
   * @param layout the division of the minutes into buckets
   * @throws LogReader.QueryTooExpensiveException when there are more than {@link #MAX_COUNTS}
   *     counts
   */
  List<CountBucket> countBuckets(TemplateQuery query, BucketLayout layout)
      throws InterruptedException;

  /**
   * Returns for each template the newest of the sample logs that the store keeps. A newer log may
   * exist, since the samples are not always complete; compare the minute of the sample with the
   * last minute in {@link #countBuckets}. A template without a sample is omitted.
   *
   * @param query the query, with at least one id; its minutes are ignored
   * @throws LogReader.QueryTooExpensiveException when there are too many samples to read
   */
  List<SampleLog> latestSamples(TemplateQuery query) throws InterruptedException;

  /**
   * Returns the newest logs of templates, newest first.
   *
   * @param filter the conditions that the logs match, on tenant, service, levels, time and
   *     attributes
   * @param slices the time range to search for each template, at most {@link #MAX_TIME_SLICES}; the
   *     result may also have logs of a template from the range of another one
   * @param limitPerTemplate the maximum number of logs of one template, at least 1
   */
  List<SampleLog> newestLogs(LogFilter filter, List<TimeSlice> slices, int limitPerTemplate)
      throws InterruptedException;

  /** The maximum number of time slices in one query for the newest logs. */
  int MAX_TIME_SLICES = 1_000;

  /**
   * A link from a merged template to a more general one.
   *
   * @param id the id of the merged template
   * @param mergedInto the id of the template that replaces it, which may itself be merged
   */
  record TemplateLink(UUID id, UUID mergedInto) {}

  /**
   * The conditions on the logs to count.
   *
   * @param tenant the tenant of the logs
   * @param service the exact service name; null for all services
   * @param severities the severity numbers, of which a log has one; empty for all
   * @param minSeverity the lowest severity number; 0 for all
   * @param minuteRange the minutes of event time
   * @param ids the templates with which the logs are stored, at most {@link #MAX_IDS}; empty for
   *     all
   */
  record TemplateQuery(
      String tenant,
      @Nullable String service,
      Set<Integer> severities,
      int minSeverity,
      MinuteRange minuteRange,
      Set<UUID> ids) {

    /**
     * @throws IllegalArgumentException when there are too many ids
     */
    // not a compact constructor: javac does not export the nullness of its parameters
    public TemplateQuery(
        String tenant,
        @Nullable String service,
        Set<Integer> severities,
        int minSeverity,
        MinuteRange minuteRange,
        Set<UUID> ids) {
      if (ids.size() > MAX_IDS) {
        throw new IllegalArgumentException(ids.size() + " template ids, at most " + MAX_IDS);
      }
      this.tenant = tenant;
      this.service = service;
      this.severities = Set.copyOf(severities);
      this.minSeverity = minSeverity;
      this.minuteRange = minuteRange;
      this.ids = Set.copyOf(ids);
    }

    /** Returns a copy that is restricted to logs of these templates. */
    public TemplateQuery withIds(Set<UUID> ids) {
      return new TemplateQuery(tenant, service, severities, minSeverity, minuteRange, ids);
    }
  }

  /**
   * A range of whole minutes since 1970 (UTC).
   *
   * @param from the first minute, at least 0
   * @param to the minute after the last, greater than {@code from}
   */
  record MinuteRange(long from, long to) {
    private static final long NANOS_PER_MINUTE = 60_000_000_000L;

    /** The range of all minutes that a log can have. */
    public static final MinuteRange ALL = new MinuteRange(0, Long.MAX_VALUE / NANOS_PER_MINUTE + 1);

    /**
     * @throws IllegalArgumentException when the range is empty or negative
     */
    public MinuteRange {
      if (from < 0 || from >= to) {
        throw new IllegalArgumentException(
            "minutes from %d to %d are not a range".formatted(from, to));
      }
    }

    /**
     * Returns the smallest range of whole minutes that covers a range of instants, since counts
     * have a resolution of one minute.
     *
     * @param fromNanos the first instant, in nanoseconds since 1970
     * @param toNanos the instant after the last
     */
    public static MinuteRange covering(long fromNanos, long toNanos) {
      return new MinuteRange(minuteOf(fromNanos), minuteOf(toNanos - 1) + 1);
    }

    /** Returns the minute of an instant in nanoseconds since 1970. */
    public static long minuteOf(long nanos) {
      return Math.floorDiv(nanos, NANOS_PER_MINUTE);
    }

    /** Returns the first instant of a minute, limited to {@link Long#MAX_VALUE}. */
    public static long startNanos(long minute) {
      return minute > Long.MAX_VALUE / NANOS_PER_MINUTE
          ? Long.MAX_VALUE
          : minute * NANOS_PER_MINUTE;
    }

    /** Returns the range of the last minute alone. */
    public MinuteRange lastMinute() {
      return new MinuteRange(to - 1, to);
    }

    /** Returns the range from the earlier start to the later end. */
    public MinuteRange union(MinuteRange other) {
      return new MinuteRange(Math.min(from, other.from), Math.max(to, other.to));
    }

    /** Returns the first minute of the preceding range of the same length, at least 0. */
    public long precedingFrom() {
      return Math.max(0, from - (to - from));
    }
  }

  /**
   * The number of logs of one template, service and severity number.
   *
   * @param id the id of the template with which the logs are stored
   * @param severityNumber the severity number; 0 when the logs have none
   * @param count the number of logs in the minutes of the query
   * @param precedingCount the number of logs in the preceding period of the same length
   */
  record TemplateCount(
      UUID id, String service, int severityNumber, long count, long precedingCount) {}

  /**
   * The time range in which one template occurs in one service.
   *
   * @param minuteRange the range from the minute of the first log to the minute of the latest log
   */
  record ServiceActivity(UUID id, String service, MinuteRange minuteRange) {}

  /**
   * The division of a range of minutes, reduced to the part with logs, into equal buckets.
   *
   * @param firstMinute the first minute of the first bucket
   * @param bucketMinutes the number of minutes in a bucket, at least 1
   * @param bucketCount the number of buckets, at least 1
   * @param templatesByService the ids of the templates that occur in the logs of each service
   */
  record BucketLayout(
      long firstMinute,
      long bucketMinutes,
      int bucketCount,
      Map<String, Set<UUID>> templatesByService) {
    /**
     * @throws IllegalArgumentException when the number or the length of the buckets is not positive
     */
    public BucketLayout {
      if (bucketMinutes < 1 || bucketCount < 1) {
        throw new IllegalArgumentException(
            "%d buckets of %d minutes, both must be positive"
                .formatted(bucketCount, bucketMinutes));
      }
      templatesByService =
          templatesByService.entrySet().stream()
              .collect(
                  Collectors.toUnmodifiableMap(
                      Map.Entry::getKey, each -> Set.copyOf(each.getValue())));
    }

    /**
     * Creates a layout of the part of the range in which the templates occur.
     *
     * @param range the minutes of the query
     * @param activity the time ranges of the templates by service
     * @param bucketCount the number of buckets, at least 1
     */
    public static BucketLayout of(
        MinuteRange range, Collection<ServiceActivity> activity, int bucketCount) {
      long first = activity.stream().mapToLong(each -> each.minuteRange.from).min().orElse(0);
      long end = activity.stream().mapToLong(each -> each.minuteRange.to).max().orElse(0);
      long firstMinute = Math.clamp(first, range.from, range.to - 1);
      long endMinute = Math.clamp(end, firstMinute + 1, range.to);
      return new BucketLayout(
          firstMinute,
          Math.ceilDiv(endMinute - firstMinute, Math.max(1, bucketCount)),
          bucketCount,
          activity.stream()
              .collect(
                  Collectors.groupingBy(
                      ServiceActivity::service,
                      Collectors.mapping(ServiceActivity::id, Collectors.toSet()))));
    }
  }

  /**
   * The number of logs of one template, service and severity number in a bucket.
   *
   * @param bucket the index of the bucket, from 0; {@link #PRECEDING} for the period of the same
   *     length before the minutes of the query
   * @param count the number of logs
   * @param firstMinute the minute of the first log
   * @param lastMinute the minute of the latest log
   */
  record CountBucket(
      UUID id,
      String service,
      int severityNumber,
      long bucket,
      long count,
      long firstMinute,
      long lastMinute) {
    /** The index that stands for the period before the minutes of the query. */
    public static final long PRECEDING = -1;

    /** Returns a copy with another bucket index. */
    public CountBucket withBucket(long other) {
      return new CountBucket(id, service, severityNumber, other, count, firstMinute, lastMinute);
    }
  }

  /**
   * A range of event time in which to search logs of a template, in nanoseconds since 1970; empty
   * when {@code toNanos} is not after {@code fromNanos}.
   *
   * @param template the id of the template
   * @param service the service of the logs; null for any
   * @param fromNanos the first instant
   * @param toNanos the instant after the last; {@link Long#MAX_VALUE} is itself included
   */
  record TimeSlice(UUID template, @Nullable String service, long fromNanos, long toNanos) {

    /** Creates a slice of whole minutes. */
    public static TimeSlice of(UUID template, @Nullable String service, MinuteRange minuteRange) {
      return new TimeSlice(
          template,
          service,
          MinuteRange.startNanos(minuteRange.from),
          MinuteRange.startNanos(minuteRange.to));
    }

    /** Returns the last instant of the slice. */
    public long lastNanos() {
      return toNanos == Long.MAX_VALUE ? toNanos : toNanos - 1;
    }
  }

  /**
   * A sample log of a template, with a part of its fields.
   *
   * @param template the id of the template with which the log is stored
   * @param timeNanos the event time, in nanoseconds since 1970
   */
  record SampleLog(
      UUID template, LogId id, long timeNanos, int severityNumber, String service, String body) {}
}
