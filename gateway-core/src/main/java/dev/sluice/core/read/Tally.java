package dev.sluice.core.read;

import dev.sluice.core.domain.Severity;
import dev.sluice.core.port.TemplateStats.CountBucket;
import dev.sluice.core.port.TemplateStats.MinuteRange;
import dev.sluice.core.port.TemplateStats.TemplateCount;
import dev.sluice.core.read.TemplateReport.Template;
import java.util.EnumMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** What is added up for one template. */
final class Tally {
  final UUID id;
  private final Map<String, Long> services = new TreeMap<>();
  private final Map<Severity, Long> severities = new EnumMap<>(Severity.class);
  long count;
  long before;

  Tally(UUID id) {
    this.id = id;
  }

  void add(TemplateCount counted) {
    count += counted.count();
    before += counted.precedingCount();
    services.merge(counted.service(), counted.count(), Long::sum);
    var severity = Severity.of(counted.severityNumber());
    if (severity != null) {
      severities.merge(severity, counted.count(), Long::sum);
    }
  }

  /** A part of what came, or came before. */
  void add(CountBucket stretch) {
    boolean earlier = stretch.bucket() == CountBucket.PRECEDING;
    long logs = stretch.count();
    add(
        new TemplateCount(
            id,
            stretch.service(),
            stretch.severityNumber(),
            earlier ? 0 : logs,
            earlier ? logs : 0));
  }

  /** How many times more or less than before, at least 1. */
  double times() {
    return (Math.max(count, before) + 1.0) / (Math.min(count, before) + 1.0);
  }

  /**
   * @param seen from the first minute to the last one in which it came; null when it never did
   */
  Template told(@Nullable String text, @Nullable MinuteRange seen) {
    return new Template(
        id,
        text,
        count,
        before,
        seen == null ? null : (Long) seen.from(),
        seen == null ? null : (Long) (seen.to() - 1),
        services,
        severities);
  }
}
