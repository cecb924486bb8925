package dev.sluice.bench.stages;

import java.io.ByteArrayOutputStream;
import java.time.Instant;
import java.util.HexFormat;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.exc.StreamReadException;
import tools.jackson.databind.json.JsonMapper;

/**
 * Converts the JSON of {@code POST /api/v1/logs} to rows, with the columns that the gateway fills,
 * except the template. It reads the fields that the benchmark sends and ignores others; it checks
 * no limits.
 *
 * <p>An {@code Id} is sixteen hexadecimal digits, which are the bytes of the column, and ascends
 * like the gateway's ids. It starts with the nanosecond of the start, so that a restarted server
 * has other ids.
 */
final class RowWriter {
  private static final HexFormat HEX = HexFormat.of();

  private final AtomicLong ids;
  private final LongSupplier nanos;

  RowWriter() {
    this(RowWriter::now);
  }

  /**
   * Creates a writer.
   *
   * @param nanos the clock, in nanoseconds since 1970
   */
  RowWriter(LongSupplier nanos) {
    this.nanos = nanos;
    ids = new AtomicLong(nanos.getAsLong());
  }

  private static long now() {
    var now = Instant.now();
    return now.getEpochSecond() * 1_000_000_000L + now.getNano();
  }

  /**
   * Converts one object, or an array of objects.
   *
   * @throws JacksonException when the JSON is neither
   */
  Rows rows(byte[] json) {
    var lines = new ByteArrayOutputStream(json.length * 2);
    int logs = 0;
    long received = nanos.getAsLong();
    try (var in = JsonMapper.shared().createParser(json)) {
      boolean array = in.nextToken() == JsonToken.START_ARRAY;
      if (array) {
        in.nextToken();
      }
      while (in.currentToken() == JsonToken.START_OBJECT) {
        try (var out = JsonMapper.shared().createGenerator(lines)) {
          row(in, out, received);
        }
        lines.write('\n');
        logs++;
        in.nextToken();
      }
      if (in.currentToken() != (array ? JsonToken.END_ARRAY : null)) {
        throw new StreamReadException(in, "neither a log nor an array of logs");
      }
    }
    return new Rows(lines.toByteArray(), logs);
  }

  private void row(JsonParser in, JsonGenerator out, long received) {
    var service = "";
    var host = "";
    out.writeStartObject();
    out.writeStringProperty("Id", HEX.toHexDigits(ids.getAndIncrement()));
    out.writeNumberProperty("ObservedTimestamp", received);
    out.writeNumberProperty("ReceivedTimestamp", received);
    while (in.nextToken() == JsonToken.PROPERTY_NAME) {
      var name = in.currentName();
      in.nextToken();
      switch (name) {
        case "timestamp" -> out.writeNumberProperty("Timestamp", in.getLongValue());
        case "severity" -> {
          out.writeStringProperty("SeverityText", in.getString());
          out.writeNumberProperty("SeverityNumber", number(in.getString()));
        }
        case "service" -> service = in.getString();
        case "host" -> host = in.getString();
        case "body" -> out.writeStringProperty("Body", in.getString());
        case "trace_id" -> out.writeStringProperty("TraceId", in.getString());
        case "span_id" -> out.writeStringProperty("SpanId", in.getString());
        case "attributes" -> {
          out.writeName("LogAttributes");
          out.copyCurrentStructure(in);
        }
        default -> in.skipChildren();
      }
    }
    out.writeStringProperty("ServiceName", service);
    out.writeObjectPropertyStart("ResourceAttributes");
    out.writeStringProperty("service.name", service);
    out.writeStringProperty("host.name", host);
    out.writeEndObject();
    out.writeEndObject();
  }

  private static int number(String severity) {
    return switch (severity) {
      case "TRACE" -> 1;
      case "DEBUG" -> 5;
      case "WARN" -> 13;
      case "ERROR" -> 17;
      case "FATAL" -> 21;
      default -> 9;
    };
  }
}
