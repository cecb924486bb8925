package dev.sluice.api.decode;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import dev.sluice.core.otlp.OtlpFields;
import dev.sluice.proto.logs.IngestLogsRequest;
import dev.sluice.proto.logs.LogEntry;
import dev.sluice.proto.v1.IngestRequest;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.logs.v1.LogRecord;
import io.opentelemetry.proto.resource.v1.Resource;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/**
 * Compares the constants of field numbers and tags with the protobuf descriptors. Those of
 * protocols are in package-private classes, which the test reads by name.
 */
class FieldNumbersTest {
  private static final String NATIVE_FIELDS = "dev.sluice.api.protocol.protobuf.NativeFields";
  private static final String LEGACY_FIELDS = "dev.sluice.api.protocol.legacy.LegacyFields";

  @Test
  void otlpFields_equalTheDescriptors() throws ReflectiveOperationException {
    assertMatch(
        OtlpFields.class,
        ExportLogsServiceRequest.getDescriptor(),
        LogRecord.getDescriptor(),
        Resource.getDescriptor(),
        AnyValue.getDescriptor());
  }

  @Test
  void nativeFields_equalTheDescriptors() throws ReflectiveOperationException {
    assertMatch(
        Class.forName(NATIVE_FIELDS),
        IngestRequest.getDescriptor(),
        dev.sluice.proto.v1.LogRecord.getDescriptor());
  }

  @Test
  void legacyFields_equalTheDescriptors() throws ReflectiveOperationException {
    assertMatch(
        Class.forName(LEGACY_FIELDS), IngestLogsRequest.getDescriptor(), LogEntry.getDescriptor());
  }

  /** The native decoder copies the bytes of these fields unchanged into OTLP. */
  @Test
  void copiedNativeFields_haveTheNumbersAndTypesOfOtlp() throws ReflectiveOperationException {
    var otlp = constants(OtlpFields.class);
    var natively = constants(Class.forName(NATIVE_FIELDS));
    var common = new TreeMap<>(natively);
    common.keySet().removeIf(name -> !name.startsWith("LOG_RECORD_") || !otlp.containsKey(name));

    assertThat(common).hasSize(22);
    assertThat(otlp).containsAllEntriesOf(common);
    assertThat(natively).containsEntry("SCOPE_NAME_TAG", OtlpFields.INSTRUMENTATION_SCOPE_NAME_TAG);
    assertThat(natively)
        .containsEntry("SCOPE_VERSION_TAG", OtlpFields.INSTRUMENTATION_SCOPE_VERSION_TAG);
    assertThat(natively)
        .containsEntry("SCOPE_ATTRIBUTES_TAG", OtlpFields.INSTRUMENTATION_SCOPE_ATTRIBUTES_TAG);
    assertThat(natively)
        .containsEntry("VALUE_LIST_VALUE_TAG", OtlpFields.ANY_VALUE_ARRAY_VALUE_TAG);
    assertThat(natively)
        .containsEntry("VALUE_MAP_VALUE_TAG", OtlpFields.ANY_VALUE_KVLIST_VALUE_TAG);
    assertThat(natively).containsEntry("LIST_VALUE_VALUES_TAG", OtlpFields.ARRAY_VALUE_VALUES_TAG);
    assertThat(natively)
        .containsEntry("MAP_VALUE_VALUES_TAG", OtlpFields.KEY_VALUE_LIST_VALUES_TAG);
    assertThat(natively).containsEntry("MAP_ENTRY_VALUE_TAG", OtlpFields.KEY_VALUE_VALUE_TAG);
  }

  /** The WAL's line codec reads and writes a resource and a scope with the same methods. */
  @Test
  void resourceAndScope_shareNumbers() {
    assertThat(OtlpFields.SCOPE_LOGS_SCOPE).isEqualTo(OtlpFields.RESOURCE_LOGS_RESOURCE);
    assertThat(OtlpFields.SCOPE_LOGS_SCHEMA_URL).isEqualTo(OtlpFields.RESOURCE_LOGS_SCHEMA_URL);
    assertThat(OtlpFields.RESOURCE_DROPPED_ATTRIBUTES_COUNT)
        .isEqualTo(OtlpFields.RESOURCE_ATTRIBUTES + 1);
    assertThat(OtlpFields.INSTRUMENTATION_SCOPE_DROPPED_ATTRIBUTES_COUNT)
        .isEqualTo(OtlpFields.INSTRUMENTATION_SCOPE_ATTRIBUTES + 1);
  }

  /**
   * Asserts that each constant is a field of one of the files in which the messages are defined.
   */
  private static void assertMatch(Class<?> fields, Descriptor... messages)
      throws ReflectiveOperationException {
    var expected = new HashMap<String, Integer>();
    for (var message : messages) {
      message.getFile().getMessageTypes().forEach(type -> addFields(type, expected));
    }

    assertThat(constants(fields)).isNotEmpty();
    assertThat(expected).containsAllEntriesOf(constants(fields));
  }

  private static void addFields(Descriptor type, Map<String, Integer> fields) {
    var prefix = type.getOptions().getMapEntry() ? "MAP_ENTRY" : upperSnakeCase(type.getName());
    for (var field : type.getFields()) {
      var name = prefix + "_" + field.getName().toUpperCase(Locale.ROOT);
      fields.put(name, field.getNumber());
      fields.put(name + "_TAG", field.getNumber() << 3 | wireType(field));
    }
    type.getNestedTypes().forEach(nested -> addFields(nested, fields));
  }

  private static int wireType(FieldDescriptor field) {
    return field.getLiteType().getWireType();
  }

  private static String upperSnakeCase(String name) {
    return name.replaceAll("([a-z])([A-Z])", "$1_$2").toUpperCase(Locale.ROOT);
  }

  private static Map<String, Integer> constants(Class<?> fields)
      throws ReflectiveOperationException {
    var constants = new TreeMap<String, Integer>();
    for (var field : fields.getDeclaredFields()) {
      if (field.getType() == int.class) {
        field.setAccessible(true);
        constants.put(field.getName(), field.getInt(null));
      }
    }
    return constants;
  }
}
