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
 * in the store too. What takes more time or memory than a query may is {@link LogReader.TooCostly};
 * any other exception means that the store cannot answer at the moment.
 */
public interface TemplateReader {

  /** Ids in one question. */
  int MOST_IDS = Dictionary.MOST_IDS;

  /** Counts in one answer: they are held in memory, some 100 bytes each. */
  int MOST_COUNTS = 100_000;

  /**
   * Which templates are linked to others, in no particular order; a link to one that is not in the
   * dictionary is none.
   *
   * @param limit links at most, from 1; which are left out then is not said
   */
  List<Link> links(String tenant, int limit) throws InterruptedException;

  /**
   * How often templates came in the minutes asked for and in as many before them, in no particular
   * order. What came in neither is left out.
   *
   * @throws LogReader.TooCostly when these are more than {@link #MOST_COUNTS} or have too long
   *     names
   */
  List<Count> counts(Question question) throws InterruptedException;

  /**
   * From when to when these came, the first and the last time of all. One that never did is left
   * out.
   *
   * @param service in whose logs; null for those of all the tenant's services
   * @param ids at most {@link #MOST_IDS}
   */
  Map<UUID, Minutes> came(String tenant, @Nullable String service, Collection<UUID> ids)
      throws InterruptedException;

  /**
   * The same, in each service by itself and in no particular order.
   *
   * @param service in whose logs; null for those of all the tenant's services
   * @param ids at most {@link #MOST_IDS}
   * @throws LogReader.TooCostly when these are more than {@link #MOST_COUNTS} or have too long
   *     names
   */
  List<Seen> seen(String tenant, @Nullable String service, Collection<UUID> ids)
      throws InterruptedException;

  /**
   * How often templates came, by service, level and span of time, in no particular order: all that
   * is told of a few. What came in the last of the minutes asked for is in stretches of its own,
   * since the time that somebody means may end within it.
   *
   * @param question of at least one id
   * @param frame where to look, and how to divide it
   * @throws LogReader.TooCostly when these are more than {@link #MOST_COUNTS}
   */
  List<Stretch> stretches(Question question, Frame frame) throws InterruptedException;

  /**
   * A log of each that may be its newest: the newest of those that the store keeps at hand, which
   * are not always all. {@link #stretches} tells whether it came in the last minute of all. One of
   * which none is at hand is left out.
   *
   * @param question of at least one id, whatever its minutes
   * @throws LogReader.TooCostly when these are too much to look through
   */
  List<Recent> latest(Question question) throws InterruptedException;

  /**
   * The newest logs of templates, the newest first.
   *
   * @param filter which logs, by tenant, service, levels, time and attributes
   * @param places where to look for which, at most {@link #MOST_NEWEST}; what is in the place of
   *     another may be found too
   * @param each logs of one template at most, from 1
   */
  List<Recent> newest(LogFilter filter, List<Place> places, int each) throws InterruptedException;

  /** Places in one question for the newest logs. */
  int MOST_NEWEST = 1_000;

  /**
   * @param mergedInto the more general template that stands for this one too, and may itself be
   *     linked
   */
  record Link(UUID id, UUID mergedInto) {}

  /**
   * Which logs to count.
   *
   * @param service exact name; null for all
   * @param severities severity numbers, any of them; empty for all
   * @param minSeverity lowest severity number; 0 for all
   * @param ids templates that logs were stored with, at most {@link #MOST_IDS}; empty for all
   */
  record Question(
      String tenant,
      @Nullable String service,
      Set<Integer> severities,
      int minSeverity,
      Minutes minutes,
      Set<UUID> ids) {

    /**
     * @throws IllegalArgumentException when there are too many ids
     */
    // spelled out: of a compact constructor's parameters, javac tells other modules no nullness
    public Question(
        String tenant,
        @Nullable String service,
        Set<Integer> severities,
        int minSeverity,
        Minutes minutes,
        Set<UUID> ids) {
      if (ids.size() > MOST_IDS) {
        throw new IllegalArgumentException(ids.size() + " ids, at most " + MOST_IDS);
      }
      this.tenant = tenant;
      this.service = service;
      this.severities = Set.copyOf(severities);
      this.minSeverity = minSeverity;
      this.minutes = minutes;
      this.ids = Set.copyOf(ids);
    }

    /** The same, but only of logs that were stored with these. */
    public Question of(Set<UUID> ids) {
      return new Question(tenant, service, severities, minSeverity, minutes, ids);
    }
  }

  /**
   * Whole minutes, by their number since 1970 (UTC).
   *
   * @param from the first, at least 0
   * @param to the one after the last, greater than {@code from}
   */
  record Minutes(long from, long to) {
    private static final long NANOS = 60_000_000_000L;

