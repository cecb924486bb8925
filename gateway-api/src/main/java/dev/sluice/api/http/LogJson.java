package dev.sluice.api.http;

import dev.sluice.api.decode.Timestamps;
import dev.sluice.query.port.LogReader.StoredLog;
import java.util.Map;
import tools.jackson.core.JsonGenerator;

/** The JSON format of a stored log, in pages and exports. */
final class LogJson {
  private LogJson() {}

  static void write(StoredLog log, JsonGenerator json) {
    json.writeStartObject();
    json.writeStringProperty("id", log.id().toHex());
    json.writeStringProperty("timestamp", Timestamps.format(log.timeNanos()));
    json.writeStringProperty("observed_timestamp", Timestamps.format(log.observedNanos()));
    json.writeStringProperty("received_timestamp", Timestamps.format(log.receivedNanos()));
    json.writeNumberProperty("severity_number", log.severityNumber());
    json.writeStringProperty("severity_text", log.severityText());
    json.writeStringProperty("service", log.service());
    json.writeStringProperty("body", log.body());
    json.writeStringProperty("trace_id", log.traceId());
    json.writeStringProperty("span_id", log.spanId());
    json.writeNumberProperty("flags", log.flags());
    json.writeStringProperty("event_name", log.eventName());
    writeMap("attributes", log.attributes(), json);
    json.writeNumberProperty("dropped_attributes_count", log.droppedAttributes());
    writeMap("resource", log.resource(), json);
    json.writeStringProperty("resource_schema_url", log.resourceSchemaUrl());
    json.writeObjectPropertyStart("scope");
    json.writeStringProperty("name", log.scopeName());
    json.writeStringProperty("version", log.scopeVersion());
    writeMap("attributes", log.scope(), json);
    json.writeStringProperty("schema_url", log.scopeSchemaUrl());
    json.writeEndObject();
    if (log.templateId() != null) {
      json.writeStringProperty("template_id", log.templateId().toString());
    }
    if (log.resourceId() != null) {
      json.writeStringProperty("resource_id", log.resourceId().toString());
    }
    json.writeEndObject();
  }

  private static void writeMap(String name, Map<String, String> map, JsonGenerator json) {
    json.writeObjectPropertyStart(name);
    map.forEach(json::writeStringProperty);
    json.writeEndObject();
  }
}
