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
final class LegacyLogProtobufDecoder {
  private final ProtobufInput in = new ProtobufInput();
  private final LegacyLogRow row;

  private final TextSlice id = new TextSlice("id");
  private final TextSlice appId = new TextSlice("app_id");
  private final TextSlice level = new TextSlice("level");
  private final TextSlice message = new TextSlice("message");
  private final TextSlice source = new TextSlice("source");
  private final TextSlice environment = new TextSlice("environment");
  private final TextSlice traceId = new TextSlice("trace_id");
  private final TextSlice userId = new TextSlice("user_id");
  private final List<TextSlice> texts =
      List.of(id, appId, level, message, source, environment, traceId, userId);
  private final TextSlice key = new TextSlice("metadata");
  private final TextSlice value = new TextSlice("metadata");

  LegacyLogProtobufDecoder(byte[] body, Limits limits) {
    in.bytes = body;
    row = new LegacyLogRow(limits, body.length);
  }

  /** One {@code logs.LogEntry}. */
  OtlpPayload readEntry() throws MalformedOtlpException {
    readEntry(in.bytes.length);
    return row.payload();
  }

  /** A message whose field 1 is {@code logs.LogEntry}s. */
  OtlpPayload readEntries() throws MalformedOtlpException {
    return readAll(this::readEntry);
  }

  /** A message whose field 1 is {@code logs.LogEntryInput}s. */
  OtlpPayload readInputs() throws MalformedOtlpException {
    return readAll(this::readInput);
  }

  private interface MessageReader {
    void read(int end) throws MalformedOtlpException;
  }

  private OtlpPayload readAll(MessageReader reader) throws MalformedOtlpException {
    int end = in.bytes.length;
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag == (1 << 3 | ProtobufInput.BYTES)) {
        reader.read(in.readContentEnd(end));
      } else {
        skipUnknownField(tag, end);
      }
    }
    return row.payload();
  }

  private void readEntry(int end) throws MalformedOtlpException {
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
        case 8 << 3 | ProtobufInput.BYTES -> readMetadata(in.readContentEnd(end));
        case 9 << 3 | ProtobufInput.BYTES -> traceId.read(end);
        case 10 << 3 | ProtobufInput.BYTES -> userId.read(end);
        default -> skipUnknownField(tag, end);
      }
    }
    row.writeTimestamp(timestamp);
    var named = LogLevel.forNumber(number);
    end(named == null ? Integer.toString(number) : named.name());
  }

  private void readInput(int end) throws MalformedOtlpException {
    begin();
    while (in.position < end) {
      int tag = in.readTag(end);
      switch (tag) {
        case 1 << 3 | ProtobufInput.BYTES -> appId.read(end);
        case 2 << 3 | ProtobufInput.BYTES -> level.read(end);
        case 3 << 3 | ProtobufInput.BYTES -> message.read(end);
        case 4 << 3 | ProtobufInput.BYTES -> source.read(end);
        case 5 << 3 | ProtobufInput.BYTES -> environment.read(end);
        case 6 << 3 | ProtobufInput.BYTES -> readMetadata(in.readContentEnd(end));
        case 7 << 3 | ProtobufInput.BYTES -> traceId.read(end);
        case 8 << 3 | ProtobufInput.BYTES -> userId.read(end);
        default -> skipUnknownField(tag, end);
      }
    }
    end(level.get());
  }

  private void begin() {
    row.begin();
    texts.forEach(TextSlice::clear);
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

  private void skipUnknownField(int tag, int end) throws MalformedOtlpException {
    row.countUnknownField();
    in.skip(tag, end);
  }

  /** An entry of a map; a key or a value that is not there is empty. */
  private void readMetadata(int end) throws MalformedOtlpException {
    key.clear();
    value.clear();
    while (in.position < end) {
      int tag = in.readTag(end);
      switch (tag) {
        case 1 << 3 | ProtobufInput.BYTES -> key.read(end);
        case 2 << 3 | ProtobufInput.BYTES -> value.read(end);
        default -> skipUnknownField(tag, end);
      }
    }
    if (row.countMetadataEntry()) {
      row.writeMetadata(key.get(), value.get());
    }
  }

  /** Where a text is: the last of several is the only one that is ever made. */
  private final class TextSlice {
    private final String field;
    private int from;
    private int to;

    private TextSlice(String field) {
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
        row.rejectRecord(field, "is not valid UTF-8");
      }
    }

    private String get() {
      return from == to ? "" : new String(in.bytes, from, to - from, UTF_8);
    }
  }
}
