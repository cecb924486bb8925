package dev.sluice.clickhouse;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.sluice.clickhouse.Column.PlainColumn;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.otlp.ByteOutput;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.common.v1.InstrumentationScope;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.logs.v1.LogRecord;
import java.io.IOException;
import java.io.OutputStream;
import java.util.HexFormat;
import java.util.List;

/**
 * A builder of the same bytes as {@link LogBlockBuilder}, from protobuf-java messages of the OTLP.
 * It supports only the logs of {@code SampleLogs}: all values are texts, and each log has a time.
 */
final class ObjectColumnsBaseline {
  private final NativeBlock block = new NativeBlock();
  private final ByteOutput scratch = new ByteOutput(1 << 10);

  private final PlainColumn timestamp = block.addPlain("Timestamp", "DateTime64(9)");
  private final PlainColumn traceId = block.addPlain("TraceId", "String");
  private final PlainColumn spanId = block.addPlain("SpanId", "String");
  private final PlainColumn traceFlags = block.addPlain("TraceFlags", "UInt8");
  private final LowCardinalityColumn severityText = block.addLowCardinality("SeverityText");
  private final PlainColumn severityNumber = block.addPlain("SeverityNumber", "UInt8");
  private final LowCardinalityColumn serviceName = block.addLowCardinality("ServiceName");
  private final PlainColumn body = block.addPlain("Body", "String");
  private final LowCardinalityColumn resourceSchemaUrl =
      block.addLowCardinality("ResourceSchemaUrl");
  private final ObjectMapColumn resourceAttributes = mapColumn("ResourceAttributes");
  private final LowCardinalityColumn scopeSchemaUrl = block.addLowCardinality("ScopeSchemaUrl");
  private final PlainColumn scopeName = block.addPlain("ScopeName", "String");
  private final LowCardinalityColumn scopeVersion = block.addLowCardinality("ScopeVersion");
  private final ObjectMapColumn scopeAttributes = mapColumn("ScopeAttributes");
  private final ObjectMapColumn logAttributes = mapColumn("LogAttributes");
  private final PlainColumn eventName = block.addPlain("EventName", "String");
  private final PlainColumn id = block.addPlain("Id", "FixedString(16)");
  private final LowCardinalityColumn tenant = block.addLowCardinality("Tenant");
  private final PlainColumn templateId = block.addPlain("TemplateId", "UUID");
  private final PlainColumn observedTimestamp =
      block.addPlain("ObservedTimestamp", "DateTime64(9)");
  private final PlainColumn receivedTimestamp =
      block.addPlain("ReceivedTimestamp", "DateTime64(9)");
  private final PlainColumn flags = block.addPlain("Flags", "UInt32");
  private final PlainColumn droppedAttributes = block.addPlain("DroppedAttributesCount", "UInt32");
  private final PlainColumn resourceId = block.addPlain("ResourceId", "UUID");

  private ObjectMapColumn mapColumn(String name) {
    return block.addColumn(name, "Map(LowCardinality(String), String)", new ObjectMapColumn());
  }

  void fill(List<LogBatch> batches) throws InvalidProtocolBufferException {
    block.clear();
    for (var batch : batches) {
      fill(batch, ExportLogsServiceRequest.parseFrom(batch.otlp()));
    }
  }

  private void fill(LogBatch batch, ExportLogsServiceRequest request) {
    int tenantNumber = number(batch.tenant(), tenant);
    int n = 0;
    for (var resourceLogs : request.getResourceLogsList()) {
      var attributes = resourceLogs.getResource().getAttributesList();
      int service = number(service(attributes), serviceName);
      int resourceSchema = number(resourceLogs.getSchemaUrl(), resourceSchemaUrl);
      for (var scopeLogs : resourceLogs.getScopeLogsList()) {
        int scopeSchema = number(scopeLogs.getSchemaUrl(), scopeSchemaUrl);
        for (var log : scopeLogs.getLogRecordsList()) {
          var identity = batch.firstId().plus(n++);
          serviceName.add(service);
          resourceSchemaUrl.add(resourceSchema);
          resourceAttributes.add(attributes);
          scopeSchemaUrl.add(scopeSchema);
          scope(scopeLogs.getScope());
          tenant.add(tenantNumber);
          receivedTimestamp.values.writeLong(batch.receivedNanos());
          record(log, identity);
          block.endRow();
        }
      }
    }
  }

  private static String service(List<KeyValue> attributes) {
    for (var attribute : attributes) {
      if (attribute.getKey().equals("service.name")) {
        return attribute.getValue().getStringValue();
      }
    }
    return "";
  }

  private void scope(InstrumentationScope scope) {
    text(scope.getName(), scopeName.values);
    scopeVersion.add(number(scope.getVersion(), scopeVersion));
    scopeAttributes.add(scope.getAttributesList());
  }

  private void record(LogRecord log, LogId identity) {
    timestamp.values.writeLong(log.getTimeUnixNano());
    observedTimestamp.values.writeLong(log.getObservedTimeUnixNano());
    hex(log.getTraceId(), traceId.values);
    hex(log.getSpanId(), spanId.values);
    traceFlags.values.writeByte(log.getFlags());
    flags.values.writeInt(log.getFlags());
    severityText.add(number(log.getSeverityText(), severityText));
    severityNumber.values.writeByte(log.getSeverityNumberValue());
    text(log.getBody().getStringValue(), body.values);
    logAttributes.add(log.getAttributesList());
    text(log.getEventName(), eventName.values);
    id.values.writeLongBigEndian(identity.high());
    id.values.writeLongBigEndian(identity.low());
    droppedAttributes.values.writeInt(log.getDroppedAttributesCount());
    templateId.values.writeLong(0);
    templateId.values.writeLong(0);
    resourceId.values.writeLong(0);
    resourceId.values.writeLong(0);
  }

  private void hex(ByteString bytes, ByteOutput into) {
    text(HexFormat.of().formatHex(bytes.toByteArray()), into);
  }

  private void text(String text, ByteOutput into) {
    scratch.clear();
    scratch.writeUtf8(text);
    into.writeVarint(scratch.size());
    into.write(scratch.array(), 0, scratch.size());
  }

  private int number(String text, LowCardinalityColumn column) {
    scratch.clear();
    scratch.writeUtf8(text);
    return column.intern(scratch.array(), 0, scratch.size());
  }

  void writeTo(OutputStream out) throws IOException {
    block.writeTo(out);
  }

  /** A {@link MapColumn} that is filled from messages. */
  private final class ObjectMapColumn implements Column {
    private final ByteOutput ends = new ByteOutput(1 << 12);
    private final LowCardinalityColumn keys = new LowCardinalityColumn();
    private final ByteOutput values = new ByteOutput(1 << 12);

    void add(List<KeyValue> attributes) {
      for (var attribute : attributes) {
        keys.add(number(attribute.getKey(), keys));
        text(attribute.getValue().getStringValue(), values);
      }
      ends.writeLong(keys.size());
    }

    @Override
    public void clear() {
      ends.clear();
      keys.clear();
      values.clear();
    }

    @Override
    public long bytes() {
      return ends.size() + keys.bytes() + values.size();
    }

    @Override
    public long capacity() {
      return ends.array().length + keys.capacity() + values.array().length;
    }

    @Override
    public void writePrefix(OutputStream out) throws IOException {
      keys.writePrefix(out);
    }

    @Override
    public void writeValues(OutputStream out) throws IOException {
      out.write(ends.array(), 0, ends.size());
      keys.writeValues(out);
      out.write(values.array(), 0, values.size());
    }
  }
}
