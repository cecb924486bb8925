package dev.sluice.core.otlp;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The messages of an {@code ExportLogsServiceRequest} with their field numbers and their names in
 * JSON, from opentelemetry/proto/{collector/logs,logs,resource,common}/v1. Whoever turns OTLP in
 * protobuf into JSON or back goes by this one table. Safe for use by many threads.
 */
public final class OtlpSchema {

  /** What a field holds, and how JSON says it. */
  public enum Kind {
    TEXT,
    HEX,
    BASE64,
    INT64,
    UINT32,
    ENUM,
    BOOL,
    DOUBLE,
    FIXED64,
    FIXED32,
    MESSAGE,
    /** A message below which values nest. */
    CONTAINER
  }

  /**
   * @param name in lowerCamelCase
   * @param number in protobuf
   * @param message what a field of a message holds; null for any other
   */
  public record Field(
      String name, int number, Kind kind, boolean repeated, @Nullable Message message) {}

  /** The fields of one message. */
  public static final class Message {
    private final Map<String, Field> names = new HashMap<>();
    private final Map<Integer, Field> numbers = new TreeMap<>();

    /** By its number; null for a field that is unknown. */
    public @Nullable Field field(int number) {
      return numbers.get(number);
    }

    /** By its name, in lowerCamelCase or snake_case; null for a field that is unknown. */
    public @Nullable Field field(String name) {
      return names.get(name);
    }

    private Message with(String name, int number, Kind kind) {
      return put(new Field(name, number, kind, false, null));
    }

    private Message with(String name, int number, Message message) {
      return put(new Field(name, number, Kind.MESSAGE, false, message));
    }

    private Message withMany(String name, int number, Message message) {
      return put(new Field(name, number, Kind.MESSAGE, true, message));
    }

    private Message withContainer(String name, int number, Message message) {
      return put(new Field(name, number, Kind.CONTAINER, false, message));
    }

    private Message put(Field field) {
      var name = field.name();
      numbers.put(field.number(), field);
      names.put(name, field);
      names.put(name.replaceAll("([A-Z])", "_$1").toLowerCase(Locale.ROOT), field);
      return this;
    }
  }

  /** One value, of whichever of its fields was set last. */
  public static final Message ANY_VALUE = new Message();

  public static final Message REQUEST = schema();

  private OtlpSchema() {}

  private static Message schema() {
    var any = ANY_VALUE;
    var keyValue = new Message().with("key", 1, Kind.TEXT).with("value", 2, any);
    any.with("stringValue", 1, Kind.TEXT)
        .with("boolValue", 2, Kind.BOOL)
        .with("intValue", 3, Kind.INT64)
        .with("doubleValue", 4, Kind.DOUBLE)
        .withContainer("arrayValue", 5, new Message().withMany("values", 1, any))
        .withContainer("kvlistValue", 6, new Message().withMany("values", 1, keyValue))
        .with("bytesValue", 7, Kind.BASE64);
    var record =
        new Message()
            .with("timeUnixNano", 1, Kind.FIXED64)
            .with("severityNumber", 2, Kind.ENUM)
            .with("severityText", 3, Kind.TEXT)
            .with("body", 5, any)
            .withMany("attributes", 6, keyValue)
            .with("droppedAttributesCount", 7, Kind.UINT32)
            .with("flags", 8, Kind.FIXED32)
            .with("traceId", 9, Kind.HEX)
            .with("spanId", 10, Kind.HEX)
            .with("observedTimeUnixNano", 11, Kind.FIXED64)
            .with("eventName", 12, Kind.TEXT);
    var scope =
        new Message()
            .with("name", 1, Kind.TEXT)
            .with("version", 2, Kind.TEXT)
            .withMany("attributes", 3, keyValue)
            .with("droppedAttributesCount", 4, Kind.UINT32);
    var scopeLogs =
        new Message()
            .with("scope", 1, scope)
            .withMany("logRecords", 2, record)
            .with("schemaUrl", 3, Kind.TEXT);
    var resource =
        new Message()
            .withMany("attributes", 1, keyValue)
            .with("droppedAttributesCount", 2, Kind.UINT32);
    var resourceLogs =
        new Message()
            .with("resource", 1, resource)
            .withMany("scopeLogs", 2, scopeLogs)
            .with("schemaUrl", 3, Kind.TEXT);
    return new Message().withMany("resourceLogs", 1, resourceLogs);
  }
}
