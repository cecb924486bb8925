package dev.sluice.wal;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.OtlpFields;
import dev.sluice.core.otlp.OtlpWriter;
import dev.sluice.core.otlp.Utf8;
import dev.sluice.core.port.IdempotencyStore;
import java.util.Arrays;
import java.util.Base64;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Reads the lines of {@link OtlpJsonLineWriter} as OTLP in protobuf. Accepts exactly the members
 * that the writer writes, in its order and without white space; any other text makes the frame
 * corrupt.
 *
 * <p>A resource or scope with the same bytes as in the previous line is not parsed again, and its
 * records stay in one message, so that the OTLP does not grow.
 *
 * <p>The methods access the byte at {@code position} without a bounds check: the last byte is a
 * line feed, and only {@link JsonTokens#LINE_END} consumes a line feed.
 */
final class OtlpJsonLineReader {
  private static final int UUID_DIGITS = 36;
  private static final int MAX_NUMBER_LENGTH = 32;
  private static final byte[] BACKSLASH = {'\\', 'u'};

  private final byte[] bytes;
  private final int end;
  private final ByteOutput otlp;
  private final OtlpWriter out;
  private int position;
  private int line = 1;

  // the header of the first line
  private String tenant = "";
  private long received;
  private LogId first = new LogId(0, 0);
  private int records;

  // the open resource and scope: the range of their bytes, and the marks that end their messages
  private int resourceFrom;
  private int resourceTo;
  private int resourceMark;
  private int scopeFrom;
  private int scopeTo;
  private int scopeMark;

  private long firstNanos = Long.MAX_VALUE;
  private long lastNanos = Long.MIN_VALUE;

  /**
   * @throws UnreadableFrameException when the payload is not UTF-8 text of complete lines
   */
  OtlpJsonLineReader(byte[] payload) throws UnreadableFrameException {
    bytes = payload;
    end = payload.length;
    otlp = new ByteOutput(end / 2);
    out = new OtlpWriter(otlp);
    if (end == 0 || bytes[end - 1] != '\n' || !Utf8.isValid(bytes, 0, end)) {
      throw UnreadableFrameException.corrupt("payload is not UTF-8 text of complete lines");
    }
  }

  /** Returns the earliest time of the records that were read; see {@link Frame}. */
  long firstNanos() {
    return firstNanos;
  }

  /** Returns the latest time of the records that were read; see {@link Frame}. */
  long lastNanos() {
    return lastNanos;
  }

  /** Reads all lines. Can be called only once. */
  WalEntry read() throws UnreadableFrameException {
    var header = readHeader();
    int headerEnd = position;
    readLog(0);
    while (position < end) {
      if (!matches(0, headerEnd)) {
        throw corrupt("the header of the first line");
      }
      position += headerEnd;
      readLog(line++);
    }
    if (line != records) {
      throw UnreadableFrameException.corrupt("%d lines, expected %d".formatted(line, records));
    }
    closeResource();
    var batch = header.batch();
    return new WalEntry(
        new LogBatch(
            batch.appendId(),
            batch.tenant(),
            batch.receivedNanos(),
            batch.firstId(),
            batch.records(),
            batch.expandedBytes(),
            otlp.toByteArray()),
        header.possibleDuplicate(),
        header.key());
  }

  /** Reads the header of the first line. The returned batch has no records. */
  WalEntry readHeader() throws UnreadableFrameException {
    expect(JsonTokens.VERSION_PREFIX);
    int version = readInteger();
    if (version > JsonTokens.VERSION) {
      throw UnreadableFrameException.unsupportedVersion(version);
    }
    if (version < JsonTokens.VERSION) {
      throw corrupt("version " + JsonTokens.VERSION);
    }
    expectMember(JsonTokens.APPEND);
    var append = readUuid();
    expectMember(JsonTokens.TENANT);
    tenant = readString();
    expectMember(JsonTokens.RECEIVED);
    received = readQuotedInteger();
    expectMember(JsonTokens.FIRST);
    expect('"');
    first = readId();
    expect('"');
    expectMember(JsonTokens.RECORDS);
    records = readInteger();
    expectMember(JsonTokens.BYTES);
    int expandedBytes = readInteger();
    if (records < 1) {
      throw corrupt("a positive number of records");
    }
    boolean possibleDuplicate = acceptMember(JsonTokens.POSSIBLE_DUPLICATE);
    if (possibleDuplicate) {
      expect(JsonTokens.TRUE);
    }
    var key = readKey();
    expectMember(JsonTokens.ID);
    expect('"');
    return new WalEntry(
        new LogBatch(append, tenant, received, first, records, expandedBytes, new byte[0]),
        possibleDuplicate,
        key);
  }

  private IdempotencyStore.@Nullable IdempotencyKey readKey() throws UnreadableFrameException {
    if (!acceptMember(JsonTokens.KEY)) {
      return null;
    }
    var key = readString();
    expectMember(JsonTokens.REQUEST);
    return new IdempotencyStore.IdempotencyKey(tenant, key, readUuid());
  }

  /** Reads a record, from its log id to the end of its line. */
  private void readLog(int index) throws UnreadableFrameException {
    if (index >= records || !readId().equals(first.plus(index))) {
      throw corrupt("the next log id");
    }
    expect('"');
    expect(',');
    readResourceLogs();
    readRecord();
    expect(JsonTokens.LINE_END);
  }

  private void readResourceLogs() throws UnreadableFrameException {
    if (resourceTo > 0 && matches(resourceFrom, resourceTo)) {
      position += resourceTo - resourceFrom;
    } else {
      closeResource();
      resourceFrom = position;
      expect(JsonTokens.RESOURCE_LOGS);
      resourceMark = out.beginMessage(OtlpFields.EXPORT_LOGS_SERVICE_REQUEST_RESOURCE_LOGS);
      readResourceOrScope(JsonTokens.RESOURCE, OtlpFields.RESOURCE_ATTRIBUTES);
      expectMember(JsonTokens.SCOPE_LOGS);
      resourceTo = position;
    }
    if (scopeTo > 0 && matches(scopeFrom, scopeTo)) {
      position += scopeTo - scopeFrom;
    } else {
      closeScope();
      scopeFrom = position;
      scopeMark = out.beginMessage(OtlpFields.RESOURCE_LOGS_SCOPE_LOGS);
      readResourceOrScope(JsonTokens.SCOPE, OtlpFields.INSTRUMENTATION_SCOPE_ATTRIBUTES);
      expectMember(JsonTokens.LOG_RECORDS);
      scopeTo = position;
    }
  }

  private void closeResource() {
    closeScope();
    if (resourceTo > 0) {
      out.endMessage(resourceMark);
      resourceTo = 0;
    }
  }

  private void closeScope() {
    if (scopeTo > 0) {
      out.endMessage(scopeMark);
      scopeTo = 0;
    }
  }

  /**
   * Reads a resource or a scope, and its schema URL.
   *
   * @param attributes the field number of the attributes, which distinguishes a resource from a
   *     scope; the next number is that of the dropped attributes count
   */
  private void readResourceOrScope(byte[] token, int attributes) throws UnreadableFrameException {
    if (acceptMember(token)) {
      expect('{');
      int mark = out.beginMessage(OtlpFields.RESOURCE_LOGS_RESOURCE); // SCOPE_LOGS_SCOPE is equal
      if (attributes == OtlpFields.INSTRUMENTATION_SCOPE_ATTRIBUTES) {
        readText(JsonTokens.NAME, OtlpFields.INSTRUMENTATION_SCOPE_NAME);
        readText(JsonTokens.SCOPE_VERSION, OtlpFields.INSTRUMENTATION_SCOPE_VERSION);
      }
      readPairs(JsonTokens.ATTRIBUTES, attributes, 0);
      if (acceptMember(JsonTokens.DROPPED_ATTRIBUTES)) {
        out.writeVarint(attributes + 1, readUnsigned());
      }
      expect('}');
      out.endMessage(mark);
    }
    readText(JsonTokens.SCHEMA_URL, OtlpFields.RESOURCE_LOGS_SCHEMA_URL); // as in ScopeLogs
  }

  private void readRecord() throws UnreadableFrameException {
    expect('{');
    int mark = out.beginMessage(OtlpFields.SCOPE_LOGS_LOG_RECORDS);
    long time = readNanos(JsonTokens.TIME, OtlpFields.LOG_RECORD_TIME_UNIX_NANO);
    long observed =
        readNanos(JsonTokens.OBSERVED_TIME, OtlpFields.LOG_RECORD_OBSERVED_TIME_UNIX_NANO);
    if (acceptMember(JsonTokens.SEVERITY_NUMBER)) {
      out.writeVarint(OtlpFields.LOG_RECORD_SEVERITY_NUMBER, readInteger());
    }
    readText(JsonTokens.SEVERITY_TEXT, OtlpFields.LOG_RECORD_SEVERITY_TEXT);
    if (acceptMember(JsonTokens.BODY)) {
      readValue(OtlpFields.LOG_RECORD_BODY, 0);
    }
    readPairs(JsonTokens.ATTRIBUTES, OtlpFields.LOG_RECORD_ATTRIBUTES, 0);
    if (acceptMember(JsonTokens.DROPPED_ATTRIBUTES)) {
      out.writeVarint(OtlpFields.LOG_RECORD_DROPPED_ATTRIBUTES_COUNT, readUnsigned());
    }
    if (acceptMember(JsonTokens.FLAGS)) {
      out.writeFixed32(OtlpFields.LOG_RECORD_FLAGS, (int) readUnsigned());
    }
    readHex(JsonTokens.TRACE_ID, OtlpFields.LOG_RECORD_TRACE_ID);
    readHex(JsonTokens.SPAN_ID, OtlpFields.LOG_RECORD_SPAN_ID);
    readText(JsonTokens.EVENT_NAME, OtlpFields.LOG_RECORD_EVENT_NAME);
    expect('}');
    out.endMessage(mark);
    time = time != 0 ? time : observed != 0 ? observed : received;
    firstNanos = Math.min(firstNanos, time);
    lastNanos = Math.max(lastNanos, time);
  }

  private long readNanos(byte[] name, int field) throws UnreadableFrameException {
    if (!acceptMember(name)) {
      return 0;
    }
    long value = readQuotedInteger();
    out.writeFixed64(field, value);
    return value;
  }

  private void readPairs(byte[] name, int field, int depth) throws UnreadableFrameException {
    if (!acceptMember(name)) {
      return;
    }
    do {
      expect('{');
      int mark = out.beginMessage(field);
      readText(JsonTokens.KEY, OtlpFields.KEY_VALUE_KEY);
      if (acceptMember(JsonTokens.VALUE)) {
        readValue(OtlpFields.KEY_VALUE_VALUE, depth);
      }
      expect('}');
      out.endMessage(mark);
    } while (nextElement());
  }

  /** Consumes the comma before a further element, or the end of the list. */
  private boolean nextElement() throws UnreadableFrameException {
    if (bytes[position] == ',') {
      position++;
      return true;
    }
    expect(']');
    return false;
  }

  private void readValue(int field, int depth) throws UnreadableFrameException {
    expect('{');
    int mark = out.beginMessage(field);
    if (acceptMember(JsonTokens.STRING_VALUE)) {
      readText(OtlpFields.ANY_VALUE_STRING_VALUE);
    } else if (acceptMember(JsonTokens.INT_VALUE)) {
      out.writeVarint(OtlpFields.ANY_VALUE_INT_VALUE, readQuotedInteger());
    } else if (acceptMember(JsonTokens.BOOL_VALUE)) {
      out.writeVarint(OtlpFields.ANY_VALUE_BOOL_VALUE, readBool());
    } else if (acceptMember(JsonTokens.DOUBLE_VALUE)) {
      out.writeFixed64(OtlpFields.ANY_VALUE_DOUBLE_VALUE, Double.doubleToRawLongBits(readDouble()));
    } else if (acceptMember(JsonTokens.ARRAY_VALUE)) {
      readContainer(OtlpFields.ANY_VALUE_ARRAY_VALUE, depth);
    } else if (acceptMember(JsonTokens.MAP_VALUE)) {
      readContainer(OtlpFields.ANY_VALUE_KVLIST_VALUE, depth);
    } else if (acceptMember(JsonTokens.BYTES_VALUE)) {
      readBase64();
    }
    expect('}');
    out.endMessage(mark);
  }

  private void readContainer(int field, int depth) throws UnreadableFrameException {
    if (depth >= JsonTokens.MAX_DEPTH) {
      throw corrupt("nesting depth of at most " + JsonTokens.MAX_DEPTH);
    }
    expect('{');
    int mark = out.beginMessage(field);
    if (field == OtlpFields.ANY_VALUE_KVLIST_VALUE) {
      readPairs(JsonTokens.VALUES, OtlpFields.KEY_VALUE_LIST_VALUES, depth + 1);
    } else if (acceptMember(JsonTokens.VALUES)) {
      do {
        readValue(OtlpFields.ARRAY_VALUE_VALUES, depth + 1);
      } while (nextElement());
    }
    expect('}');
    out.endMessage(mark);
  }

  private void readText(byte[] name, int field) throws UnreadableFrameException {
    if (acceptMember(name)) {
      readText(field);
    }
  }

  private void readText(int field) throws UnreadableFrameException {
    expect('"');
    int close = JsonTokens.indexOfEscape(bytes, position, end);
    if (bytes[close] == '"') {
      out.writeBytes(field, bytes, position, close - position);
      position = close + 1;
      return;
    }
    int mark = out.beginMessage(field);
    unescape(otlp);
    out.endMessage(mark);
  }

  private String readString() throws UnreadableFrameException {
    expect('"');
    var text = new ByteOutput(UUID_DIGITS);
    unescape(text);
    return new String(text.array(), 0, text.size(), UTF_8);
  }

  /** Appends the rest of a string to {@code output}, and consumes its closing quotation mark. */
  private void unescape(ByteOutput output) throws UnreadableFrameException {
    while (true) {
      int plain = JsonTokens.indexOfEscape(bytes, position, end);
      output.write(bytes, position, plain - position);
      position = plain;
      if (bytes[plain] == '"') {
        position++;
        return;
      }
      expect('\\');
      byte escaped = bytes[position++];
      switch (escaped) {
        case '"', '\\', '/' -> output.writeByte(escaped);
        case 'n' -> output.writeByte('\n');
        case 'r' -> output.writeByte('\r');
        case 't' -> output.writeByte('\t');
        case 'b' -> output.writeByte('\b');
        case 'f' -> output.writeByte('\f');
        case 'u' -> output.writeUtf8(Character.toString(readCodePoint()));
        default -> {
          position--;
          throw corrupt("an escape sequence");
        }
      }
    }
  }

  /** Reads the code point after {@code \}{@code u}; both units of a surrogate pair. */
  private int readCodePoint() throws UnreadableFrameException {
    char unit = (char) readHexDigits(4);
    if (!Character.isSurrogate(unit)) {
      return unit;
    }
    expect(BACKSLASH);
    char low = (char) readHexDigits(4);
    if (!Character.isSurrogatePair(unit, low)) {
      throw corrupt("a low surrogate");
    }
    return Character.toCodePoint(unit, low);
  }

  private LogId readId() throws UnreadableFrameException {
    return new LogId(readHexDigits(16), readHexDigits(16));
  }

  private long readHexDigits(int count) throws UnreadableFrameException {
    long value = 0;
    for (int i = 0; i < count; i++) {
      byte b = bytes[position];
      if (b >= '0' && b <= '9') {
        value = value << 4 | b - '0';
      } else if (b >= 'a' && b <= 'f') {
        value = value << 4 | b - 'a' + 10;
      } else {
        throw corrupt("a hexadecimal digit");
      }
      position++;
    }
    return value;
  }

  private void readHex(byte[] name, int field) throws UnreadableFrameException {
    if (!acceptMember(name)) {
      return;
    }
    expect('"');
    int mark = out.beginMessage(field);
    while (bytes[position] != '"') {
      otlp.writeByte((int) readHexDigits(2));
    }
    position++;
    out.endMessage(mark);
  }

  private void readBase64() throws UnreadableFrameException {
    expect('"');
    int close = JsonTokens.indexOfEscape(bytes, position, end);
    try {
      var content = Base64.getDecoder().decode(Arrays.copyOfRange(bytes, position, close));
      out.writeBytes(OtlpFields.ANY_VALUE_BYTES_VALUE, content, 0, content.length);
    } catch (IllegalArgumentException _) {
      throw corrupt("base64");
    }
    position = close;
    expect('"');
  }

  private UUID readUuid() throws UnreadableFrameException {
    var text = readString();
    try {
      if (text.length() == UUID_DIGITS) {
        return UUID.fromString(text);
      }
    } catch (IllegalArgumentException _) {
      // reported below
    }
    throw corrupt("a UUID");
  }

  private int readBool() throws UnreadableFrameException {
    if (bytes[position] == 't') {
      expect(JsonTokens.TRUE);
      return 1;
    }
    expect(JsonTokens.FALSE);
    return 0;
  }

  private long readQuotedInteger() throws UnreadableFrameException {
    expect('"');
    long value = readLong();
    expect('"');
    return value;
  }

  private int readInteger() throws UnreadableFrameException {
    long value = readLong();
    if (value != (int) value) {
      throw corrupt("a signed 32-bit number");
    }
    return (int) value;
  }

  private long readUnsigned() throws UnreadableFrameException {
    long value = readLong();
    if (value >>> 32 != 0) {
      throw corrupt("an unsigned 32-bit number");
    }
    return value;
  }

  private long readLong() throws UnreadableFrameException {
    int from = position;
    boolean negative = bytes[position] == '-';
    if (negative) {
      position++;
    }
    int digits = position;
    long value = 0;
    while (bytes[position] >= '0' && bytes[position] <= '9') {
      value = value * 10 + (bytes[position++] - '0');
    }
    int count = position - digits;
    if (count > 0 && count < 19) { // 18 digits cannot overflow a long
      return negative ? -value : value;
    }
    try {
      return Long.parseLong(asciiSince(from));
    } catch (NumberFormatException _) {
      throw corrupt("an integer");
    }
  }

  /** Returns the text from {@code from} to the position; empty when too long for any number. */
  private String asciiSince(int from) {
    int length = position - from;
    return length > MAX_NUMBER_LENGTH ? "" : new String(bytes, from, length, ISO_8859_1);
  }

  private double readDouble() throws UnreadableFrameException {
    if (bytes[position] == '"') {
      return readNonFinite();
    }
    int from = position;
    while (bytes[position] != '}' && bytes[position] != '\n') {
      position++;
    }
    try {
      double value = Double.parseDouble(asciiSince(from));
      if (Double.isFinite(value)) {
        return value;
      }
    } catch (NumberFormatException _) {
      // reported below
    }
    throw corrupt("a number");
  }

  private double readNonFinite() throws UnreadableFrameException {
    return switch (readString()) {
      case "NaN" -> Double.NaN;
      case "Infinity" -> Double.POSITIVE_INFINITY;
      case "-Infinity" -> Double.NEGATIVE_INFINITY;
      default -> throw corrupt("a number");
    };
  }

  /** Whether the bytes at the position equal {@code bytes[from, to)}; consumes nothing. */
  private boolean matches(int from, int to) {
    int length = to - from;
    return length <= end - position
        && Arrays.equals(bytes, position, position + length, bytes, from, to);
  }

  /** Consumes the name of a member and the comma before it, when they are next. */
  private boolean acceptMember(byte[] name) {
    int p = position;
    if (bytes[p - 1] != '{') {
      if (bytes[p] != ',') {
        return false;
      }
      p++;
    }
    if (name.length > end - p || !Arrays.equals(bytes, p, p + name.length, name, 0, name.length)) {
      return false;
    }
    position = p + name.length;
    return true;
  }

  private void expectMember(byte[] name) throws UnreadableFrameException {
    if (!acceptMember(name)) {
      throw corrupt(new String(name, UTF_8));
    }
  }

  private void expect(byte[] token) throws UnreadableFrameException {
    if (token.length > end - position
        || !Arrays.equals(bytes, position, position + token.length, token, 0, token.length)) {
      throw corrupt(new String(token, UTF_8).strip());
    }
    position += token.length;
  }

  private void expect(char c) throws UnreadableFrameException {
    if (bytes[position] != c) {
      throw corrupt(String.valueOf(c));
    }
    position++;
  }

  private UnreadableFrameException corrupt(String expected) {
    return UnreadableFrameException.corrupt(
        "line %d: expected %s at byte %d".formatted(line, expected, position));
  }
}
