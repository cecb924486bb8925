package dev.sluice.core.otlp;

import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.logs.v1.LogRecord;
import io.opentelemetry.proto.logs.v1.ResourceLogs;
import io.opentelemetry.proto.logs.v1.ScopeLogs;
import java.util.List;

/** Builds small requests. */
final class OtlpRequests {
  private OtlpRequests() {}

  static ExportLogsServiceRequest of(LogRecord... records) {
    return ExportLogsServiceRequest.newBuilder()
        .addResourceLogs(
            ResourceLogs.newBuilder()
                .addScopeLogs(ScopeLogs.newBuilder().addAllLogRecords(List.of(records))))
        .build();
  }

  /** Returns a request with one record, which is passed in its encoded form. */
  static byte[] ofRecord(byte[] record) {
    var out = new ByteOutput(record.length + 32);
    var writer = new OtlpWriter(out);
    int resource = writer.beginMessage(OtlpFields.EXPORT_LOGS_SERVICE_REQUEST_RESOURCE_LOGS);
    int scope = writer.beginMessage(OtlpFields.RESOURCE_LOGS_SCOPE_LOGS);
    writer.writeBytes(OtlpFields.SCOPE_LOGS_LOG_RECORDS, record, 0, record.length);
    writer.endMessage(scope);
    writer.endMessage(resource);
    return out.toByteArray();
  }
}
