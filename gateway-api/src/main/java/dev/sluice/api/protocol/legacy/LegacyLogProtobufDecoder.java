package dev.sluice.api.protocol.legacy;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.OtlpPayload;
import dev.sluice.core.otlp.MalformedOtlpException;
import dev.sluice.core.otlp.ProtobufInput;
import dev.sluice.core.otlp.Utf8;
import dev.sluice.proto.logs.LogLevel;
import java.util.List;

/**
 * Decodes {@code logs.LogEntry} and {@code logs.LogEntryInput} at the wire level. A generated class
 * would keep every unknown field and every map entry as an object: two bytes of a request could
 * become a hundred bytes of heap, bounded only by the size of the request.
 *
 * <p>As in any protobuf parser the last occurrence of a field wins, and a known field with an
 * unexpected wire type counts as unknown. For one request.
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

  /** Decodes one {@code logs.LogEntry}. */
  OtlpPayload readEntry() throws MalformedOtlpException {
    readEntry(in.bytes.length);
    return row.payload();
  }

  /** Decodes a {@code logs.LogEntryBatch}. */
  OtlpPayload readEntries() throws MalformedOtlpException {
    return readAll(LegacyFields.LOG_ENTRY_BATCH_ENTRIES_TAG, this::readEntry);
  }

  /** Decodes a {@code logs.IngestLogsRequest}. */
  OtlpPayload readInputs() throws MalformedOtlpException {
    return readAll(LegacyFields.INGEST_LOGS_REQUEST_LOGS_TAG, this::readInput);
  }

  private interface MessageReader {
    void read(int end) throws MalformedOtlpException;
  }

  private OtlpPayload readAll(int recordsTag, MessageReader reader) throws MalformedOtlpException {
    int end = in.bytes.length;
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag == recordsTag) {
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
    int number = 0; // proto3 omits zero: a missing level is DEBUG
    while (in.position < end) {
      int tag = in.readTag(end);
      switch (tag) {
        case LegacyFields.LOG_ENTRY_ID_TAG -> id.read(end);
        case LegacyFields.LOG_ENTRY_APP_ID_TAG -> appId.read(end);
        case LegacyFields.LOG_ENTRY_TIMESTAMP_TAG -> timestamp = in.readVarint(end);
        case LegacyFields.LOG_ENTRY_LEVEL_TAG -> number = (int) in.readVarint(end);
        case LegacyFields.LOG_ENTRY_MESSAGE_TAG -> message.read(end);
        case LegacyFields.LOG_ENTRY_SOURCE_TAG -> source.read(end);
        case LegacyFields.LOG_ENTRY_ENVIRONMENT_TAG -> environment.read(end);
        case LegacyFields.LOG_ENTRY_METADATA_TAG -> readMetadata(in.readContentEnd(end));
        case LegacyFields.LOG_ENTRY_TRACE_ID_TAG -> traceId.read(end);
        case LegacyFields.LOG_ENTRY_USER_ID_TAG -> userId.read(end);
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
        case LegacyFields.LOG_ENTRY_INPUT_APP_ID_TAG -> appId.read(end);
        case LegacyFields.LOG_ENTRY_INPUT_LEVEL_TAG -> level.read(end);
        case LegacyFields.LOG_ENTRY_INPUT_MESSAGE_TAG -> message.read(end);
        case LegacyFields.LOG_ENTRY_INPUT_SOURCE_TAG -> source.read(end);
        case LegacyFields.LOG_ENTRY_INPUT_ENVIRONMENT_TAG -> environment.read(end);
        case LegacyFields.LOG_ENTRY_INPUT_METADATA_TAG -> readMetadata(in.readContentEnd(end));
        case LegacyFields.LOG_ENTRY_INPUT_TRACE_ID_TAG -> traceId.read(end);
        case LegacyFields.LOG_ENTRY_INPUT_USER_ID_TAG -> userId.read(end);
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

  /** Reads one entry of the metadata map; a missing key or value is empty. */
  private void readMetadata(int end) throws MalformedOtlpException {
    key.clear();
    value.clear();
    while (in.position < end) {
      int tag = in.readTag(end);
      switch (tag) {
        case LegacyFields.MAP_ENTRY_KEY_TAG -> key.read(end);
        case LegacyFields.MAP_ENTRY_VALUE_TAG -> value.read(end);
        default -> skipUnknownField(tag, end);
      }
    }
    if (row.countMetadataEntry()) {
      row.writeMetadata(key.get(), value.get());
    }
  }

  /**
   * The range of a text field's last occurrence. Only that occurrence becomes a string, when it is
   * read by {@link #get}.
   */
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
