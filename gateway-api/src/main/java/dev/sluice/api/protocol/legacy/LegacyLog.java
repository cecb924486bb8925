package dev.sluice.api.protocol.legacy;

import dev.sluice.core.domain.Rejection;
import dev.sluice.core.domain.Severity;
import dev.sluice.core.ingest.IngestResult;
import dev.sluice.query.port.LogReader.StoredLog;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A stored log in the predecessor's format, as {@code /api/logs} and {@code logs.LogService} return
 * it. The log may have been ingested by any protocol; one that was sent in this format is returned
 * as it was sent.
 *
 * @param id the client's id; the log id if the client sent none
 * @param appId the service name
 * @param timeNanos the event time, nanoseconds since 1970
 * @param level the severity, never {@link Severity#TRACE}, which clients of this format do not know
 * @param source the source; empty for a log of another format
 * @param environment the environment; empty for a log of another format
 * @param metadata all other attributes, as their stored text
 * @param traceId the trace id; null if there is none
 * @param userId the user id; null if there is none
 */
record LegacyLog(
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

  /** The default page size in logs. */
  public static final int DEFAULT_LIMIT = 1000;

  /** The maximum page size in logs. */
  public static final int MAX_LIMIT = 10_000;

  /** The maximum number of rejections in one response; more are not useful to a reader. */
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

  /** Returns the message of a response to a request that could be decoded. */
  public static String message(IngestResult.Accepted result) {
    if (result.acceptedNone()) {
      return "Invalid log data";
    }
    var message = new StringBuilder("Log data accepted");
    if (result.filtered() > 0) {
      message
          .append("; ")
          .append(result.filtered())
          .append(" of the logs are not on the allowlist and were filtered");
    }
    if (result.deadLettered() > 0) {
      message
          .append("; the store rejected ")
          .append(result.deadLettered())
          .append(" of the logs, which are kept as dead letters");
    }
    return message.toString();
  }

  /**
   * Returns the name of the attribute for a metadata key: the key itself, unless a field has that
   * name; then the key with the prefix {@code metadata.}. A key that already looks prefixed in this
   * way is prefixed too, so that the reverse mapping is unambiguous.
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

  /** Returns the rejection with this format's field name; the walker reports OTLP field names. */
  public static Rejection toLegacyRejection(Rejection rejection) {
    return new Rejection(rejection.index(), field(rejection.field()), rejection.reason());
  }

  /** Returns the field and the reason of a rejection as one readable sentence. */
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
          yield "app_id"; // the only resource attribute of this format
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
