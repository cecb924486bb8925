package dev.sluice.proto;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.DescriptorProtos.DescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.Descriptors.DescriptorValidationException;
import com.google.protobuf.Descriptors.FileDescriptor;
import dev.sluice.proto.logs.IngestLogsRequest;
import dev.sluice.proto.logs.LogEntry;
import dev.sluice.proto.v1.IngestRequest;
import dev.sluice.proto.v1.LogRecord;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/**
 * Checks the {@code .proto} files against the released contract in {@code contract.txt}: a released
 * element must not change, and a new element must be added to that file with this command:
 *
 * <pre>mvn -pl gateway-proto test -Dsluice.contract.write=true</pre>
 */
class ProtoCompatibilityTest {
  private static final Path SOURCES = Path.of("src/main/protobuf");
  private static final Path RELEASED = Path.of("src/test/resources/dev/sluice/proto/contract.txt");
  private static final FileDescriptor LOGS = LogRecord.getDescriptor().getFile();
  private static final FileDescriptor SERVICE = IngestRequest.getDescriptor().getFile();
  private static final List<FileDescriptor> FILES =
      List.of(
          LOGS,
          SERVICE,
          LogEntry.getDescriptor().getFile(),
          IngestLogsRequest.getDescriptor().getFile());

  @Test
  void contract_releasedElements_areUnchanged() throws IOException {
    var now = WireContract.of(FILES);
    var released = WireContract.read(Files.readAllLines(RELEASED));

    assertThat(released.breakingChangesIn(now))
        .as(
            "released clients depend on these elements: restore them; a new element gets a number"
                + " and a name of its own; an obsolete field stays, or becomes"
                + " reserved in a new version of the package")
        .isEmpty();
    if (Boolean.getBoolean("sluice.contract.write")) {
      Files.write(RELEASED, now.lines());
      return;
    }
    assertThat(released.additionsIn(now))
        .as("not in the released contract yet: run with -Dsluice.contract.write=true")
        .isEmpty();
  }

  @Test
  void contract_everyFile_isCovered() throws IOException {
    try (var files = Files.walk(SOURCES)) {
      assertThat(FILES.stream().map(FileDescriptor::getFullName))
          .containsExactlyInAnyOrderElementsOf(
              files
                  .filter(file -> file.toString().endsWith(".proto"))
                  .map(file -> SOURCES.relativize(file).toString())
                  .toList());
    }
  }

  @Test
  void breakingChangesIn_fieldRemoved_isReported() {
    assertThat(breakingChanges(LOGS, file -> message(file, "LogRecord").removeField(0)))
        .containsExactly("sluice.v1.LogRecord field 001 is gone; it was fixed64 time_unix_nano");
  }

  @Test
  void breakingChangesIn_fieldRenumbered_isReported() {
    assertThat(breakingChanges(LOGS, file -> field(file, "LogRecord", "event_name").setNumber(20)))
        .containsExactly("sluice.v1.LogRecord field 012 is gone; it was string event_name");
  }

  @Test
  void breakingChangesIn_fieldRenamed_isReported() {
    assertThat(breakingChanges(LOGS, file -> field(file, "LogRecord", "host").setName("machine")))
        .containsExactly("sluice.v1.LogRecord field 017 is string machine; it was string host");
  }

  @Test
  void breakingChangesIn_otherType_isReported() {
    assertThat(
            breakingChanges(
                LOGS,
                file ->
                    field(file, "LogRecord", "flags")
                        .setType(FieldDescriptorProto.Type.TYPE_UINT32)))
        .containsExactly("sluice.v1.LogRecord field 008 is uint32 flags; it was fixed32 flags");
  }

  @Test
  void breakingChangesIn_otherLabel_isReported() {
    assertThat(
            breakingChanges(
                LOGS,
                file ->
                    field(file, "LogRecord", "host")
                        .setLabel(FieldDescriptorProto.Label.LABEL_REPEATED)))
        .containsExactly(
            "sluice.v1.LogRecord field 017 is repeated string host; it was string host");
  }

  @Test
  void breakingChangesIn_reservationRemoved_isReported() {
    assertThat(breakingChanges(LOGS, file -> message(file, "LogRecord").removeReservedRange(0)))
        .containsExactly("sluice.v1.LogRecord field 004 is gone; it was reserved");
  }

  @Test
  void breakingChangesIn_enumValueRenamed_isReported() {
    assertThat(
            breakingChanges(
                SERVICE, file -> file.getEnumTypeBuilder(0).getValueBuilder(2).setName("ACK_SAFE")))
        .containsExactly("sluice.v1.Ack value 002 is ACK_SAFE; it was ACK_DURABLE");
  }

  @Test
  void breakingChangesIn_rpcWithoutStream_isReported() {
    assertThat(
            breakingChanges(
                SERVICE,
                file -> file.getServiceBuilder(0).getMethodBuilder(1).setServerStreaming(false)))
        .containsExactly(
            "sluice.v1.LogService rpc IngestStream is (stream sluice.v1.IngestStreamRequest)"
                + " returns (sluice.v1.IngestStreamResponse); it was (stream"
                + " sluice.v1.IngestStreamRequest) returns (stream"
                + " sluice.v1.IngestStreamResponse)");
  }

  @Test
  void additionsIn_newField_isReportedAndBreaksNothing() {
    var added =
        FieldDescriptorProto.newBuilder()
            .setName("tenant")
            .setNumber(21)
            .setType(FieldDescriptorProto.Type.TYPE_STRING)
            .setLabel(FieldDescriptorProto.Label.LABEL_OPTIONAL);
    var later =
        WireContract.of(List.of(altered(LOGS, f -> message(f, "LogRecord").addField(added))));
    var before = WireContract.of(List.of(LOGS));

    assertThat(before.breakingChangesIn(later)).isEmpty();
    assertThat(before.additionsIn(later))
        .containsExactly("sluice.v1.LogRecord field 021: string tenant");
  }

  private static List<String> breakingChanges(
      FileDescriptor file, Consumer<FileDescriptorProto.Builder> by) {
    return WireContract.of(List.of(file))
        .breakingChangesIn(WireContract.of(List.of(altered(file, by))));
  }

  private static FileDescriptor altered(
      FileDescriptor file, Consumer<FileDescriptorProto.Builder> by) {
    var proto = file.toProto().toBuilder();
    by.accept(proto);
    try {
      return FileDescriptor.buildFrom(
          proto.build(), file.getDependencies().toArray(FileDescriptor[]::new));
    } catch (DescriptorValidationException e) {
      throw new AssertionError(e);
    }
  }

  private static DescriptorProto.Builder message(FileDescriptorProto.Builder file, String name) {
    return file.getMessageTypeBuilderList().stream()
        .filter(message -> message.getName().equals(name))
        .findFirst()
        .orElseThrow();
  }

  private static FieldDescriptorProto.Builder field(
      FileDescriptorProto.Builder file, String message, String name) {
    return message(file, message).getFieldBuilderList().stream()
        .filter(field -> field.getName().equals(name))
        .findFirst()
        .orElseThrow();
  }
}
