package dev.sluice.query.read;

import dev.sluice.core.domain.Severity;
import dev.sluice.query.port.TemplateStats.CountBucket;
import dev.sluice.query.port.TemplateStats.MinuteRange;
import dev.sluice.query.port.TemplateStats.TemplateCount;
import dev.sluice.query.read.TemplateReport.Template;
import java.util.EnumMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The sums of the counts of one canonical template. */
final class TemplateCounts {
  final UUID id;
  private final Map<String, Long> services = new TreeMap<>();
  private final Map<Severity, Long> severities = new EnumMap<>(Severity.class);
  long count;
  long countBefore;

  TemplateCounts(UUID id) {
    this.id = id;
  }

  void add(TemplateCount counted) {
    count += counted.count();
    countBefore += counted.precedingCount();
    services.merge(counted.service(), counted.count(), Long::sum);
    var severity = Severity.of(counted.severityNumber());
    if (severity != null) {
      severities.merge(severity, counted.count(), Long::sum);
    }
  }

  /** Adds a bucket, of the queried time range or of the preceding one. */
  void add(CountBucket bucket) {
    boolean earlier = bucket.bucket() == CountBucket.PRECEDING;
    long logs = bucket.count();
    add(
        new TemplateCount(
            id, bucket.service(), bucket.severityNumber(), earlier ? 0 : logs, earlier ? logs : 0));
  }

  /**
   * Returns the ratio of the greater to the smaller one of both counts, each increased by one; at
   * least 1.
   */
  double changeRatio() {
    return (Math.max(count, countBefore) + 1.0) / (Math.min(count, countBefore) + 1.0);
  }

  /**
   * @param text the text of the template; null when the dictionary does not have it
   * @param activeRange the minutes from the first to the last record; null when the template has
   *     none
   */
  Template toTemplate(@Nullable String text, @Nullable MinuteRange activeRange) {
    return new Template(
        id,
        text,
        count,
        countBefore,
        activeRange == null ? null : (Long) activeRange.from(),
        activeRange == null ? null : (Long) (activeRange.to() - 1),
        services,
        severities);
  }
}
