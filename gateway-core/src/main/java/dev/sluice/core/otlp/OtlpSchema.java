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
  public enum FieldKind {
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
      String name, int number, FieldKind kind, boolean repeated, @Nullable Message message) {}

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

    private Message with(String name, int number, FieldKind kind) {
      return put(new Field(name, number, kind, false, null));
    }

    private Message with(String name, int number, Message message) {
      return put(new Field(name, number, FieldKind.MESSAGE, false, message));
    }

    private Message withMany(String name, int number, Message message) {
      return put(new Field(name, number, FieldKind.MESSAGE, true, message));
    }

    private Message withContainer(String name, int number, Message message) {
      return put(new Field(name, number, FieldKind.CONTAINER, false, message));
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
    var keyValue = new Message().with("key", 1, FieldKind.TEXT).with("value", 2, any);
    any.with("stringValue", 1, FieldKind.TEXT)
        .with("boolValue", 2, FieldKind.BOOL)
        .with("intValue", 3, FieldKind.INT64)
        .with("doubleValue", 4, FieldKind.DOUBLE)
        .withContainer("arrayValue", 5, new Message().withMany("values", 1, any))
        .withContainer("kvlistValue", 6, new Message().withMany("values", 1, keyValue))
        .with("bytesValue", 7, FieldKind.BASE64);
    var record =
        new Message()
            .with("timeUnixNano", 1, FieldKind.FIXED64)
            .with("severityNumber", 2, FieldKind.ENUM)
            .with("severityText", 3, FieldKind.TEXT)
            .with("body", 5, any)
            .withMany("attributes", 6, keyValue)
            .with("droppedAttributesCount", 7, FieldKind.UINT32)
            .with("flags", 8, FieldKind.FIXED32)
            .with("traceId", 9, FieldKind.HEX)
            .with("spanId", 10, FieldKind.HEX)
            .with("observedTimeUnixNano", 11, FieldKind.FIXED64)
            .with("eventName", 12, FieldKind.TEXT);
    var scope =
        new Message()
            .with("name", 1, FieldKind.TEXT)
            .with("version", 2, FieldKind.TEXT)
            .withMany("attributes", 3, keyValue)
            .with("droppedAttributesCount", 4, FieldKind.UINT32);
    var scopeLogs =
        new Message()
            .with("scope", 1, scope)
            .withMany("logRecords", 2, record)
            .with("schemaUrl", 3, FieldKind.TEXT);
    var resource =
        new Message()
            .withMany("attributes", 1, keyValue)
            .with("droppedAttributesCount", 2, FieldKind.UINT32);
    var resourceLogs =
        new Message()
            .with("resource", 1, resource)
            .withMany("scopeLogs", 2, scopeLogs)
            .with("schemaUrl", 3, FieldKind.TEXT);
    return new Message().withMany("resourceLogs", 1, resourceLogs);
  }
}
