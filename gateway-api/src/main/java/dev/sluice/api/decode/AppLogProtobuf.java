package dev.sluice.api.decode;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.OtlpPayload;
import dev.sluice.core.otlp.MalformedOtlpException;
import dev.sluice.core.otlp.ProtobufInput;
import dev.sluice.core.otlp.Utf8;
import dev.sluice.proto.logs.LogLevel;
import java.util.List;

/**
 * Reads {@code logs.LogEntry} and {@code logs.LogEntryInput} on the wire level. A generated class
 * would keep every field that it does not know and every entry of a map, each as an object: two
 * bytes of a request would cost a hundred, in numbers that only the size of a request bounds.
 *
 * <p>As in any protobuf the last of equal fields counts, and a known field of another wire type is
 * an unknown one. For one request.
 */
final class AppLogProtobuf {
  private final ProtobufInput in = new ProtobufInput();
  private final AppLogRow row;

  private final Text id = new Text("id");
  private final Text appId = new Text("app_id");
  private final Text level = new Text("level");
  private final Text message = new Text("message");
  private final Text source = new Text("source");
  private final Text environment = new Text("environment");
  private final Text traceId = new Text("trace_id");
  private final Text userId = new Text("user_id");
  private final List<Text> texts =
      List.of(id, appId, level, message, source, environment, traceId, userId);
  private final Text key = new Text("metadata");
  private final Text value = new Text("metadata");

  AppLogProtobuf(byte[] body, Limits limits) {
    in.bytes = body;
    row = new AppLogRow(limits, body.length);
  }

  /** One {@code logs.LogEntry}. */
  OtlpPayload entry() throws MalformedOtlpException {
    entry(in.bytes.length);
    return row.payload();
  }

  /** A message whose field 1 is {@code logs.LogEntry}s. */
  OtlpPayload entries() throws MalformedOtlpException {
    return all(this::entry);
  }

  /** A message whose field 1 is {@code logs.LogEntryInput}s. */
  OtlpPayload inputs() throws MalformedOtlpException {
    return all(this::input);
  }

  private interface Log {
    void read(int end) throws MalformedOtlpException;
  }

  private OtlpPayload all(Log log) throws MalformedOtlpException {
    int end = in.bytes.length;
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag == (1 << 3 | ProtobufInput.BYTES)) {
        log.read(in.readContentEnd(end));
      } else {
        unknown(tag, end);
      }
    }
    return row.payload();
  }

  private void entry(int end) throws MalformedOtlpException {
    begin();
    long timestamp = 0;
    int number = 0; // proto3 leaves out what is zero: a level that is not there is DEBUG
    while (in.position < end) {
      int tag = in.readTag(end);
      switch (tag) {
        case 1 << 3 | ProtobufInput.BYTES -> id.read(end);
        case 2 << 3 | ProtobufInput.BYTES -> appId.read(end);
        case 3 << 3 | ProtobufInput.VARINT -> timestamp = in.readVarint(end);
        case 4 << 3 | ProtobufInput.VARINT -> number = (int) in.readVarint(end);
        case 5 << 3 | ProtobufInput.BYTES -> message.read(end);
        case 6 << 3 | ProtobufInput.BYTES -> source.read(end);
        case 7 << 3 | ProtobufInput.BYTES -> environment.read(end);
        case 8 << 3 | ProtobufInput.BYTES -> metadata(in.readContentEnd(end));
        case 9 << 3 | ProtobufInput.BYTES -> traceId.read(end);
        case 10 << 3 | ProtobufInput.BYTES -> userId.read(end);
        default -> unknown(tag, end);
      }
    }
    row.timestamp(timestamp);
    var named = LogLevel.forNumber(number);
    end(named == null ? Integer.toString(number) : named.name());
  }

  private void input(int end) throws MalformedOtlpException {
    begin();
    while (in.position < end) {
      int tag = in.readTag(end);
      switch (tag) {
        case 1 << 3 | ProtobufInput.BYTES -> appId.read(end);
        case 2 << 3 | ProtobufInput.BYTES -> level.read(end);
        case 3 << 3 | ProtobufInput.BYTES -> message.read(end);
        case 4 << 3 | ProtobufInput.BYTES -> source.read(end);
        case 5 << 3 | ProtobufInput.BYTES -> environment.read(end);
        case 6 << 3 | ProtobufInput.BYTES -> metadata(in.readContentEnd(end));
        case 7 << 3 | ProtobufInput.BYTES -> traceId.read(end);
        case 8 << 3 | ProtobufInput.BYTES -> userId.read(end);
        default -> unknown(tag, end);
      }
    }
    end(level.get());
  }

  private void begin() {
    row.begin();
    texts.forEach(Text::clear);
  }

  private void end(String level) {
    row.id = id.get();
    row.appId = appId.get();
    row.level = level;
    row.message = message.get();
    row.source = source.get();
    row.environment = environment.get();
    row.traceId = traceId.get();
    row.userId = userId.get();
    row.end();
  }

  private void unknown(int tag, int end) throws MalformedOtlpException {
    row.unknownField();
    in.skip(tag, end);
  }

  /** An entry of a map; a key or a value that is not there is empty. */
  private void metadata(int end) throws MalformedOtlpException {
    key.clear();
    value.clear();
    while (in.position < end) {
      int tag = in.readTag(end);
      switch (tag) {
        case 1 << 3 | ProtobufInput.BYTES -> key.read(end);
        case 2 << 3 | ProtobufInput.BYTES -> value.read(end);
        default -> unknown(tag, end);
      }
    }
    if (row.takesMetadata()) {
      row.metadata(key.get(), value.get());
    }
  }

  /** Where a text is: the last of several is the only one that is ever made. */
  private final class Text {
    private final String field;
    private int from;
    private int to;

    private Text(String field) {
      this.field = field;
    }

    private void clear() {
      from = 0;
      to = 0;
    }

    private void read(int end) throws MalformedOtlpException {
      to = in.readContentEnd(end);
      from = in.position;
      in.position = to;
      if (Utf8.firstInvalid(in.bytes, from, to) < to) {
        row.fault(field, "is not valid UTF-8");
      }
    }

    private String get() {
      return from == to ? "" : new String(in.bytes, from, to - from, UTF_8);
    }
  }
}
