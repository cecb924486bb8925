package dev.sluice.wal;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.MalformedOtlpException;
import dev.sluice.core.otlp.ProtobufInput;
import java.util.Arrays;
import java.util.Base64;

/**
 * The accepted logs of a batch as lines of JSON, by OTLP's mapping.
 *
 * <p>What the lines have in common is rendered once: the batch's head, and each resource and scope.
 * Protobuf lets fields come in any order and messages in pieces, so what has to be in one place in
 * JSON is looked for in a pass of its own. Like {@code OtlpWalker}, which has judged the bytes,
 * this takes the last piece of a list or map. What is unknown is left out.
 *
 * <p>For one thread at a time; reused, and free of allocation once warm but for doubles and bytes.
 */
final class OtlpJsonLineWriter {
  private static final byte[] HEX = JsonTokens.utf8("0123456789abcdef");
  private static final byte[] EMPTY = {};

  private final ProtobufInput in = new ProtobufInput();
  private final ByteOutput header = new ByteOutput(1 << 9);
  private final ByteOutput resource = new ByteOutput(1 << 9);
  private final ByteOutput scope = new ByteOutput(1 << 8);
  private final RecordFields recordFields = new RecordFields();
  private final SharedFields sharedFields = new SharedFields();
  private final byte[] digits = new byte[2 * LogId.BYTES];

  // of the batch being written
  private ByteOutput lines = header;
  private ByteOutput out = header; // the lines, or what they share
  private int limit;
  private int ordinal;
  private int records;
  private long firstNanos;
  private long lastNanos;

  /** What of a record has one value, and where the rest of it lies; see {@link #range}. */
  private static final class RecordFields {
    long time;
    long observed;
    int severity;
    long severityText;
    long dropped;
    int flags;
    long traceId;
    long spanId;
    long eventName;
    long body;
    long attributes;

    void clear() {
      time = 0;
      observed = 0;
      severity = 0;
      severityText = 0;
      dropped = 0;
      flags = 0;
      traceId = 0;
      spanId = 0;
      eventName = 0;
      body = 0;
      attributes = 0;
    }
  }

  /** As {@link RecordFields}, of a resource or a scope. */
  private static final class SharedFields {
    boolean present;
    long name;
    long version;
    long dropped;
    long schemaUrl;

    void clear() {
      present = false;
      name = 0;
      version = 0;
      dropped = 0;
      schemaUrl = 0;
    }
  }

  /** Two offsets in one number; 0 is a place in which nothing is. */
  private static long range(int from, int to) {
    return (long) from << 32 | to;
  }

  private static int rangeStart(long range) {
    return (int) (range >>> 32);
  }

  private static int rangeEnd(long range) {
    return (int) range;
  }

  /** The place and all that follows it up to {@code to}. */
  private static long extendRange(long range, int from, int to) {
    return range == 0 ? range(from, to) : range(rangeStart(range), to);
  }

  /** The earliest time of a log in the last batch; see {@link Frame}. */
  long firstNanos() {
    return firstNanos;
  }

  long lastNanos() {
    return lastNanos;
  }

  /**
   * Appends the lines of a batch.
   *
   * @param maxBytes bytes in all
   * @throws IllegalArgumentException when the batch is not what the way in makes, or too large
   */
  void write(WalEntry entry, ByteOutput into, int maxBytes) {
    var batch = entry.batch();
    lines = into;
    limit = maxBytes;
    ordinal = 0;
    records = 0;
    firstNanos = Long.MAX_VALUE;
    lastNanos = Long.MIN_VALUE;
    in.bytes = batch.otlp();
    in.position = 0;
    try {
      writeHeader(entry);
      writeRequest(batch);
    } catch (MalformedOtlpException e) {
      throw new IllegalArgumentException("a batch that is no OTLP: " + e.getMessage(), e);
    } finally {
      in.bytes = EMPTY; // this object outlives the batch
      lines = header;
      out = header;
    }
    if (records != batch.records()) {
      throw new IllegalArgumentException(
          "a batch of %d records that says %d".formatted(records, batch.records()));
    }
  }

