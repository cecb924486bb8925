package dev.sluice.core.port;

import dev.sluice.core.domain.LogId;
import dev.sluice.core.query.LogFilter;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What is known of templates beside their texts, which the {@link Dictionary} has: which stand for
 * which, and how often they came. Counts are of minutes of the logs' own time, and of the template
 * that a log was stored with, whatever became of it.
 *
 * <p>Safe for use by many threads; all methods block, and interrupting the thread ends the search
 * in the store too. What takes more time or memory than a query may is {@link
 * LogReader.QueryTooExpensiveException}; any other exception means that the store cannot answer at
 * the moment.
 */
public interface TemplateStats {

  /** Ids in one question. */
  int MAX_IDS = Dictionary.MAX_IDS;

  /** Counts in one answer: they are held in memory, some 100 bytes each. */
  int MAX_COUNTS = 100_000;

  /**
   * Which templates are linked to others, in no particular order; a link to one that is not in the
   * dictionary is none.
   *
   * @param limit links at most, from 1; which are left out then is not said
   */
  List<TemplateLink> links(String tenant, int limit) throws InterruptedException;

  /**
   * How often templates came in the minutes asked for and in as many before them, in no particular
   * order. What came in neither is left out.
   *
   * @throws LogReader.QueryTooExpensiveException when these are more than {@link #MAX_COUNTS} or
   *     have too long names
   */
  List<TemplateCount> counts(TemplateQuery query) throws InterruptedException;

  /**
   * From when to when these came, the first and the last time of all. One that never did is left
   * out.
   *
   * @param service in whose logs; null for those of all the tenant's services
   * @param ids at most {@link #MAX_IDS}
   */
  Map<UUID, MinuteRange> activeRanges(String tenant, @Nullable String service, Collection<UUID> ids)
      throws InterruptedException;

  /**
   * The same, in each service by itself and in no particular order.
   *
   * @param service in whose logs; null for those of all the tenant's services
   * @param ids at most {@link #MAX_IDS}
   * @throws LogReader.QueryTooExpensiveException when these are more than {@link #MAX_COUNTS} or
   *     have too long names
   */
  List<ServiceActivity> serviceActivity(
      String tenant, @Nullable String service, Collection<UUID> ids) throws InterruptedException;

  /**
   * How often templates came, by service, level and span of time, in no particular order: all that
   * is told of a few. What came in the last of the minutes asked for is in stretches of its own,
   * since the time that somebody means may end within it.
   *
   * @param query of at least one id
   * @param layout where to look, and how to divide it
   * @throws LogReader.QueryTooExpensiveException when these are more than {@link #MAX_COUNTS}
   */
  List<CountBucket> countBuckets(TemplateQuery query, BucketLayout layout)
      throws InterruptedException;

  /**
   * A log of each that may be its newest: the newest of those that the store keeps at hand, which
   * are not always all. {@link #countBuckets} tells whether it came in the last minute of all. One
   * of which none is at hand is left out.
   *
   * @param query of at least one id, whatever its minutes
   * @throws LogReader.QueryTooExpensiveException when these are too much to look through
   */
  List<SampleLog> latestSamples(TemplateQuery query) throws InterruptedException;

  /**
   * The newest logs of templates, the newest first.
   *
   * @param filter which logs, by tenant, service, levels, time and attributes
   * @param slices where to look for which, at most {@link #MAX_TIME_SLICES}; what is in the place
   *     of another may be found too
   * @param limitPerTemplate logs of one template at most, from 1
   */
  List<SampleLog> newestLogs(LogFilter filter, List<TimeSlice> slices, int limitPerTemplate)
      throws InterruptedException;

  /** Places in one question for the newest logs. */
  int MAX_TIME_SLICES = 1_000;

  /**
   * @param mergedInto the more general template that stands for this one too, and may itself be
   *     linked
   */
  record TemplateLink(UUID id, UUID mergedInto) {}

