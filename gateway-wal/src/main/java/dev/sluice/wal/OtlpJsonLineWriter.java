package dev.sluice.wal;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.MalformedOtlpException;
import dev.sluice.core.otlp.OtlpFields;
import dev.sluice.core.otlp.ProtobufInput;
import java.util.Arrays;
import java.util.Base64;

/**
 * Writes the records of a batch as lines of JSON in the OTLP mapping.
 *
 * <p>The common parts of the lines are rendered once: the header of the batch, and each resource
 * and scope. Protobuf allows fields in any order and messages in several parts, so the parts of a
 * message that JSON needs in one place are collected in a separate pass. Like {@code OtlpWalker},
 * which has validated the bytes, this class uses the last part of a list or map. Unknown fields are
 * omitted.
 *
 * <p>For use by one thread at a time, for many batches. Allocates nothing after the first batches,
 * except for double and bytes values.
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

  // the state of the batch being written
  private ByteOutput lines = header;
  private ByteOutput out = header; // the lines, or one of their common parts
  private int limit;
  private int records;
  private long firstNanos;
  private long lastNanos;

  /** The scalar fields of a record, and the {@link #range ranges} of its other fields. */
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

  /** The fields of a resource or a scope, like {@link RecordFields}. */
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

  /** Packs two offsets into one number; 0 is an absent field. */
  private static long range(int from, int to) {
    return (long) from << 32 | to;
  }

  private static int rangeStart(long range) {
    return (int) (range >>> 32);
  }

  private static int rangeEnd(long range) {
    return (int) range;
  }

  /** Returns the range extended to {@code to}; the range of both offsets when it is absent. */
  private static long extendRange(long range, int from, int to) {
    return range == 0 ? range(from, to) : range(rangeStart(range), to);
  }

  /** Returns the earliest time of a record in the last batch; see {@link Frame}. */
  long firstNanos() {
    return firstNanos;
  }

  /** Returns the latest time of a record in the last batch; see {@link Frame}. */
  long lastNanos() {
    return lastNanos;
  }

  /**
   * Appends the lines of a batch.
   *
   * @param maxBytes maximum total size of the lines in bytes
   * @throws IllegalArgumentException when the batch is not valid OTLP with the record count that it
   *     declares, or too large
   */
  void write(WalEntry entry, ByteOutput output, int maxBytes) {
    var batch = entry.batch();
    lines = output;
    limit = maxBytes;
    records = 0;
    firstNanos = Long.MAX_VALUE;
    lastNanos = Long.MIN_VALUE;
    in.bytes = batch.otlp();
    in.position = 0;
    try {
      writeHeader(entry);
      writeRequest(batch);
    } catch (MalformedOtlpException e) {
      throw new IllegalArgumentException("the batch is not valid OTLP: " + e.getMessage(), e);
    } finally {
      in.bytes = EMPTY; // releases the batch: this writer stays in a pool
      lines = header;
      out = header;
    }
    if (records != batch.records()) {
      throw new IllegalArgumentException(
          "the batch has %d records, but declares %d".formatted(records, batch.records()));
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
      writeName(JsonTokens.POSSIBLE_DUPLICATE);
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
      if (tag == OtlpFields.EXPORT_LOGS_SERVICE_REQUEST_RESOURCE_LOGS_TAG) {
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
    writeResourceOrScope(end, JsonTokens.RESOURCE, OtlpFields.RESOURCE_ATTRIBUTES);
    writeName(JsonTokens.SCOPE_LOGS);
    in.position = start;
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag == OtlpFields.RESOURCE_LOGS_SCOPE_LOGS_TAG) {
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
    scope.writeByte('{'); // lets the first member omit its comma; writeLine skips this byte
    writeResourceOrScope(end, JsonTokens.SCOPE, OtlpFields.INSTRUMENTATION_SCOPE_ATTRIBUTES);
    writeName(JsonTokens.LOG_RECORDS);
    out = lines;
    in.position = start;
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag != OtlpFields.SCOPE_LOGS_LOG_RECORDS_TAG) {
        in.skip(tag, end);
        continue;
      }
      int close = in.readContentEnd(end);
      writeLine(close, batch);
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
      throw new IllegalArgumentException("the batch exceeds %d bytes of JSON".formatted(limit));
    }
  }

  /**
   * Writes a resource or a scope, and its schema URL.
   *
   * @param attributes the field number of the attributes, which distinguishes a resource from a
   *     scope; the next number is that of the dropped attributes count
   */
  private void writeResourceOrScope(int end, byte[] token, int attributes)
      throws MalformedOtlpException {
    int start = in.position;
    var fields = sharedFields;
    fields.clear();
    while (in.position < end) {
      int tag = in.readTag(end);
      switch (tag) {
        case OtlpFields.RESOURCE_LOGS_RESOURCE_TAG -> { // SCOPE_LOGS_SCOPE_TAG is equal
          fields.present = true;
          scanResourceOrScope(in.readContentEnd(end), attributes);
        }
        case OtlpFields.RESOURCE_LOGS_SCHEMA_URL_TAG -> fields.schemaUrl = readRange(end);
        default -> in.skip(tag, end);
      }
    }
    if (fields.present) {
      writeName(token);
      out.writeByte('{');
      writeText(JsonTokens.NAME, fields.name);
      writeText(JsonTokens.SCOPE_VERSION, fields.version);
      in.position = start;
      writeSharedAttributes(end, attributes);
      writeUnsigned(JsonTokens.DROPPED_ATTRIBUTES, fields.dropped);
      out.writeByte('}');
    }
    writeText(JsonTokens.SCHEMA_URL, fields.schemaUrl);
  }

  /** Reads all fields except the attributes, which another pass writes. */
  private void scanResourceOrScope(int end, int attributes) throws MalformedOtlpException {
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag == (attributes + 1 << 3 | ProtobufInput.VARINT)) {
        sharedFields.dropped = in.readVarint(end);
      } else if (attributes == OtlpFields.INSTRUMENTATION_SCOPE_ATTRIBUTES
          && tag == OtlpFields.INSTRUMENTATION_SCOPE_NAME_TAG) {
        sharedFields.name = readRange(end);
      } else if (attributes == OtlpFields.INSTRUMENTATION_SCOPE_ATTRIBUTES
          && tag == OtlpFields.INSTRUMENTATION_SCOPE_VERSION_TAG) {
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
      if (tag == OtlpFields.RESOURCE_LOGS_RESOURCE_TAG) { // SCOPE_LOGS_SCOPE_TAG is equal
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
      writeValue(rangeEnd(l.body), OtlpFields.LOG_RECORD_BODY, 0);
    }
    if (l.attributes != 0) {
      int start = beginList(JsonTokens.ATTRIBUTES);
      in.position = rangeStart(l.attributes);
      writePairs(rangeEnd(l.attributes), OtlpFields.LOG_RECORD_ATTRIBUTES, start, 0);
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
        case OtlpFields.LOG_RECORD_TIME_UNIX_NANO_TAG -> l.time = in.readFixed64(end);
        case OtlpFields.LOG_RECORD_SEVERITY_NUMBER_TAG -> l.severity = (int) in.readVarint(end);
        case OtlpFields.LOG_RECORD_SEVERITY_TEXT_TAG -> l.severityText = readRange(end);
        case OtlpFields.LOG_RECORD_BODY_TAG ->
            l.body = extendRange(l.body, start, rangeEnd(readRange(end)));
        case OtlpFields.LOG_RECORD_ATTRIBUTES_TAG ->
            l.attributes = extendRange(l.attributes, start, rangeEnd(readRange(end)));
        case OtlpFields.LOG_RECORD_DROPPED_ATTRIBUTES_COUNT_TAG -> l.dropped = in.readVarint(end);
        case OtlpFields.LOG_RECORD_FLAGS_TAG -> l.flags = in.readFixed32(end);
        case OtlpFields.LOG_RECORD_TRACE_ID_TAG -> l.traceId = readRange(end);
        case OtlpFields.LOG_RECORD_SPAN_ID_TAG -> l.spanId = readRange(end);
        case OtlpFields.LOG_RECORD_OBSERVED_TIME_UNIX_NANO_TAG -> l.observed = in.readFixed64(end);
        case OtlpFields.LOG_RECORD_EVENT_NAME_TAG -> l.eventName = readRange(end);
        default -> in.skip(tag, end);
      }
    }
  }

  /** Writes the key-value pairs of one field of the message that ends at {@code end}. */
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
        case OtlpFields.KEY_VALUE_KEY_TAG -> key = readRange(end);
        case OtlpFields.KEY_VALUE_VALUE_TAG ->
            values = extendRange(values, start, rangeEnd(readRange(end)));
        default -> in.skip(tag, end);
      }
    }
    out.writeByte('{');
    writeText(JsonTokens.KEY, key);
    if (values != 0) {
      writeName(JsonTokens.VALUE);
      in.position = rangeStart(values);
      writeValue(rangeEnd(values), OtlpFields.KEY_VALUE_VALUE, depth);
    }
    out.writeByte('}');
    in.position = end;
  }

  /** Writes a value, whose parts are one field of the message that ends at {@code end}. */
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

  /** Writes one part of a value. The last field of the oneof replaces the fields before it. */
  private void writeValuePart(int end, int start, int depth) throws MalformedOtlpException {
    while (in.position < end) {
      int tag = in.readTag(end);
      switch (tag) {
        case OtlpFields.ANY_VALUE_STRING_VALUE_TAG -> {
          replaceValue(start, JsonTokens.STRING_VALUE);
          writeQuoted(readRange(end));
        }
        case OtlpFields.ANY_VALUE_BOOL_VALUE_TAG -> {
          replaceValue(start, JsonTokens.BOOL_VALUE);
          out.write(in.readVarint(end) != 0 ? JsonTokens.TRUE : JsonTokens.FALSE);
        }
        case OtlpFields.ANY_VALUE_INT_VALUE_TAG -> {
          replaceValue(start, JsonTokens.INT_VALUE);
          out.writeByte('"');
          writeDecimal(in.readVarint(end));
          out.writeByte('"');
        }
        case OtlpFields.ANY_VALUE_DOUBLE_VALUE_TAG -> {
          replaceValue(start, JsonTokens.DOUBLE_VALUE);
          writeDouble(Double.longBitsToDouble(in.readFixed64(end)));
        }
        case OtlpFields.ANY_VALUE_ARRAY_VALUE_TAG -> {
          replaceValue(start, JsonTokens.ARRAY_VALUE);
          writeContainer(in.readContentEnd(end), true, depth);
        }
        case OtlpFields.ANY_VALUE_KVLIST_VALUE_TAG -> {
          replaceValue(start, JsonTokens.MAP_VALUE);
          writeContainer(in.readContentEnd(end), false, depth);
        }
        case OtlpFields.ANY_VALUE_BYTES_VALUE_TAG -> {
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
      throw new IllegalArgumentException("a value exceeds nesting depth " + JsonTokens.MAX_DEPTH);
    }
    out.writeByte('{');
    int start = beginList(JsonTokens.VALUES);
    if (array) {
      writeElements(end, start, depth + 1);
    } else {
      writePairs(end, OtlpFields.KEY_VALUE_LIST_VALUES, start, depth + 1);
    }
    endList(start, JsonTokens.VALUES);
    out.writeByte('}');
  }

  private void writeElements(int end, int start, int depth) throws MalformedOtlpException {
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag == OtlpFields.ARRAY_VALUE_VALUES_TAG) {
        writeSeparator(start);
        out.writeByte('{');
        writeValuePart(in.readContentEnd(end), out.size(), depth);
        out.writeByte('}');
      } else {
        in.skip(tag, end);
      }
    }
  }

  /** Opens a list, which {@link #endList} removes when it is empty; returns its start. */
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

  /** Writes the name of a member, after a comma when it is not the first member. */
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

  /** Writes an unsigned 32-bit number, unless it is 0. */
  private void writeUnsigned(byte[] name, long value) {
    if ((int) value != 0) {
      writeName(name);
      writeDecimal(value & 0xFFFF_FFFFL);
    }
  }

  private void writeDecimal(long value) {
    if (value == Long.MIN_VALUE) { // its absolute value is not a long
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
   * Writes the shortest decimal that parses to the same number. JSON has no non-finite numbers,
   * which become strings.
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

  /** Writes the sixteen hexadecimal digits of a number into {@code digits}. */
  private void writeHex(long value, int offset) {
    for (int i = 0; i < 16; i++) {
      digits[offset + i] = HEX[(int) (value >>> 60 - 4 * i) & 0xF];
    }
  }
}