    /** Every minute of a log. */
    public static final Minutes ALL = new Minutes(0, Long.MAX_VALUE / NANOS + 1);

    /**
     * @throws IllegalArgumentException when there is no minute between them
     */
    public Minutes {
      if (from < 0 || from >= to) {
        throw new IllegalArgumentException("from minute %d to minute %d".formatted(from, to));
      }
    }

    /**
     * All minutes that have one of these instants, nanoseconds since 1970: counts are not finer.
     *
     * @param toNanos the instant after the last
     */
    public static Minutes covering(long fromNanos, long toNanos) {
      return new Minutes(of(fromNanos), of(toNanos - 1) + 1);
    }

    /** The minute of an instant. */
    public static long of(long nanos) {
      return Math.floorDiv(nanos, NANOS);
    }

    /** The first instant of a minute; the last there is when that would be later. */
    public static long nanos(long minute) {
      return minute > Long.MAX_VALUE / NANOS ? Long.MAX_VALUE : minute * NANOS;
    }

    /** The last of them alone. */
    public Minutes last() {
      return new Minutes(to - 1, to);
    }

    /** From the earlier beginning to the later end. */
    public Minutes and(Minutes other) {
      return new Minutes(Math.min(from, other.from), Math.max(to, other.to));
    }

    /** The first of as many minutes before these; of fewer where they would be before 1970. */
    public long before() {
      return Math.max(0, from - (to - from));
    }
  }

  /**
   * @param id with which the logs were stored
   * @param severityNumber 0 where they have none
   * @param count logs in the minutes asked for
   * @param before logs in as many minutes before
   */
  record Count(UUID id, String service, int severityNumber, long count, long before) {}

  /**
   * @param minutes from that of the first log to that of the last one
   */
  record Seen(UUID id, String service, Minutes minutes) {}

  /**
   * Minutes that were asked for, as far as templates came in them, divided into equal spans.
   *
   * @param begins the first minute of the first span
   * @param width minutes in a span, from 1
   * @param spans from 1
   * @param came by service, which of them came in its logs
   */
  record Frame(long begins, long width, int spans, Map<String, Set<UUID>> came) {
    /**
     * @throws IllegalArgumentException when there is no span
     */
    public Frame {
      if (width < 1 || spans < 1) {
        throw new IllegalArgumentException("%d spans of %d minutes".formatted(spans, width));
      }
      came =
          came.entrySet().stream()
              .collect(
                  Collectors.toUnmodifiableMap(
                      Map.Entry::getKey, each -> Set.copyOf(each.getValue())));
    }

    /**
     * @param asked minutes
     * @param seen when and where they came
     */
    public static Frame of(Minutes asked, Collection<Seen> seen, int spans) {
      long first = seen.stream().mapToLong(each -> each.minutes.from).min().orElse(0);
      long end = seen.stream().mapToLong(each -> each.minutes.to).max().orElse(0);
      long begins = Math.clamp(first, asked.from, asked.to - 1);
      long ends = Math.clamp(end, begins + 1, asked.to);
      return new Frame(
          begins,
          Math.ceilDiv(ends - begins, Math.max(1, spans)),
          spans,
          seen.stream()
              .collect(
                  Collectors.groupingBy(
                      Seen::service, Collectors.mapping(Seen::id, Collectors.toSet()))));
    }
  }

  /**
   * Logs of one template, service and level in a span.
   *
   * @param span by its number, from 0; {@link #BEFORE} for as many minutes before those asked for
   * @param count logs in it
   * @param first minute of the first of them
   * @param last minute of the last one
   */
  record Stretch(
      UUID id, String service, int severityNumber, long span, long count, long first, long last) {
    /** Not in the time asked for, but before. */
    public static final long BEFORE = -1;

    /** The same in another span. */
    public Stretch ofSpan(long other) {
      return new Stretch(id, service, severityNumber, other, count, first, last);
    }
  }

  /**
   * Where logs of a template are, by their own time in nanoseconds since 1970; nowhere if {@code
   * toNanos} is not after {@code fromNanos}.
   *
   * @param service null where it may be any
   * @param toNanos the instant after the last; {@link Long#MAX_VALUE} where it is the last there is
   */
  record Place(UUID template, @Nullable String service, long fromNanos, long toNanos) {

    /** In whole minutes. */
    public static Place of(UUID template, @Nullable String service, Minutes minutes) {
      return new Place(template, service, Minutes.nanos(minutes.from), Minutes.nanos(minutes.to));
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
  record Recent(
      UUID template, LogId id, long timeNanos, int severityNumber, String service, String body) {}
}