  /**
   * Which logs to count.
   *
   * @param service exact name; null for all
   * @param severities severity numbers, any of them; empty for all
   * @param minSeverity lowest severity number; 0 for all
   * @param ids templates that logs were stored with, at most {@link #MAX_IDS}; empty for all
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
    // spelled out: of a compact constructor's parameters, javac tells other modules no nullness
    public TemplateQuery(
        String tenant,
        @Nullable String service,
        Set<Integer> severities,
        int minSeverity,
        MinuteRange minuteRange,
        Set<UUID> ids) {
      if (ids.size() > MAX_IDS) {
        throw new IllegalArgumentException(ids.size() + " ids, at most " + MAX_IDS);
      }
      this.tenant = tenant;
      this.service = service;
      this.severities = Set.copyOf(severities);
      this.minSeverity = minSeverity;
      this.minuteRange = minuteRange;
      this.ids = Set.copyOf(ids);
    }

    /** The same, but only of logs that were stored with these. */
    public TemplateQuery withIds(Set<UUID> ids) {
      return new TemplateQuery(tenant, service, severities, minSeverity, minuteRange, ids);
    }
  }

  /**
   * Whole minutes, by their number since 1970 (UTC).
   *
   * @param from the first, at least 0
   * @param to the one after the last, greater than {@code from}
   */
  record MinuteRange(long from, long to) {
    private static final long NANOS_PER_MINUTE = 60_000_000_000L;

    /** Every minute of a log. */
    public static final MinuteRange ALL = new MinuteRange(0, Long.MAX_VALUE / NANOS_PER_MINUTE + 1);

    /**
     * @throws IllegalArgumentException when there is no minute between them
     */
    public MinuteRange {
      if (from < 0 || from >= to) {
        throw new IllegalArgumentException("from minute %d to minute %d".formatted(from, to));
      }
    }

    /**
     * All minutes that have one of these instants, nanoseconds since 1970: counts are not finer.
     *
     * @param toNanos the instant after the last
     */
    public static MinuteRange covering(long fromNanos, long toNanos) {
      return new MinuteRange(minuteOf(fromNanos), minuteOf(toNanos - 1) + 1);
    }

    /** The minute of an instant. */
    public static long minuteOf(long nanos) {
      return Math.floorDiv(nanos, NANOS_PER_MINUTE);
    }

    /** The first instant of a minute; the last there is when that would be later. */
    public static long startNanos(long minute) {
      return minute > Long.MAX_VALUE / NANOS_PER_MINUTE
          ? Long.MAX_VALUE
          : minute * NANOS_PER_MINUTE;
    }

    /** The last of them alone. */
    public MinuteRange lastMinute() {
      return new MinuteRange(to - 1, to);
    }

    /** From the earlier beginning to the later end. */
    public MinuteRange union(MinuteRange other) {
      return new MinuteRange(Math.min(from, other.from), Math.max(to, other.to));
    }

    /** The first of as many minutes before these; of fewer where they would be before 1970. */
    public long precedingFrom() {
      return Math.max(0, from - (to - from));
    }
  }

  /**
   * @param id with which the logs were stored
   * @param severityNumber 0 where they have none
   * @param count logs in the minutes asked for
   * @param precedingCount logs in as many minutes before
   */
  record TemplateCount(
      UUID id, String service, int severityNumber, long count, long precedingCount) {}

  /**
   * @param minuteRange from that of the first log to that of the last one
   */
  record ServiceActivity(UUID id, String service, MinuteRange minuteRange) {}

  /**
   * Minutes that were asked for, as far as templates came in them, divided into equal spans.
   *
   * @param firstMinute the first minute of the first span
   * @param bucketMinutes minutes in a span, from 1
   * @param bucketCount from 1
   * @param templatesByService by service, which of them came in its logs
   */
  record BucketLayout(
      long firstMinute,
      long bucketMinutes,
      int bucketCount,
      Map<String, Set<UUID>> templatesByService) {
    /**
     * @throws IllegalArgumentException when there is no span
     */
    public BucketLayout {
      if (bucketMinutes < 1 || bucketCount < 1) {
        throw new IllegalArgumentException(
            "%d spans of %d minutes".formatted(bucketCount, bucketMinutes));
      }
      templatesByService =
          templatesByService.entrySet().stream()
              .collect(
                  Collectors.toUnmodifiableMap(
                      Map.Entry::getKey, each -> Set.copyOf(each.getValue())));
    }

    /**
     * @param range minutes
     * @param activity when and where they came
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
   * Logs of one template, service and level in a span.
   *
   * @param bucket by its number, from 0; {@link #PRECEDING} for as many minutes before those asked
   *     for
   * @param count logs in it
   * @param firstMinute minute of the first of them
   * @param lastMinute minute of the last one
   */
  record CountBucket(
      UUID id,
      String service,
      int severityNumber,
      long bucket,
      long count,
      long firstMinute,
      long lastMinute) {
    /** Not in the time asked for, but before. */
    public static final long PRECEDING = -1;

    /** The same in another span. */
    public CountBucket withBucket(long other) {
      return new CountBucket(id, service, severityNumber, other, count, firstMinute, lastMinute);
    }
  }

  /**
   * Where logs of a template are, by their own time in nanoseconds since 1970; nowhere if {@code
   * toNanos} is not after {@code fromNanos}.
   *
   * @param service null where it may be any
   * @param toNanos the instant after the last; {@link Long#MAX_VALUE} where it is the last there is
   */
  record TimeSlice(UUID template, @Nullable String service, long fromNanos, long toNanos) {

    /** In whole minutes. */
    public static TimeSlice of(UUID template, @Nullable String service, MinuteRange minuteRange) {
      return new TimeSlice(
          template,
          service,
          MinuteRange.startNanos(minuteRange.from),
          MinuteRange.startNanos(minuteRange.to));
    }

    /** The last instant of them all. */
    public long lastNanos() {
      return toNanos == Long.MAX_VALUE ? toNanos : toNanos - 1;
    }
  }

  /**
   * A log, as much of it as one wants to see of a template.
   *
   * @param template with which it was stored
   * @param timeNanos its own time, nanoseconds since 1970
   */
  record SampleLog(
      UUID template, LogId id, long timeNanos, int severityNumber, String service, String body) {}
}
