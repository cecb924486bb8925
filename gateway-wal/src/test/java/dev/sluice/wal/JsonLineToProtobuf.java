package dev.sluice.wal;

import static java.util.Objects.requireNonNull;

import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import java.util.Base64;
import java.util.HexFormat;
import java.util.Map;
import tools.jackson.databind.JsonNode;

/** Parses OTLP JSON with protobuf descriptors: an implementation independent of the codec. */
final class JsonLineToProtobuf {
  private JsonLineToProtobuf() {}

  /** Parses a line as an {@code ExportLogsServiceRequest}; ignores other top-level members. */
  static ExportLogsServiceRequest of(JsonNode line) {
    var request = ExportLogsServiceRequest.newBuilder();
    fill(request, line, false);
    return request.build();
  }

  private static void fill(Message.Builder builder, JsonNode json, boolean failOnUnknown) {
    var fields = builder.getDescriptorForType().getFields();
    for (Map.Entry<String, JsonNode> member : json.properties()) {
      var field = fields.stream().filter(f -> f.getJsonName().equals(member.getKey())).findAny();
      if (field.isEmpty() && failOnUnknown) {
        throw new AssertionError("no field of OTLP: " + member.getKey());
      }
      field.ifPresent(f -> set(builder, f, member.getValue()));
    }
  }

  private static void set(Message.Builder builder, FieldDescriptor field, JsonNode json) {
    if (field.isRepeated()) {
      json.forEach(element -> builder.addRepeatedField(field, value(builder, field, element)));
    } else {
      builder.setField(field, value(builder, field, json));
    }
  }

  private static Object value(Message.Builder parent, FieldDescriptor field, JsonNode json) {
    return switch (field.getJavaType()) {
      case STRING -> json.stringValue();
      case BOOLEAN -> json.booleanValue();
      case INT -> (int) json.longValue();
      case LONG -> Long.parseLong(json.stringValue());
      case DOUBLE -> json.isString() ? Double.parseDouble(json.stringValue()) : json.doubleValue();
      case BYTE_STRING ->
          ByteString.copyFrom(
              field.getName().endsWith("_id")
                  ? HexFormat.of().parseHex(json.stringValue())
                  : Base64.getDecoder().decode(json.stringValue()));
      case ENUM -> requireNonNull(field.getEnumType().findValueByNumber(json.intValue()));
      case MESSAGE -> {
        var message = parent.newBuilderForField(field);
        fill(message, json, true);
        yield message.build();
      }
      case FLOAT -> throw new AssertionError(field.getName());
    };
  }
}
