package dev.sluice.core.otlp;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The schema of an {@code ExportLogsServiceRequest}: for each message its fields with their {@link
 * OtlpFields numbers}, their names in JSON and their kinds. The conversions between OTLP in
 * protobuf and OTLP in JSON are driven by this one table. Safe for use by many threads.
 */
public final class OtlpSchema {

  /** The type of a field's value and its representation in JSON. */
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
    /** A message that nests values: {@code ArrayValue} or {@code KeyValueList}. */
    CONTAINER
  }

  /**
   * One field of a message.
   *
   * @param name the JSON name, in lowerCamelCase
   * @param number the field number in protobuf
   * @param message the schema of the field's message; null for a scalar field
   */
  public record Field(
      String name, int number, FieldKind kind, boolean repeated, @Nullable Message message) {}

  /** The fields of one message. */
  public static final class Message {
    private final Map<String, Field> names = new HashMap<>();
    private final Map<Integer, Field> numbers = new TreeMap<>();

    /** Returns the field with this number; null if it is unknown. */
    public @Nullable Field field(int number) {
      return numbers.get(number);
    }

    /** Returns the field with this name, lowerCamelCase or snake_case; null if it is unknown. */
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

  /** {@code AnyValue}, a oneof: the field that was set last is the value. */
  public static final Message ANY_VALUE = new Message();

  public static final Message REQUEST = schema();

  private OtlpSchema() {}

  private static Message schema() {
    var any = ANY_VALUE;
    var keyValue =
        new Message()
            .with("key", OtlpFields.KEY_VALUE_KEY, FieldKind.TEXT)
            .with("value", OtlpFields.KEY_VALUE_VALUE, any);
    var arrayValue = new Message().withMany("values", OtlpFields.ARRAY_VALUE_VALUES, any);
    var keyValueList = new Message().withMany("values", OtlpFields.KEY_VALUE_LIST_VALUES, keyValue);
    any.with("stringValue", OtlpFields.ANY_VALUE_STRING_VALUE, FieldKind.TEXT)
        .with("boolValue", OtlpFields.ANY_VALUE_BOOL_VALUE, FieldKind.BOOL)
        .with("intValue", OtlpFields.ANY_VALUE_INT_VALUE, FieldKind.INT64)
        .with("doubleValue", OtlpFields.ANY_VALUE_DOUBLE_VALUE, FieldKind.DOUBLE)
        .withContainer("arrayValue", OtlpFields.ANY_VALUE_ARRAY_VALUE, arrayValue)
        .withContainer("kvlistValue", OtlpFields.ANY_VALUE_KVLIST_VALUE, keyValueList)
        .with("bytesValue", OtlpFields.ANY_VALUE_BYTES_VALUE, FieldKind.BASE64);
    var record =
        new Message()
            .with("timeUnixNano", OtlpFields.LOG_RECORD_TIME_UNIX_NANO, FieldKind.FIXED64)
            .with("severityNumber", OtlpFields.LOG_RECORD_SEVERITY_NUMBER, FieldKind.ENUM)
            .with("severityText", OtlpFields.LOG_RECORD_SEVERITY_TEXT, FieldKind.TEXT)
            .with("body", OtlpFields.LOG_RECORD_BODY, any)
            .withMany("attributes", OtlpFields.LOG_RECORD_ATTRIBUTES, keyValue)
            .with(
                "droppedAttributesCount",
                OtlpFields.LOG_RECORD_DROPPED_ATTRIBUTES_COUNT,
                FieldKind.UINT32)
            .with("flags", OtlpFields.LOG_RECORD_FLAGS, FieldKind.FIXED32)
            .with("traceId", OtlpFields.LOG_RECORD_TRACE_ID, FieldKind.HEX)
            .with("spanId", OtlpFields.LOG_RECORD_SPAN_ID, FieldKind.HEX)
            .with(
                "observedTimeUnixNano",
                OtlpFields.LOG_RECORD_OBSERVED_TIME_UNIX_NANO,
                FieldKind.FIXED64)
            .with("eventName", OtlpFields.LOG_RECORD_EVENT_NAME, FieldKind.TEXT);
    var scope =
        new Message()
            .with("name", OtlpFields.INSTRUMENTATION_SCOPE_NAME, FieldKind.TEXT)
            .with("version", OtlpFields.INSTRUMENTATION_SCOPE_VERSION, FieldKind.TEXT)
            .withMany("attributes", OtlpFields.INSTRUMENTATION_SCOPE_ATTRIBUTES, keyValue)
            .with(
                "droppedAttributesCount",
                OtlpFields.INSTRUMENTATION_SCOPE_DROPPED_ATTRIBUTES_COUNT,
                FieldKind.UINT32);
    var scopeLogs =
        new Message()
            .with("scope", OtlpFields.SCOPE_LOGS_SCOPE, scope)
            .withMany("logRecords", OtlpFields.SCOPE_LOGS_LOG_RECORDS, record)
            .with("schemaUrl", OtlpFields.SCOPE_LOGS_SCHEMA_URL, FieldKind.TEXT);
    var resource =
        new Message()
            .withMany("attributes", OtlpFields.RESOURCE_ATTRIBUTES, keyValue)
            .with(
                "droppedAttributesCount",
                OtlpFields.RESOURCE_DROPPED_ATTRIBUTES_COUNT,
                FieldKind.UINT32);
    var resourceLogs =
        new Message()
            .with("resource", OtlpFields.RESOURCE_LOGS_RESOURCE, resource)
            .withMany("scopeLogs", OtlpFields.RESOURCE_LOGS_SCOPE_LOGS, scopeLogs)
            .with("schemaUrl", OtlpFields.RESOURCE_LOGS_SCHEMA_URL, FieldKind.TEXT);
    return new Message()
        .withMany(
            "resourceLogs", OtlpFields.EXPORT_LOGS_SERVICE_REQUEST_RESOURCE_LOGS, resourceLogs);
  }
}
