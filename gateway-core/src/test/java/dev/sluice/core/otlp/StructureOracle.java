package dev.sluice.core.otlp;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.DescriptorProtos.DescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto.Type;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.DescriptorValidationException;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import java.io.IOException;

/**
 * Protobuf-java's opinion of the structure alone: the real descriptors, but texts are bytes (ours
 * costs a record, not the request) and the one message that the walker does not open, a resource's
 * entity references, is bytes as well.
 */
final class StructureOracle {
  private static final Descriptor REQUEST = lenient(ExportLogsServiceRequest.getDescriptor());

  private StructureOracle() {}

  static boolean parses(byte[] bytes) {
    try {
      var in = CodedInputStream.newInstance(bytes);
      in.setRecursionLimit(10_000);
      DynamicMessage.newBuilder(REQUEST).mergeFrom(in);
      in.checkLastTagWas(0);
      return true;
    } catch (IOException _) {
      return false;
    }
  }

  private static Descriptor lenient(Descriptor type) {
    return lenient(type.getFile()).findMessageTypeByName(type.getName());
  }

  private static FileDescriptor lenient(FileDescriptor file) {
    var dependencies =
        file.getDependencies().stream()
            .map(StructureOracle::lenient)
            .toArray(FileDescriptor[]::new);
    try {
      return FileDescriptor.buildFrom(lenient(file.toProto()), dependencies);
    } catch (DescriptorValidationException e) {
      throw new AssertionError(e);
    }
  }

  private static FileDescriptorProto lenient(FileDescriptorProto file) {
    var lenient = file.toBuilder();
    lenient.getMessageTypeBuilderList().forEach(StructureOracle::soften);
    return lenient.build();
  }

  private static void soften(DescriptorProto.Builder message) {
    for (var field : message.getFieldBuilderList()) {
      if (field.getType() == Type.TYPE_STRING || isEntities(field)) {
        field.setType(Type.TYPE_BYTES).clearTypeName();
      }
    }
  }

  private static boolean isEntities(FieldDescriptorProto.Builder field) {
    return field.getTypeName().endsWith(".EntityRef");
  }
}