  private void writeHeader(WalEntry entry) {
    var batch = entry.batch();
    out = header;
    header.clear();
    header.write(JsonTokens.VERSION_PREFIX);
    writeDecimal(JsonTokens.VERSION);
    writeTextMember(JsonTokens.APPEND, batch.appendId().toString());
    writeTextMember(JsonTokens.TENANT, batch.tenant());
    writeQuotedMember(JsonTokens.RECEIVED, batch.receivedNanos());
    writeTextMember(JsonTokens.FIRST, batch.firstId().toHex());
    writeName(JsonTokens.RECORDS);
    writeDecimal(batch.records());
    writeName(JsonTokens.BYTES);
    writeDecimal(batch.expandedBytes());
    if (entry.possibleDuplicate()) {
      writeName(JsonTokens.AGAIN);
      header.write(JsonTokens.TRUE);
    }
    var key = entry.key();
    if (key != null) {
      writeTextMember(JsonTokens.KEY, key.key());
      writeTextMember(JsonTokens.REQUEST, key.requestDigest().toString());
    }
    writeName(JsonTokens.ID);
    header.writeByte('"');
  }

  private void writeRequest(LogBatch batch) throws MalformedOtlpException {
    int end = in.bytes.length;
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag == messageTag(1)) {
        writeResourceLogs(in.readContentEnd(end), batch);
      } else {
        in.skip(tag, end);
      }
    }
  }

  private static int messageTag(int field) {
    return field << 3 | ProtobufInput.BYTES;
  }

  private void writeResourceLogs(int end, LogBatch batch) throws MalformedOtlpException {
    int start = in.position;
    out = resource;
    resource.clear();
    resource.write(JsonTokens.RESOURCE_LOGS);
    writeResourceOrScope(end, JsonTokens.RESOURCE, 1);
    writeName(JsonTokens.SCOPE_LOGS);
    in.position = start;
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag == messageTag(2)) {
        writeScopeLogs(in.readContentEnd(end), batch);
      } else {
        in.skip(tag, end);
      }
    }
  }

  private void writeScopeLogs(int end, LogBatch batch) throws MalformedOtlpException {
    int start = in.position;
    out = scope;
    scope.clear();
    scope.writeByte('{'); // for the first member alone; that of the resource's part stands for it
    writeResourceOrScope(end, JsonTokens.SCOPE, 3);
    writeName(JsonTokens.LOG_RECORDS);
    out = lines;
    in.position = start;
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag != messageTag(2)) {
        in.skip(tag, end);
        continue;
      }
      int close = in.readContentEnd(end);
      if (!batch.excludedOrdinals().get(ordinal++)) {
        writeLine(close, batch);
      }
      in.position = close;
    }
  }

  private void writeLine(int end, LogBatch batch) throws MalformedOtlpException {
    out.write(header.array(), 0, header.size());
    var id = batch.firstId().plus(records++);
    writeHex(id.high(), 0);
    writeHex(id.low(), 16);
    out.write(digits);
    out.writeByte('"');
    out.writeByte(',');
    out.write(resource.array(), 0, resource.size());
    out.write(scope.array(), 1, scope.size() - 1);
    writeRecord(end, batch.receivedNanos());
    out.write(JsonTokens.LINE_END);
    if (out.size() > limit) {
      throw new IllegalArgumentException("a batch of more than %d bytes of JSON".formatted(limit));
    }
  }

  /**
   * A resource or a scope, and the schema URL beside it.
   *
   * @param attributes number of their field, which is what tells the one from the other; that of
   *     the dropped ones is the next
   */
  private void writeResourceOrScope(int end, byte[] token, int attributes)
      throws MalformedOtlpException {
    int start = in.position;
    var c = sharedFields;
    c.clear();
    while (in.position < end) {
      int tag = in.readTag(end);
      switch (tag) {
        case 1 << 3 | ProtobufInput.BYTES -> {
          c.present = true;
          scanResourceOrScope(in.readContentEnd(end), attributes);
        }
        case 3 << 3 | ProtobufInput.BYTES -> c.schemaUrl = readRange(end);
        default -> in.skip(tag, end);
      }
    }
    if (c.present) {
      writeName(token);
      out.writeByte('{');
      writeText(JsonTokens.NAME, c.name);
      writeText(JsonTokens.SCOPE_VERSION, c.version);
      in.position = start;
      writeSharedAttributes(end, attributes);
      writeUnsigned(JsonTokens.DROPPED_ATTRIBUTES, c.dropped);
      out.writeByte('}');
    }
    writeText(JsonTokens.SCHEMA_URL, c.schemaUrl);
  }

  /** Everything but the attributes, which are for another pass. */
  private void scanResourceOrScope(int end, int attributes) throws MalformedOtlpException {
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag == (attributes + 1 << 3 | ProtobufInput.VARINT)) {
        sharedFields.dropped = in.readVarint(end);
      } else if (attributes == 3 && tag == messageTag(1)) {
        sharedFields.name = readRange(end);
      } else if (attributes == 3 && tag == messageTag(2)) {
        sharedFields.version = readRange(end);
      } else {
        in.skip(tag, end);
      }
    }
  }

  private void writeSharedAttributes(int end, int attributes) throws MalformedOtlpException {
    int start = beginList(JsonTokens.ATTRIBUTES);
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag == messageTag(1)) {
        writePairs(in.readContentEnd(end), attributes, start, 0);
      } else {
        in.skip(tag, end);
      }
    }
    endList(start, JsonTokens.ATTRIBUTES);
  }

  private long readRange(int end) throws MalformedOtlpException {
    int close = in.readContentEnd(end);
    long range = range(in.position, close);
    in.position = close;
    return range;
  }

  private void writeRecord(int end, long received) throws MalformedOtlpException {
    scanRecord(end);
    var l = recordFields;
    long observed = l.observed != 0 ? l.observed : received;
    long time = l.time != 0 ? l.time : observed;
    firstNanos = Math.min(firstNanos, time);
    lastNanos = Math.max(lastNanos, time);
    out.writeByte('{');
    writeNanos(JsonTokens.TIME, l.time);
    writeNanos(JsonTokens.OBSERVED_TIME, l.observed);
    if (l.severity != 0) {
      writeName(JsonTokens.SEVERITY_NUMBER);
      writeDecimal(l.severity);
    }
    writeText(JsonTokens.SEVERITY_TEXT, l.severityText);
    if (l.body != 0) {
      writeName(JsonTokens.BODY);
      in.position = rangeStart(l.body);
      writeValue(rangeEnd(l.body), 5, 0);
    }
    if (l.attributes != 0) {
      int start = beginList(JsonTokens.ATTRIBUTES);
      in.position = rangeStart(l.attributes);
      writePairs(rangeEnd(l.attributes), 6, start, 0);
      endList(start, JsonTokens.ATTRIBUTES);
    }
    writeUnsigned(JsonTokens.DROPPED_ATTRIBUTES, l.dropped);
    writeUnsigned(JsonTokens.FLAGS, l.flags);
    writeHex(JsonTokens.TRACE_ID, l.traceId);
    writeHex(JsonTokens.SPAN_ID, l.spanId);
    writeText(JsonTokens.EVENT_NAME, l.eventName);
    out.writeByte('}');
  }

  private void scanRecord(int end) throws MalformedOtlpException {
    var l = recordFields;
    l.clear();
    while (in.position < end) {
      int start = in.position;
      int tag = in.readTag(end);
      switch (tag) {
        case 1 << 3 | ProtobufInput.FIXED64 -> l.time = in.readFixed64(end);
        case 2 << 3 | ProtobufInput.VARINT -> l.severity = (int) in.readVarint(end);
        case 3 << 3 | ProtobufInput.BYTES -> l.severityText = readRange(end);
        case 5 << 3 | ProtobufInput.BYTES ->
            l.body = extendRange(l.body, start, rangeEnd(readRange(end)));
        case 6 << 3 | ProtobufInput.BYTES ->
            l.attributes = extendRange(l.attributes, start, rangeEnd(readRange(end)));
        case 7 << 3 | ProtobufInput.VARINT -> l.dropped = in.readVarint(end);
        case 8 << 3 | ProtobufInput.FIXED32 -> l.flags = in.readFixed32(end);
        case 9 << 3 | ProtobufInput.BYTES -> l.traceId = readRange(end);
        case 10 << 3 | ProtobufInput.BYTES -> l.spanId = readRange(end);
        case 11 << 3 | ProtobufInput.FIXED64 -> l.observed = in.readFixed64(end);
        case 12 << 3 | ProtobufInput.BYTES -> l.eventName = readRange(end);
        default -> in.skip(tag, end);
      }
    }
  }

  /** Key-value pairs: those of that field of what ends at {@code end}. */
  private void writePairs(int end, int field, int start, int depth) throws MalformedOtlpException {
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag == messageTag(field)) {
        writeSeparator(start);
        writeKeyValue(in.readContentEnd(end), depth);
      } else {
        in.skip(tag, end);
      }
    }
  }

  private void writeKeyValue(int end, int depth) throws MalformedOtlpException {
    long key = 0;
    long values = 0;
    while (in.position < end) {
      int start = in.position;
      int tag = in.readTag(end);
      switch (tag) {
        case 1 << 3 | ProtobufInput.BYTES -> key = readRange(end);
        case 2 << 3 | ProtobufInput.BYTES ->
            values = extendRange(values, start, rangeEnd(readRange(end)));
        default -> in.skip(tag, end);
      }
    }
    out.writeByte('{');
    writeText(JsonTokens.KEY, key);
    if (values != 0) {
      writeName(JsonTokens.VALUE);
      in.position = rangeStart(values);
      writeValue(rangeEnd(values), 2, depth);
    }
    out.writeByte('}');
    in.position = end;
  }

  /** A value, of whose pieces each is that field of what ends at {@code end}. */
  private void writeValue(int end, int field, int depth) throws MalformedOtlpException {
    out.writeByte('{');
    int start = out.size();
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag == messageTag(field)) {
        writeValuePart(in.readContentEnd(end), start, depth);
      } else {
        in.skip(tag, end);
      }
    }
    out.writeByte('}');
  }

  /** The last field that is set decides, as the last of a protobuf oneof does. */
  private void writeValuePart(int end, int start, int depth) throws MalformedOtlpException {
    while (in.position < end) {
      int tag = in.readTag(end);
      switch (tag) {
        case 1 << 3 | ProtobufInput.BYTES -> {
          replaceValue(start, JsonTokens.STRING_VALUE);
          writeQuoted(readRange(end));
        }
        case 2 << 3 | ProtobufInput.VARINT -> {
          replaceValue(start, JsonTokens.BOOL_VALUE);
          out.write(in.readVarint(end) != 0 ? JsonTokens.TRUE : JsonTokens.FALSE);
        }
        case 3 << 3 | ProtobufInput.VARINT -> {
          replaceValue(start, JsonTokens.INT_VALUE);
          out.writeByte('"');
          writeDecimal(in.readVarint(end));
          out.writeByte('"');
        }
        case 4 << 3 | ProtobufInput.FIXED64 -> {
          replaceValue(start, JsonTokens.DOUBLE_VALUE);
          writeDouble(Double.longBitsToDouble(in.readFixed64(end)));
        }
        case 5 << 3 | ProtobufInput.BYTES -> {
          replaceValue(start, JsonTokens.ARRAY_VALUE);
          writeContainer(in.readContentEnd(end), true, depth);
        }
        case 6 << 3 | ProtobufInput.BYTES -> {
          replaceValue(start, JsonTokens.MAP_VALUE);
          writeContainer(in.readContentEnd(end), false, depth);
        }
        case 7 << 3 | ProtobufInput.BYTES -> {
          replaceValue(start, JsonTokens.BYTES_VALUE);
          writeBase64(readRange(end));
        }
        default -> in.skip(tag, end);
      }
    }
  }

  private void replaceValue(int start, byte[] name) {
    out.truncate(start);
    out.write(name);
  }

  private void writeContainer(int end, boolean array, int depth) throws MalformedOtlpException {
    if (depth >= JsonTokens.MAX_DEPTH) {
      throw new IllegalArgumentException("a value nested deeper than " + JsonTokens.MAX_DEPTH);
    }
    out.writeByte('{');
    int start = beginList(JsonTokens.VALUES);
    if (array) {
      writeElements(end, start, depth + 1);
    } else {
      writePairs(end, 1, start, depth + 1);
    }
    endList(start, JsonTokens.VALUES);
    out.writeByte('}');
  }

  private void writeElements(int end, int start, int depth) throws MalformedOtlpException {
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag == messageTag(1)) {
        writeSeparator(start);
        out.writeByte('{');
        writeValuePart(in.readContentEnd(end), out.size(), depth);
        out.writeByte('}');
      } else {
        in.skip(tag, end);
      }
    }
  }

  /** Opens a list that may turn out to be empty, and returns where its first element begins. */
  private int beginList(byte[] name) {
    writeName(name);
    return out.size();
  }

  private void writeSeparator(int start) {
    if (out.size() > start) {
      out.writeByte(',');
    }
  }

  private void endList(int start, byte[] name) {
    if (out.size() > start) {
      out.writeByte(']');
      return;
    }
    out.truncate(start - name.length);
    if (out.array()[out.size() - 1] == ',') {
      out.truncate(out.size() - 1);
    }
  }

  /** A name, and what parts it from the member before. */
  private void writeName(byte[] name) {
    if (out.array()[out.size() - 1] != '{') {
      out.writeByte(',');
    }
    out.write(name);
  }

  private void writeTextMember(byte[] name, String text) {
    writeName(name);
    var bytes = JsonTokens.utf8(text);
    writeQuoted(bytes, 0, bytes.length);
  }

  private void writeQuotedMember(byte[] name, long value) {
    writeName(name);
    out.writeByte('"');
    writeDecimal(value);
    out.writeByte('"');
  }

  private void writeText(byte[] name, long range) {
    if (rangeStart(range) != rangeEnd(range)) {
      writeName(name);
      writeQuoted(range);
    }
  }

  private void writeQuoted(long range) {
    writeQuoted(in.bytes, rangeStart(range), rangeEnd(range));
  }

  private void writeQuoted(byte[] bytes, int from, int to) {
    out.writeByte('"');
    int p = from;
    while (true) {
      int plain = JsonTokens.indexOfEscape(bytes, p, to);
      out.write(bytes, p, plain - p);
      if (plain == to) {
        break;
      }
      writeEscaped(bytes[plain]);
      p = plain + 1;
    }
    out.writeByte('"');
  }

  private void writeEscaped(byte b) {
    out.writeByte('\\');
    switch (b) {
      case '\n' -> out.writeByte('n');
      case '\r' -> out.writeByte('r');
      case '\t' -> out.writeByte('t');
      case '\b' -> out.writeByte('b');
      case '\f' -> out.writeByte('f');
      case '"', '\\' -> out.writeByte(b);
      default -> {
        out.writeByte('u');
        out.writeByte('0');
        out.writeByte('0');
        out.writeByte(HEX[b >> 4]);
        out.writeByte(HEX[b & 0xF]);
      }
    }
  }

  private void writeNanos(byte[] name, long value) {
    if (value != 0) {
      writeQuotedMember(name, value);
    }
  }

  /** A number of 32 bits. */
  private void writeUnsigned(byte[] name, long value) {
    if ((int) value != 0) {
      writeName(name);
      writeDecimal(value & 0xFFFF_FFFFL);
    }
  }

  private void writeDecimal(long value) {
    if (value == Long.MIN_VALUE) { // the one number whose digits have no positive value
      out.writeUtf8(Long.toString(value));
      return;
    }
    int p = digits.length;
    long rest = Math.abs(value);
    do {
      long next = rest / 10;
      digits[--p] = (byte) ('0' + (rest - next * 10));
      rest = next;
    } while (rest != 0);
    if (value < 0) {
      digits[--p] = '-';
    }
    out.write(digits, p, digits.length - p);
  }

  /**
   * The shortest digits that are read as the same number; JSON has no number that is not finite.
   */
  private void writeDouble(double value) {
    var text = Double.toString(value);
    boolean finite = Double.isFinite(value);
    if (!finite) {
      out.writeByte('"');
    }
    out.writeUtf8(text);
    if (!finite) {
      out.writeByte('"');
    }
  }

  private void writeBase64(long range) {
    out.writeByte('"');
    out.write(
        Base64.getEncoder()
            .encode(Arrays.copyOfRange(in.bytes, rangeStart(range), rangeEnd(range))));
    out.writeByte('"');
  }

  private void writeHex(byte[] name, long range) {
    if (rangeStart(range) == rangeEnd(range)) {
      return;
    }
    writeName(name);
    out.writeByte('"');
    for (int i = rangeStart(range); i < rangeEnd(range); i++) {
      out.writeByte(HEX[in.bytes[i] >> 4 & 0xF]);
      out.writeByte(HEX[in.bytes[i] & 0xF]);
    }
    out.writeByte('"');
  }

  /** The number's sixteen digits, into {@code digits} from there on. */
  private void writeHex(long value, int at) {
    for (int i = 0; i < 16; i++) {
      digits[at + i] = HEX[(int) (value >>> 60 - 4 * i) & 0xF];
    }
  }
}
