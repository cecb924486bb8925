package dev.sluice.proto;

import com.google.protobuf.DescriptorProtos.DescriptorProto.ReservedRange;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.EnumDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.Descriptors.MethodDescriptor;
import com.google.protobuf.Descriptors.ServiceDescriptor;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * The elements of {@code .proto} files on which clients depend, one line each: the identity of an
 * element on the left, its definition on the right.
 */
record WireContract(Map<String, String> facts) {
  private static final String SEPARATOR = ": ";

  static WireContract of(List<FileDescriptor> files) {
    var contract = new WireContract(new TreeMap<>());
    for (var file : files) {
      file.getMessageTypes().forEach(contract::message);
      file.getEnumTypes().forEach(contract::enumType);
      file.getServices().forEach(contract::service);
    }
    return contract;
  }

  static WireContract read(List<String> lines) {
    var facts = new TreeMap<String, String>();
    for (var line : lines) {
      int separator = line.indexOf(SEPARATOR);
      facts.put(line.substring(0, separator), line.substring(separator + SEPARATOR.length()));
    }
    return new WireContract(facts);
  }

  List<String> lines() {
    return facts.entrySet().stream()
        .map(fact -> fact.getKey() + SEPARATOR + fact.getValue())
        .toList();
  }

  /** Returns the elements of this contract that are missing or different in {@code later}. */
  List<String> breakingChangesIn(WireContract later) {
    var breaking = new ArrayList<String>();
    facts.forEach(
        (key, before) -> {
          var after = later.facts.get(key);
          if (after == null) {
            breaking.add(key + " is gone; it was " + before);
          } else if (!after.equals(before)) {
            breaking.add(key + " is " + after + "; it was " + before);
          }
        });
    return breaking;
  }

  /** Returns the elements of {@code later} that this contract does not have. */
  List<String> additionsIn(WireContract later) {
    return later.lines().stream()
        .filter(line -> !facts.containsKey(line.substring(0, line.indexOf(SEPARATOR))))
        .toList();
  }

  private void message(Descriptor message) {
    if (message.getOptions().getMapEntry()) {
      return; // the map field describes its entry type
    }
    for (var field : message.getFields()) {
      facts.put(
          "%s field %03d".formatted(message.getFullName(), field.getNumber()), describe(field));
    }
    for (ReservedRange range : message.toProto().getReservedRangeList()) {
      for (int number = range.getStart(); number < range.getEnd(); number++) {
        facts.put("%s field %03d".formatted(message.getFullName(), number), "reserved");
      }
    }
    message.getNestedTypes().forEach(this::message);
    message.getEnumTypes().forEach(this::enumType);
  }

  private static String describe(FieldDescriptor field) {
    var oneof = field.getRealContainingOneof();
    var label =
        field.isMapField()
            ? ""
            : field.isRepeated()
                ? "repeated "
                : oneof != null
                    ? "oneof " + oneof.getName() + " "
                    : field.toProto().getProto3Optional() ? "optional " : "";
    return label + type(field) + " " + field.getName();
  }

  private static String type(FieldDescriptor field) {
    if (field.isMapField()) {
      var entry = field.getMessageType();
      return "map<%s, %s>"
          .formatted(type(entry.findFieldByNumber(1)), type(entry.findFieldByNumber(2)));
    }
    return switch (field.getJavaType()) {
      case MESSAGE -> field.getMessageType().getFullName();
      case ENUM -> field.getEnumType().getFullName();
      default -> field.getType().name().toLowerCase(Locale.ROOT);
    };
  }

  private void enumType(EnumDescriptor type) {
    for (var value : type.getValues()) {
      facts.put("%s value %03d".formatted(type.getFullName(), value.getNumber()), value.getName());
    }
  }

  private void service(ServiceDescriptor service) {
    for (var method : service.getMethods()) {
      facts.put(service.getFullName() + " rpc " + method.getName(), describe(method));
    }
  }

  private static String describe(MethodDescriptor method) {
    return "(%s%s) returns (%s%s)"
        .formatted(
            method.isClientStreaming() ? "stream " : "",
            method.getInputType().getFullName(),
            method.isServerStreaming() ? "stream " : "",
            method.getOutputType().getFullName());
  }
}
