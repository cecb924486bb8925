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
 * The lines that {@link LineWriter} wrote, as OTLP in protobuf. Knows what that writes, in that
 * order and nothing between; whatever else comes makes the frame corrupt.
 *
 * <p>A resource and scope of the same bytes as those of the line before are not read again, and
 * their records stay together, so that the OTLP does not grow.
 *
 * <p>Each step looks at the byte at {@code position} without asking whether there is one: the last
 * byte of all is a line's end, and nothing but the end of a line passes over one.
 */
final class LineReader {
  private static final int UUID_DIGITS = 36;
  private static final int MOST_NUMBER = 32;
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
   * @throws UnreadableFrame when it is no text of whole lines
   */
  LineReader(byte[] payload) throws UnreadableFrame {
    bytes = payload;
    end = payload.length;
    otlp = new ByteOutput(end / 2);
    out = new OtlpWriter(otlp);
    if (end == 0 || bytes[end - 1] != '\n' || !Utf8.isValid(bytes, 0, end)) {
      throw UnreadableFrame.corrupt("no lines of text");
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
  Entry read() throws UnreadableFrame {
    var head = head();
    int headEnd = position;
    log(0);
    while (position < end) {
      if (!same(0, headEnd)) {
        throw corrupt("a head as in the first line");
      }
      position += headEnd;
      log(line++);
    }
    if (line != records) {
      throw UnreadableFrame.corrupt("%d lines, should be %d".formatted(line, records));
    }
    close();
    var batch = head.batch();
    return new Entry(
        new LogBatch(
            batch.appendId(),
            batch.tenant(),
            batch.receivedNanos(),
            batch.firstId(),
            batch.records(),
            batch.expandedBytes(),
            batch.excludedOrdinals(),
            otlp.toByteArray()),
        head.again(),
        head.key());
  }

  /** What the first line says of the batch, which has no logs. */
  Entry head() throws UnreadableFrame {
    expect(Words.VERSION_IS);
    int version = integer();
    if (version > Words.VERSION) {
      throw UnreadableFrame.newer(version);
    }
    if (version < Words.VERSION) {
      throw corrupt("a version that there was");
    }
    required(Words.APPEND);
    var append = uuid();
    required(Words.TENANT);
    tenant = string();
    required(Words.RECEIVED);
    received = quotedInteger();
    required(Words.FIRST);
    expect('"');
    first = id();
    expect('"');
    required(Words.RECORDS);
    records = integer();
    required(Words.BYTES);
    int expandedBytes = integer();
    if (records < 1) {
      throw corrupt("a record at least");
    }
    boolean again = member(Words.AGAIN);
    if (again) {
      expect(Words.TRUE);
    }
    var key = key();
    required(Words.ID);
    expect('"');
    return new Entry(
        new LogBatch(
            append, tenant, received, first, records, expandedBytes, new BitSet(0), new byte[0]),
        again,
        key);
  }

  private IdempotencyStore.@Nullable IdempotencyKey key() throws UnreadableFrame {
    if (!member(Words.KEY)) {
      return null;
    }
    var key = string();
    required(Words.REQUEST);
    return new IdempotencyStore.IdempotencyKey(tenant, key, uuid());
  }

  /** From its own identity to the end of its line. */
  private void log(int index) throws UnreadableFrame {
    if (index >= records || !id().equals(first.plus(index))) {
      throw corrupt("the identity that is next");
    }
    expect('"');
    expect(',');
    resourceLogs();
    record();
    expect(Words.LINE_END);
  }

  private void resourceLogs() throws UnreadableFrame {
    if (resourceTo > 0 && same(resourceFrom, resourceTo)) {
      position += resourceTo - resourceFrom;
    } else {
      close();
      resourceFrom = position;
      expect(Words.RESOURCE_LOGS);
      resourceMark = out.beginMessage(1);
      shared(Words.RESOURCE, 1);
      required(Words.SCOPE_LOGS);
      resourceTo = position;
    }
    if (scopeTo > 0 && same(scopeFrom, scopeTo)) {
      position += scopeTo - scopeFrom;
    } else {
      closeScope();
      scopeFrom = position;
      scopeMark = out.beginMessage(2);
      shared(Words.SCOPE, 3);
      required(Words.LOG_RECORDS);
      scopeTo = position;
    }
  }

  private void close() {
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
  private void shared(byte[] word, int attributes) throws UnreadableFrame {
    if (member(word)) {
      expect('{');
      int mark = out.beginMessage(1);
      if (attributes == 3) {
        text(Words.NAME, 1);
        text(Words.SCOPE_VERSION, 2);
      }
      pairs(Words.ATTRIBUTES, attributes, 0);
      if (member(Words.DROPPED_ATTRIBUTES)) {
        out.writeVarint(attributes + 1, unsigned());
      }
      expect('}');
      out.endMessage(mark);
    }
    text(Words.SCHEMA_URL, 3);
  }

  private void record() throws UnreadableFrame {
    expect('{');
    int mark = out.beginMessage(2);
    long time = nanos(Words.TIME, 1);
    long observed = nanos(Words.OBSERVED_TIME, 11);
    if (member(Words.SEVERITY_NUMBER)) {
      out.writeVarint(2, integer());
    }
    text(Words.SEVERITY_TEXT, 3);
    if (member(Words.BODY)) {
      value(5, 0);
    }
    pairs(Words.ATTRIBUTES, 6, 0);
    if (member(Words.DROPPED_ATTRIBUTES)) {
      out.writeVarint(7, unsigned());
    }
    if (member(Words.FLAGS)) {
      out.writeFixed32(8, (int) unsigned());
    }
    hex(Words.TRACE_ID, 9);
    hex(Words.SPAN_ID, 10);
    text(Words.EVENT_NAME, 12);
    expect('}');
    out.endMessage(mark);
    time = time != 0 ? time : observed != 0 ? observed : received;
    firstNanos = Math.min(firstNanos, time);
    lastNanos = Math.max(lastNanos, time);
  }

  private long nanos(byte[] name, int field) throws UnreadableFrame {
    if (!member(name)) {
      return 0;
    }
    long value = quotedInteger();
    out.writeFixed64(field, value);
    return value;
  }

  private void pairs(byte[] name, int field, int depth) throws UnreadableFrame {
    if (!member(name)) {
      return;
    }
    do {
      expect('{');
      int mark = out.beginMessage(field);
      text(Words.KEY, 1);
      if (member(Words.VALUE)) {
        value(2, depth);
      }
      expect('}');
      out.endMessage(mark);
    } while (next());
  }

  /** Whether the list goes on. */
  private boolean next() throws UnreadableFrame {
    if (bytes[position] == ',') {
      position++;
      return true;
    }
    expect(']');
    return false;
  }

  private void value(int field, int depth) throws UnreadableFrame {
    expect('{');
    int mark = out.beginMessage(field);
    if (member(Words.STRING_VALUE)) {
      text(1);
    } else if (member(Words.INT_VALUE)) {
      out.writeVarint(3, quotedInteger());
    } else if (member(Words.BOOL_VALUE)) {
      out.writeVarint(2, bool());
    } else if (member(Words.DOUBLE_VALUE)) {
      out.writeFixed64(4, Double.doubleToRawLongBits(number()));
    } else if (member(Words.ARRAY_VALUE)) {
      container(5, depth);
    } else if (member(Words.MAP_VALUE)) {
      container(6, depth);
    } else if (member(Words.BYTES_VALUE)) {
      base64();
    }
    expect('}');
    out.endMessage(mark);
  }

  private void container(int field, int depth) throws UnreadableFrame {
    if (depth >= Words.MAX_DEPTH) {
      throw corrupt("no deeper nesting");
    }
    expect('{');
    int mark = out.beginMessage(field);
    if (field == 6) {
      pairs(Words.VALUES, 1, depth + 1);
    } else if (member(Words.VALUES)) {
      do {
        value(1, depth + 1);
      } while (next());
    }
    expect('}');
    out.endMessage(mark);
  }

  private void text(byte[] name, int field) throws UnreadableFrame {
    if (member(name)) {
      text(field);
    }
  }

  private void text(int field) throws UnreadableFrame {
    expect('"');
    int close = Words.plainUntil(bytes, position, end);
    if (bytes[close] == '"') {
      out.writeBytes(field, bytes, position, close - position);
      position = close + 1;
      return;
    }
    int mark = out.beginMessage(field);
    unescape(otlp);
    out.endMessage(mark);
  }

  private String string() throws UnreadableFrame {
    expect('"');
    var text = new ByteOutput(UUID_DIGITS);
    unescape(text);
    return new String(text.array(), 0, text.size(), UTF_8);
  }

  /** Appends the rest of a text, and passes over the mark that ends it. */
  private void unescape(ByteOutput into) throws UnreadableFrame {
    while (true) {
      int plain = Words.plainUntil(bytes, position, end);
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
        case 'u' -> into.writeUtf8(Character.toString(codePoint()));
        default -> {
          position--;
          throw corrupt("an escape");
        }
      }
    }
  }

  /** What follows {@code \}{@code u}; of a pair of surrogates, both. */
  private int codePoint() throws UnreadableFrame {
    char unit = (char) hexDigits(4);
    if (!Character.isSurrogate(unit)) {
      return unit;
    }
    expect(BACKSLASH);
    char low = (char) hexDigits(4);
    if (!Character.isSurrogatePair(unit, low)) {
      throw corrupt("a character");
    }
    return Character.toCodePoint(unit, low);
  }

  private LogId id() throws UnreadableFrame {
    return new LogId(hexDigits(16), hexDigits(16));
  }

  private long hexDigits(int count) throws UnreadableFrame {
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

  private void hex(byte[] name, int field) throws UnreadableFrame {
    if (!member(name)) {
      return;
    }
    expect('"');
    int mark = out.beginMessage(field);
    while (bytes[position] != '"') {
      otlp.writeByte((int) hexDigits(2));
    }
    position++;
    out.endMessage(mark);
  }

  private void base64() throws UnreadableFrame {
    expect('"');
    int close = Words.plainUntil(bytes, position, end);
    try {
      var content = Base64.getDecoder().decode(Arrays.copyOfRange(bytes, position, close));
      out.writeBytes(7, content, 0, content.length);
    } catch (IllegalArgumentException _) {
      throw corrupt("base64");
    }
    position = close;
    expect('"');
  }

  private UUID uuid() throws UnreadableFrame {
    var text = string();
    try {
      if (text.length() == UUID_DIGITS) {
        return UUID.fromString(text);
      }
    } catch (IllegalArgumentException _) {
      // falls through to the answer
    }
    throw corrupt("a UUID");
  }

  private int bool() throws UnreadableFrame {
    if (bytes[position] == 't') {
      expect(Words.TRUE);
      return 1;
    }
    expect(Words.FALSE);
    return 0;
  }

  private long quotedInteger() throws UnreadableFrame {
    expect('"');
    long value = longInteger();
    expect('"');
    return value;
  }

  private int integer() throws UnreadableFrame {
    long value = longInteger();
    if (value != (int) value) {
      throw corrupt("a number of 32 bits");
    }
    return (int) value;
  }

  private long unsigned() throws UnreadableFrame {
    long value = longInteger();
    if (value >>> 32 != 0) {
      throw corrupt("a number of 32 bits");
    }
    return value;
  }

  private long longInteger() throws UnreadableFrame {
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
      return Long.parseLong(ascii(from));
    } catch (NumberFormatException _) {
      throw corrupt("an integer");
    }
  }

  /** What was passed over since {@code from}; nothing when it is too long for any number. */
  private String ascii(int from) {
    int length = position - from;
    return length > MOST_NUMBER ? "" : new String(bytes, from, length, ISO_8859_1);
  }

  private double number() throws UnreadableFrame {
    if (bytes[position] == '"') {
      return notFinite();
    }
    int from = position;
    while (bytes[position] != '}' && bytes[position] != '\n') {
      position++;
    }
    try {
      double value = Double.parseDouble(ascii(from));
      if (Double.isFinite(value)) {
        return value;
      }
    } catch (NumberFormatException _) {
      // falls through to the answer
    }
    throw corrupt("a number");
  }

  private double notFinite() throws UnreadableFrame {
    return switch (string()) {
      case "NaN" -> Double.NaN;
      case "Infinity" -> Double.POSITIVE_INFINITY;
      case "-Infinity" -> Double.NEGATIVE_INFINITY;
      default -> throw corrupt("a number");
    };
  }

  /** Whether the bytes from here on are those; nothing is passed over. */
  private boolean same(int from, int to) {
    int length = to - from;
    return length <= end - position
        && Arrays.equals(bytes, position, position + length, bytes, from, to);
  }

  /** Passes over the name, and what parts it from the member before, if it is what comes next. */
  private boolean member(byte[] name) {
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

  private void required(byte[] name) throws UnreadableFrame {
    if (!member(name)) {
      throw corrupt(new String(name, UTF_8));
    }
  }

  private void expect(byte[] word) throws UnreadableFrame {
    if (word.length > end - position
        || !Arrays.equals(bytes, position, position + word.length, word, 0, word.length)) {
      throw corrupt(new String(word, UTF_8).strip());
    }
    position += word.length;
  }

  private void expect(char c) throws UnreadableFrame {
    if (bytes[position] != c) {
      throw corrupt(String.valueOf(c));
    }
    position++;
  }

  private UnreadableFrame corrupt(String wanted) {
    return UnreadableFrame.corrupt(
        "line %d: %s is expected at byte %d".formatted(line, wanted, position));
  }
}
