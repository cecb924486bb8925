package dev.sluice.api.decode;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.Parser;
import com.google.protobuf.UnknownFieldSet;
import com.google.protobuf.WireFormat;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.OtlpPayload;
import dev.sluice.proto.logs.LogEntry;
import dev.sluice.proto.logs.LogEntryInput;
import dev.sluice.proto.logs.LogLevel;
import java.io.IOException;
import java.util.function.BiConsumer;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * Turns the logs of {@code /api/logs} and {@code logs.LogService}, in JSON and in protobuf, into
 * OTLP.
 *
 * <p>What is wrong with one log costs that log, also when it is a byte that is no UTF-8; only what
 * is no JSON or no protobuf at all costs the request. Protobuf is parsed by the generated classes,
 * log by log: their objects cost more than a walk would, and are simple.
 */
public final class AppLogs {
  private AppLogs() {}

  /** One JSON object, or an array of them. */
  public static OtlpPayload ofJson(byte[] body, Limits limits) {
    return JsonText.readRows(body, () -> new AppLogRow(limits, body.length), AppLogs::row)
        .payload();
  }

  /** One {@code logs.LogEntry}. */
  public static OtlpPayload ofProtobuf(byte[] body, Limits limits) {
    var row = new AppLogRow(limits, body.length);
    try {
      read(body, 0, body.length, LogEntry.parser(), LogEntry.getDescriptor(), row, AppLogs::entry);
    } catch (IOException _) {
      throw malformed(LogEntry.getDescriptor());
    }
    return row.payload();
  }

  /** A {@code logs.LogEntryBatch}. */
  public static OtlpPayload ofProtobufBatch(byte[] body, Limits limits) {
    return ofMany(body, limits, LogEntry.parser(), LogEntry.getDescriptor(), AppLogs::entry);
  }

  /** A {@code logs.IngestLogsRequest}. */
  public static OtlpPayload ofIngestLogsRequest(byte[] body, Limits limits) {
    return ofMany(
        body, limits, LogEntryInput.parser(), LogEntryInput.getDescriptor(), AppLogs::input);
  }

  private static void row(AppLogRow row, JsonParser p) {
    row.begin();
    if (p.currentToken() != JsonToken.START_OBJECT) {
      p.skipChildren();
      row.fault("", "is not an object");
      row.end();
      return;
    }
    String name;
    while ((name = p.nextName()) != null) {
      if (p.nextToken() != JsonToken.VALUE_NULL) {
        field(name, p, row);
      }
    }
    row.end();
  }

  private static void field(String name, JsonParser p, AppLogRow row) {
    switch (name) {
      case "id" -> row.id = text(name, p, row);
      case "app_id" -> row.appId = text(name, p, row);
      case "timestamp" -> row.timestamp(p);
      case "level" -> row.level = text(name, p, row);
      case "message" -> row.message = text(name, p, row);
      case "source" -> row.source = text(name, p, row);
      case "environment" -> row.environment = text(name, p, row);
      case "metadata" -> row.metadata(p);
      case "trace_id" -> row.traceId = text(name, p, row);
      case "user_id" -> row.userId = text(name, p, row);
      default -> {
        row.unknownField();
        p.skipChildren();
      }
    }
  }

  private static String text(String name, JsonParser p, AppLogRow row) {
    if (p.currentToken() == JsonToken.VALUE_STRING) {
      return p.getString();
    }
    p.skipChildren();
    row.fault(name, "must be text");
    return "";
  }

  private static void entry(AppLogRow row, LogEntry entry) {
    row.id = entry.getId();
    row.appId = entry.getAppId();
    row.timestamp(entry.getTimestamp());
    // proto3 leaves out what is zero: a level that is not there is DEBUG
    row.level =
        entry.getLevel() == LogLevel.UNRECOGNIZED
            ? Integer.toString(entry.getLevelValue())
            : entry.getLevel().name();
    row.message = entry.getMessage();
    row.source = entry.getSource();
    row.environment = entry.getEnvironment();
    row.metadata(entry.getMetadataMap());
    row.traceId = entry.getTraceId();
    row.userId = entry.getUserId();
  }

  private static void input(AppLogRow row, LogEntryInput input) {
    row.appId = input.getAppId();
    row.level = input.getLevel();
    row.message = input.getMessage();
    row.source = input.getSource();
    row.environment = input.getEnvironment();
    row.metadata(input.getMetadataMap());
    row.traceId = input.getTraceId();
    row.userId = input.getUserId();
  }

  /** Messages whose field 1 is the logs, cut up before any of them is parsed. */
  private static <T extends Message> OtlpPayload ofMany(
      byte[] body,
      Limits limits,
      Parser<T> parser,
      Descriptor type,
      BiConsumer<AppLogRow, T> fields) {
    var row = new AppLogRow(limits, body.length);
    var in = CodedInputStream.newInstance(body);
    try {
      int tag;
      while ((tag = in.readTag()) != 0) {
        if (tag == (1 << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED)) {
          int length = in.readRawVarint32();
          int from = in.getTotalBytesRead();
          in.skipRawBytes(length);
          read(body, from, length, parser, type, row, fields);
        } else if (!in.skipField(tag)) {
          throw malformed(type);
        }
      }
    } catch (IOException _) {
      throw malformed(type);
    }
    return row.payload();
  }

  private static <T extends Message> void read(
      byte[] body,
      int from,
      int length,
      Parser<T> parser,
      Descriptor type,
      AppLogRow row,
      BiConsumer<AppLogRow, T> fields)
      throws IOException {
    row.begin();
    try {
      fields.accept(row, parser.parseFrom(body, from, length));
    } catch (InvalidProtocolBufferException e) {
      var broken = UnknownFieldSet.parseFrom(ByteString.copyFrom(body, from, length));
      row.fault(notUtf8(broken, type, e), "is not valid UTF-8");
    }
    row.end();
  }

  /**
   * Parsers say that a text is no UTF-8, and not which.
   *
   * @throws InvalidProtocolBufferException the one given, when it was not for that
   */
  private static String notUtf8(
      UnknownFieldSet fields, Descriptor type, InvalidProtocolBufferException cause)
      throws InvalidProtocolBufferException {
    for (var field : fields.asMap().entrySet()) {
      var known = type.findFieldByNumber(field.getKey());
      if (known == null) {
        continue;
      }
      for (var content : field.getValue().getLengthDelimitedList()) {
        if (known.getType() == FieldDescriptor.Type.STRING && !content.isValidUtf8()) {
          return known.getName();
        }
        if (known.isMapField()) {
          for (var part : UnknownFieldSet.parseFrom(content).asMap().values()) {
            if (!part.getLengthDelimitedList().stream().allMatch(text -> text.isValidUtf8())) {
              return known.getName();
            }
          }
        }
      }
    }
    throw cause;
  }

  private static Undecodable malformed(Descriptor type) {
    return Undecodable.malformed("malformed protobuf: no " + type.getFullName() + " can be read");
  }
}
