package dev.sluice.api.decode;

import dev.sluice.core.domain.Rejection;
import dev.sluice.core.domain.Severity;
import dev.sluice.core.ingest.IngestResult;
import dev.sluice.core.port.LogReader.StoredLog;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A stored log in the words of {@code /api/logs} and {@code logs.LogService}, by whichever entrance
 * it came: what was sent is read back as it was sent.
 *
 * @param id as its client named it; else its identity here
 * @param appId the service
 * @param timeNanos when it happened, nanoseconds since 1970
 * @param level never {@link Severity#TRACE}, which these clients do not know
 * @param source empty when it came by another entrance
 * @param environment empty when it came by another entrance
 * @param metadata all other attributes, as the text they are stored as
 */
public record LegacyLog(
    String id,
    String appId,
    long timeNanos,
    Severity level,
    String message,
    String source,
    String environment,
    Map<String, String> metadata,
    @Nullable String traceId,
    @Nullable String userId) {

  /** Logs of a page when its client does not say how many. */
  public static final int DEFAULT_LIMIT = 1000;

  /** Logs of a page at most. */
  public static final int MAX_LIMIT = 10_000;

  /** Verdicts in one answer: more would tell a person nothing. */
  public static final int MAX_REPORTED_ERRORS = 100;

  static final String ID = "id";
  static final String SOURCE = "source";
  static final String ENVIRONMENT = "environment";
  static final String TRACE_ID = "trace_id";
  static final String USER_ID = "user_id";

  private static final Set<String> RESERVED_KEYS =
      Set.of(ID, SOURCE, ENVIRONMENT, TRACE_ID, USER_ID);
  private static final String METADATA_PREFIX = "metadata.";
  private static final String ATTRIBUTES_PREFIX = "attributes.";

  public static LegacyLog of(StoredLog log) {
    var attributes = log.attributes();
    var metadata = new TreeMap<String, String>();
    attributes.forEach(
        (key, value) -> {
          if (!RESERVED_KEYS.contains(key)) {
            metadata.put(metadataOf(key), value);
          }
        });
    return new LegacyLog(
        attributes.getOrDefault(ID, log.id().toHex()),
        log.service(),
        log.timeNanos(),
        level(log.severityNumber()),
        log.body(),
        attributes.getOrDefault(SOURCE, ""),
        attributes.getOrDefault(ENVIRONMENT, ""),
        metadata,
        emptyToNull(attributes.getOrDefault(TRACE_ID, log.traceId())),
        emptyToNull(attributes.getOrDefault(USER_ID, "")));
  }

  private static Severity level(int number) {
    var level = Severity.of(number);
    if (level == null) {
      return Severity.INFO;
    }
    return level == Severity.TRACE ? Severity.DEBUG : level;
  }

  private static @Nullable String emptyToNull(String value) {
    return value.isEmpty() ? null : value;
  }

  /** The one sentence of an answer to logs that could be read. */
  public static String message(IngestResult.Accepted result) {
    if (result.acceptedNone()) {
      return "Invalid log data";
    }
    var message = new StringBuilder("Log data accepted");
    if (result.filtered() > 0) {
      message
          .append("; ")
          .append(result.filtered())
          .append(" of the logs are not on the allow list and were filtered");
    }
    if (result.deadLettered() > 0) {
      message
          .append("; the store refused ")
          .append(result.deadLettered())
          .append(" of the logs, which are kept as dead letters");
    }
    return message.toString();
  }

  /**
   * The attribute that a metadata entry becomes: of its own name, unless a field has that one. What
   * looks like an entry renamed so is renamed too, that the way back is the only one.
   */
  static String attributeOf(String key) {
    return isReserved(key) ? METADATA_PREFIX + key : key;
  }

  private static String metadataOf(String attribute) {
    return attribute.startsWith(METADATA_PREFIX) && isReserved(attribute)
        ? attribute.substring(METADATA_PREFIX.length())
        : attribute;
  }

  private static boolean isReserved(String key) {
    int offset = 0;
    while (key.startsWith(METADATA_PREFIX, offset)) {
      offset += METADATA_PREFIX.length();
    }
    return RESERVED_KEYS.contains(key.substring(offset));
  }

  /** A verdict in these words: the walker, which every entrance passes, speaks OTLP. */
  public static Rejection toLegacyRejection(Rejection rejection) {
    return new Rejection(rejection.index(), field(rejection.field()), rejection.reason());
  }

  /** What is wrong with which field, for a person. */
  public static String describe(Rejection rejection) {
    return (rejection.field().isEmpty() ? "log" : rejection.field()) + " " + rejection.reason();
  }

  private static String field(String otlp) {
    return switch (otlp) {
      case "body" -> "message";
      case "severity_text" -> "level";
      case "attributes" -> "metadata";
      default -> {
        if (otlp.startsWith("resource.attributes")) {
          yield "app_id"; // its only attribute
        }
        if (!otlp.startsWith(ATTRIBUTES_PREFIX)) {
          yield otlp;
        }
        var key = otlp.substring(ATTRIBUTES_PREFIX.length());
        yield RESERVED_KEYS.contains(key) ? key : METADATA_PREFIX + metadataOf(key);
      }
    };
  }
}
