package dev.sluice.wal;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.OtlpWriter;
import dev.sluice.core.otlp.Utf8;
import dev.sluice.core.port.IdempotencyStore;
import java.util.Arrays;
import java.util.Base64;
import java.util.BitSet;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The lines that {@link OtlpJsonLineWriter} wrote, as OTLP in protobuf. Knows what that writes, in
 * that order and nothing between; whatever else comes makes the frame corrupt.
 *
 * <p>A resource and scope of the same bytes as those of the line before are not read again, and
 * their records stay together, so that the OTLP does not grow.
 *
 * <p>Each step looks at the byte at {@code position} without asking whether there is one: the last
 * byte of all is a line's end, and nothing but the end of a line passes over one.
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

  // of the head
  private String tenant = "";
  private long received;
  private LogId first = new LogId(0, 0);
  private int records;

  // the resource and scope that are open: where their bytes are, and the marks that close them
  private int resourceFrom;
  private int resourceTo;
  private int resourceMark;
  private int scopeFrom;
  private int scopeTo;
  private int scopeMark;

  private long firstNanos = Long.MAX_VALUE;
  private long lastNanos = Long.MIN_VALUE;

  /**
   * @throws UnreadableFrameException when it is no text of whole lines
   */
  OtlpJsonLineReader(byte[] payload) throws UnreadableFrameException {
    bytes = payload;
    end = payload.length;
    otlp = new ByteOutput(end / 2);
    out = new OtlpWriter(otlp);
    if (end == 0 || bytes[end - 1] != '\n' || !Utf8.isValid(bytes, 0, end)) {
      throw UnreadableFrameException.corrupt("no lines of text");
    }
  }

  /** The earliest time of a log in what was read; see {@link Frame}. */
  long firstNanos() {
    return firstNanos;
  }

  long lastNanos() {
    return lastNanos;
  }

  /** Everything; once only. */
  WalEntry read() throws UnreadableFrameException {
    var header = readHeader();
    int headerEnd = position;
    readLog(0);
    while (position < end) {
      if (!matches(0, headerEnd)) {
        throw corrupt("a head as in the first line");
      }
      position += headerEnd;
      readLog(line++);
    }
    if (line != records) {
      throw UnreadableFrameException.corrupt("%d lines, should be %d".formatted(line, records));
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
            batch.excludedOrdinals(),
            otlp.toByteArray()),
        header.possibleDuplicate(),
        header.key());
  }

  /** What the first line says of the batch, which has no logs. */
  WalEntry readHeader() throws UnreadableFrameException {
    expect(JsonTokens.VERSION_PREFIX);
    int version = readInteger();
    if (version > JsonTokens.VERSION) {
      throw UnreadableFrameException.unsupportedVersion(version);
    }
    if (version < JsonTokens.VERSION) {
      throw corrupt("a version that there was");
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
      throw corrupt("a record at least");
    }
    boolean possibleDuplicate = acceptMember(JsonTokens.AGAIN);
    if (possibleDuplicate) {
      expect(JsonTokens.TRUE);
    }
    var key = readKey();
    expectMember(JsonTokens.ID);
    expect('"');
    return new WalEntry(
        new LogBatch(
            append, tenant, received, first, records, expandedBytes, new BitSet(0), new byte[0]),
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

  /** From its own identity to the end of its line. */
  private void readLog(int index) throws UnreadableFrameException {
    if (index >= records || !readId().equals(first.plus(index))) {
      throw corrupt("the identity that is next");
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
      resourceMark = out.beginMessage(1);
      readResourceOrScope(JsonTokens.RESOURCE, 1);
      expectMember(JsonTokens.SCOPE_LOGS);
      resourceTo = position;
    }
    if (scopeTo > 0 && matches(scopeFrom, scopeTo)) {
      position += scopeTo - scopeFrom;
    } else {
      closeScope();
      scopeFrom = position;
      scopeMark = out.beginMessage(2);
      readResourceOrScope(JsonTokens.SCOPE, 3);
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
   * A resource or a scope, and the schema URL beside it.
   *
   * @param attributes number of their field, which is what tells the one from the other; that of
   *     the dropped ones is the next
   */
  private void readResourceOrScope(byte[] token, int attributes) throws UnreadableFrameException {
    if (acceptMember(token)) {
      expect('{');
      int mark = out.beginMessage(1);
      if (attributes == 3) {
        readText(JsonTokens.NAME, 1);
        readText(JsonTokens.SCOPE_VERSION, 2);
      }
      readPairs(JsonTokens.ATTRIBUTES, attributes, 0);
      if (acceptMember(JsonTokens.DROPPED_ATTRIBUTES)) {
        out.writeVarint(attributes + 1, readUnsigned());
      }
      expect('}');
      out.endMessage(mark);
    }
    readText(JsonTokens.SCHEMA_URL, 3);
  }

  private void readRecord() throws UnreadableFrameException {
    expect('{');
    int mark = out.beginMessage(2);
    long time = readNanos(JsonTokens.TIME, 1);
    long observed = readNanos(JsonTokens.OBSERVED_TIME, 11);
    if (acceptMember(JsonTokens.SEVERITY_NUMBER)) {
      out.writeVarint(2, readInteger());
    }
    readText(JsonTokens.SEVERITY_TEXT, 3);
    if (acceptMember(JsonTokens.BODY)) {
      readValue(5, 0);
    }
    readPairs(JsonTokens.ATTRIBUTES, 6, 0);
    if (acceptMember(JsonTokens.DROPPED_ATTRIBUTES)) {
      out.writeVarint(7, readUnsigned());
    }
    if (acceptMember(JsonTokens.FLAGS)) {
      out.writeFixed32(8, (int) readUnsigned());
    }
    readHex(JsonTokens.TRACE_ID, 9);
    readHex(JsonTokens.SPAN_ID, 10);
    readText(JsonTokens.EVENT_NAME, 12);
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
      readText(JsonTokens.KEY, 1);
      if (acceptMember(JsonTokens.VALUE)) {
        readValue(2, depth);
      }
      expect('}');
      out.endMessage(mark);
    } while (nextElement());
  }

  /** Whether the list goes on. */
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
      readText(1);
    } else if (acceptMember(JsonTokens.INT_VALUE)) {
      out.writeVarint(3, readQuotedInteger());
    } else if (acceptMember(JsonTokens.BOOL_VALUE)) {
      out.writeVarint(2, readBool());
    } else if (acceptMember(JsonTokens.DOUBLE_VALUE)) {
      out.writeFixed64(4, Double.doubleToRawLongBits(readDouble()));
    } else if (acceptMember(JsonTokens.ARRAY_VALUE)) {
      readContainer(5, depth);
    } else if (acceptMember(JsonTokens.MAP_VALUE)) {
      readContainer(6, depth);
    } else if (acceptMember(JsonTokens.BYTES_VALUE)) {
      readBase64();
    }
    expect('}');
    out.endMessage(mark);
  }

  private void readContainer(int field, int depth) throws UnreadableFrameException {
    if (depth >= JsonTokens.MAX_DEPTH) {
      throw corrupt("no deeper nesting");
    }
    expect('{');
    int mark = out.beginMessage(field);
    if (field == 6) {
      readPairs(JsonTokens.VALUES, 1, depth + 1);
    } else if (acceptMember(JsonTokens.VALUES)) {
      do {
        readValue(1, depth + 1);
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

  /** Appends the rest of a text, and passes over the mark that ends it. */
  private void unescape(ByteOutput into) throws UnreadableFrameException {
    while (true) {
      int plain = JsonTokens.indexOfEscape(bytes, position, end);
      into.write(bytes, position, plain - position);
      position = plain;
      if (bytes[plain] == '"') {
        position++;
        return;
      }
      expect('\\');
      byte escaped = bytes[position++];
      switch (escaped) {
        case '"', '\\', '/' -> into.writeByte(escaped);
        case 'n' -> into.writeByte('\n');
        case 'r' -> into.writeByte('\r');
        case 't' -> into.writeByte('\t');
        case 'b' -> into.writeByte('\b');
        case 'f' -> into.writeByte('\f');
        case 'u' -> into.writeUtf8(Character.toString(readCodePoint()));
        default -> {
          position--;
          throw corrupt("an escape");
        }
      }
    }
  }

  /** What follows {@code \}{@code u}; of a pair of surrogates, both. */
  private int readCodePoint() throws UnreadableFrameException {
    char unit = (char) readHexDigits(4);
    if (!Character.isSurrogate(unit)) {
      return unit;
    }
    expect(BACKSLASH);
    char low = (char) readHexDigits(4);
    if (!Character.isSurrogatePair(unit, low)) {
      throw corrupt("a character");
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
      out.writeBytes(7, content, 0, content.length);
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
      // falls through to the answer
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
      throw corrupt("a number of 32 bits");
    }
    return (int) value;
  }

  private long readUnsigned() throws UnreadableFrameException {
    long value = readLong();
    if (value >>> 32 != 0) {
      throw corrupt("a number of 32 bits");
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
    if (count > 0 && count < 19) { // of which none is too large
      return negative ? -value : value;
    }
    try {
      return Long.parseLong(asciiSince(from));
    } catch (NumberFormatException _) {
      throw corrupt("an integer");
    }
  }

  /** What was passed over since {@code from}; nothing when it is too long for any number. */
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
      // falls through to the answer
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

  /** Whether the bytes from here on are those; nothing is passed over. */
  private boolean matches(int from, int to) {
    int length = to - from;
    return length <= end - position
        && Arrays.equals(bytes, position, position + length, bytes, from, to);
  }

  /** Passes over the name, and what parts it from the member before, if it is what comes next. */
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
        "line %d: %s is expected at byte %d".formatted(line, expected, position));
  }
}
