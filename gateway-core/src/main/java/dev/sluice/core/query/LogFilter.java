package dev.sluice.core.query;

import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Which logs; what is absent does not filter, what is present must all hold.
 *
 * @param tenant whose logs
 * @param service exact name
 * @param severities severity numbers, any of them; empty for all
 * @param minSeverity lowest severity number; 0 for all
 * @param fromNanos earliest event time, nanoseconds since 1970, inclusive
 * @param toNanos latest event time, exclusive
 * @param traceId 32 lower-case hexadecimal digits
 * @param spanId 16 lower-case hexadecimal digits
 * @param text what the body must say
 * @param attributes of the record
 * @param resource attributes of the resource
 * @param templates ids of templates, any of them; empty for all
 * @param resourceId of the set of attributes that the resource has
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

  /** Conditions on attributes in one filter. */
  public static final int MAX_CONDITIONS = 64;

  /** Characters of all texts in it together: stores take a question in one piece. */
  public static final int MAX_LENGTH = 32 * 1024;

  /** Templates that somebody may ask for. */
  public static final int MAX_TEMPLATES = 1_000;

  /** Templates in one filter, with all that became those that were asked for. */
  public static final int MAX_EXPANDED_TEMPLATES = 10_000;

  /** In the store it stands for no template, and for no resource. */
  private static final UUID NONE = new UUID(0, 0);

  /**
   * @throws IllegalArgumentException when there are too many conditions or they are too long
   */
  // spelled out: of a compact constructor's parameters, javac tells other modules no nullness
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
      throw new IllegalArgumentException("the template " + NONE + ", which is none");
    }
    if (NONE.equals(resourceId)) {
      throw new IllegalArgumentException("the resource " + NONE + ", which is none");
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
          "service, text and attributes have more than %d characters".formatted(MAX_LENGTH));
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

  /** All logs of a tenant, to begin with. */
  public static Builder of(String tenant) {
    return new Builder(tenant);
  }

  /** The same, but only logs of these instants. */
  public LogFilter between(long fromNanos, long toNanos) {
    return with(text, fromNanos, toNanos, attributes, templates);
  }

  /**
   * The same, but with these conditions on attributes.
   *
   * @throws IllegalArgumentException when there are too many or they are too long
   */
  public LogFilter withAttributes(List<AttributeCondition> attributes) {
    return with(text, fromNanos, toNanos, attributes, templates);
  }

  /**
   * The same, but what the body must say is this.
   *
   * @throws IllegalArgumentException when it is too long
   */
  public LogFilter withText(TextQuery text) {
    return with(text, fromNanos, toNanos, attributes, templates);
  }

  /** The same, but of these templates. */
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

  /** Adds one condition after the other; for one thread. */
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
     * @throws IllegalArgumentException when there are too many conditions or they are too long
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
