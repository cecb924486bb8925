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
 * Decides with protobuf-java whether bytes are structurally valid. It uses the real descriptors
 * with two changes: strings are bytes, because invalid UTF-8 rejects a record and not the request,
 * and the entity references of a resource, which the walker does not parse, are bytes as well.
 */
final class StructureOracle {
  private static final Descriptor REQUEST = new StructureOracle(false).request();
  private static final Descriptor WITH_ENTITIES = new StructureOracle(true).request();

  private final boolean entities;

  private StructureOracle(boolean entities) {
    this.entities = entities;
  }

  static boolean parses(byte[] bytes) {
    return parses(REQUEST, bytes);
  }

  /** As {@link #parses}, with the entity references as messages. */
  static boolean parsesWithEntities(byte[] bytes) {
    return parses(WITH_ENTITIES, bytes);
  }

  private static boolean parses(Descriptor request, byte[] bytes) {
    try {
      var in = CodedInputStream.newInstance(bytes);
      in.setRecursionLimit(10_000);
      DynamicMessage.newBuilder(request).mergeFrom(in);
      in.checkLastTagWas(0);
      return true;
    } catch (IOException _) {
      return false;
    }
  }

  private Descriptor request() {
    return lenient(ExportLogsServiceRequest.getDescriptor());
  }

  private Descriptor lenient(Descriptor type) {
    return lenient(type.getFile()).findMessageTypeByName(type.getName());
  }

  private FileDescriptor lenient(FileDescriptor file) {
    var dependencies =
        file.getDependencies().stream().map(this::lenient).toArray(FileDescriptor[]::new);
    try {
      return FileDescriptor.buildFrom(lenient(file.toProto()), dependencies);
    } catch (DescriptorValidationException e) {
      throw new AssertionError(e);
    }
  }

  private FileDescriptorProto lenient(FileDescriptorProto file) {
    var lenient = file.toBuilder();
    lenient.getMessageTypeBuilderList().forEach(this::soften);
    return lenient.build();
  }

  private void soften(DescriptorProto.Builder message) {
    for (var field : message.getFieldBuilderList()) {
      if (field.getType() == Type.TYPE_STRING || isEntities(field)) {
        field.setType(Type.TYPE_BYTES).clearTypeName();
      }
    }
  }

  private boolean isEntities(FieldDescriptorProto.Builder field) {
    return !entities && field.getTypeName().endsWith(".EntityRef");
  }
}
