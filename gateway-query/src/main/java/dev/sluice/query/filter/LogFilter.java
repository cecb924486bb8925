package dev.sluice.query.filter;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.otlp.OtlpRecord;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The conditions of a log query. An absent condition does not filter; a record must match all
 * conditions that are present.
 *
 * @param tenant the tenant of the records
 * @param service exact service name
 * @param severities severity numbers, of which a record has one; empty for all
 * @param minSeverity lowest severity number; 0 for all
 * @param fromNanos earliest event time, nanoseconds since 1970, inclusive
 * @param toNanos latest event time, nanoseconds since 1970, exclusive
 * @param traceId 32 lower-case hexadecimal digits
 * @param spanId 16 lower-case hexadecimal digits
 * @param text the query that the body must match
 * @param attributes conditions on attributes of the record
 * @param resource conditions on attributes of the resource
 * @param templates template ids, of which a record has one; empty for all
 * @param resourceId id of the attribute set of the resource
 */
public record LogFilter(
    String tenant,
    @Nullable String service,
    List<Integer> severities,
    int minSeverity,
    @Nullable Long fromNanos,
    @Nullable Long toNanos,
    @Nullable String traceId,
    @Nullable String spanId,
    @Nullable TextQuery text,
    List<AttributeCondition> attributes,
    List<AttributeCondition> resource,
    List<UUID> templates,
    @Nullable UUID resourceId) {

  /** Maximum number of conditions on attributes in one filter. */
  public static final int MAX_CONDITIONS = 64;

  /**
   * Maximum number of characters of all texts of a filter together, since stores limit the size of
   * a query.
   */
  public static final int MAX_LENGTH = 32 * 1024;

  /** Maximum number of templates that a client may query. */
  public static final int MAX_TEMPLATES = 1_000;

  /**
   * Maximum number of templates in one filter, with all templates that were merged into the queried
   * ones.
   */
  public static final int MAX_EXPANDED_TEMPLATES = 10_000;

  /** The id that the store writes when a record has no template or no resource. */
  private static final UUID NONE = new UUID(0, 0);

  /**
   * @throws IllegalArgumentException when there are too many conditions, the conditions are too
   *     long, or an id is the all-zero UUID
   */
  // not a compact constructor: javac does not export the nullness of its parameters
  public LogFilter(
      String tenant,
      @Nullable String service,
      List<Integer> severities,
      int minSeverity,
      @Nullable Long fromNanos,
      @Nullable Long toNanos,
      @Nullable String traceId,
      @Nullable String spanId,
      @Nullable TextQuery text,
      List<AttributeCondition> attributes,
      List<AttributeCondition> resource,
      List<UUID> templates,
      @Nullable UUID resourceId) {
    if (attributes.size() + resource.size() > MAX_CONDITIONS) {
      throw new IllegalArgumentException("more than " + MAX_CONDITIONS + " attributes");
    }
    if (templates.size() > MAX_EXPANDED_TEMPLATES) {
      throw new IllegalArgumentException("more than " + MAX_EXPANDED_TEMPLATES + " templates");
    }
    if (templates.contains(NONE)) {
      throw new IllegalArgumentException("template id " + NONE + ", which means no template");
    }
    if (NONE.equals(resourceId)) {
      throw new IllegalArgumentException("resource id " + NONE + ", which means no resource");
    }
    int length = (text == null ? 0 : text.length()) + (service == null ? 0 : service.length());
    for (var condition : attributes) {
      length += condition.length();
    }
    for (var condition : resource) {
      length += condition.length();
    }
    if (length > MAX_LENGTH) {
      throw new IllegalArgumentException(
          "more than %d characters in service, text and attributes".formatted(MAX_LENGTH));
    }
    this.tenant = tenant;
    this.service = service;
    this.severities = severities.stream().distinct().toList();
    this.minSeverity = minSeverity;
    this.fromNanos = fromNanos;
    this.toNanos = toNanos;
    this.traceId = traceId;
    this.spanId = spanId;
    this.text = text;
    this.attributes = List.copyOf(attributes);
    this.resource = List.copyOf(resource);
    this.templates = templates.stream().distinct().toList();
    this.resourceId = resourceId;
  }

  /**
   * Whether a record matches all conditions; the result is the same as that of a query on the
   * stored record.
   *
   * @param batch the batch of the record, which has its tenant and receive time
   * @param log the view of the record as it was sent, with its long texts
   * @param templateId the template of the body; null before the record is enriched, when no record
   *     matches a condition on templates
   * @param resourceId the id of the attribute set of the resource; null before the record is
   *     enriched
   */
  public boolean matches(
      LogBatch batch, OtlpRecord log, @Nullable UUID templateId, @Nullable UUID resourceId) {
    return LogMatcher.matches(this, batch, log, templateId, resourceId);
  }

  /** Returns a builder of a filter, which starts with all records of a tenant. */
  public static Builder of(String tenant) {
    return new Builder(tenant);
  }

  /** Returns a copy with this time range, {@code toNanos} exclusive. */
  public LogFilter between(long fromNanos, long toNanos) {
    return with(text, fromNanos, toNanos, attributes, templates);
  }

  /**
   * Returns a copy with these conditions on attributes of the record.
   *
   * @throws IllegalArgumentException when there are too many conditions or they are too long
   */
  public LogFilter withAttributes(List<AttributeCondition> attributes) {
    return with(text, fromNanos, toNanos, attributes, templates);
  }

  /**
   * Returns a copy with this query on the body.
   *
   * @throws IllegalArgumentException when the query is too long
   */
  public LogFilter withText(TextQuery text) {
    return with(text, fromNanos, toNanos, attributes, templates);
  }

  /** Returns a copy with these template ids. */
  public LogFilter withTemplates(List<UUID> templates) {
    return with(text, fromNanos, toNanos, attributes, templates);
  }

  private LogFilter with(
      @Nullable TextQuery text,
      @Nullable Long fromNanos,
      @Nullable Long toNanos,
      List<AttributeCondition> attributes,
      List<UUID> templates) {
    return new LogFilter(
        tenant,
        service,
        severities,
        minSeverity,
        fromNanos,
        toNanos,
        traceId,
        spanId,
        text,
        attributes,
        resource,
        templates,
        resourceId);
  }

  /** Collects the conditions of a filter. Not thread-safe. */
  public static final class Builder {
    private final String tenant;
    private @Nullable String service;
    private List<Integer> severities = List.of();
    private int minSeverity;
    private @Nullable Long fromNanos;
    private @Nullable Long toNanos;
    private @Nullable String traceId;
    private @Nullable String spanId;
    private @Nullable TextQuery text;
    private final List<AttributeCondition> attributes = new ArrayList<>();
    private final List<AttributeCondition> resource = new ArrayList<>();
    private final List<UUID> templates = new ArrayList<>();
    private @Nullable UUID resourceId;

    private Builder(String tenant) {
      this.tenant = tenant;
    }

    public Builder service(@Nullable String name) {
      service = name;
      return this;
    }

    public Builder severities(List<Integer> numbers) {
      severities = numbers;
      return this;
    }

    public Builder minSeverity(int number) {
      minSeverity = number;
      return this;
    }

    public Builder from(@Nullable Long nanos) {
      fromNanos = nanos;
      return this;
    }

    public Builder to(@Nullable Long nanos) {
      toNanos = nanos;
      return this;
    }

    public Builder traceId(@Nullable String hex) {
      traceId = hex;
      return this;
    }

    public Builder spanId(@Nullable String hex) {
      spanId = hex;
      return this;
    }

    public Builder text(@Nullable TextQuery query) {
      text = query;
      return this;
    }

    public Builder attribute(AttributeCondition condition) {
      attributes.add(condition);
      return this;
    }

    public Builder resource(AttributeCondition condition) {
      resource.add(condition);
      return this;
    }

    public Builder template(UUID id) {
      templates.add(id);
      return this;
    }

    public Builder resourceId(@Nullable UUID id) {
      resourceId = id;
      return this;
    }

    /**
     * @throws IllegalArgumentException when there are too many conditions, or they are too long
     */
    public LogFilter build() {
      if (templates.size() > MAX_TEMPLATES) {
        throw new IllegalArgumentException("more than " + MAX_TEMPLATES + " templates");
      }
      return new LogFilter(
          tenant,
          service,
          severities,
          minSeverity,
          fromNanos,
          toNanos,
          traceId,
          spanId,
          text,
          attributes,
          resource,
          templates,
          resourceId);
    }
  }
}
