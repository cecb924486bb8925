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
final class LineWriter {
  private static final byte[] HEX = Words.utf8("0123456789abcdef");
  private static final byte[] NOTHING = {};

  private final ProtobufInput in = new ProtobufInput();
  private final ByteOutput head = new ByteOutput(1 << 9);
  private final ByteOutput resource = new ByteOutput(1 << 9);
  private final ByteOutput scope = new ByteOutput(1 << 8);
  private final Log log = new Log();
  private final Shared common = new Shared();
  private final byte[] digits = new byte[2 * LogId.BYTES];

  // of the batch being written
  private ByteOutput lines = head;
  private ByteOutput out = head; // the lines, or what they share
  private int limit;
  private int ordinal;
  private int records;
  private long firstNanos;
  private long lastNanos;

  /** What of a record has one value, and where the rest of it lies; see {@link #place}. */
  private static final class Log {
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

  /** As {@link Log}, of a resource or a scope. */
  private static final class Shared {
    boolean sent;
    long name;
    long version;
    long dropped;
    long schemaUrl;

    void clear() {
      sent = false;
      name = 0;
      version = 0;
      dropped = 0;
      schemaUrl = 0;
    }
  }

  /** Two offsets in one number; 0 is a place in which nothing is. */
  private static long place(int from, int to) {
    return (long) from << 32 | to;
  }

  private static int from(long place) {
    return (int) (place >>> 32);
  }

  private static int to(long place) {
    return (int) place;
  }

  /** The place and all that follows it up to {@code to}. */
  private static long grown(long place, int from, int to) {
    return place == 0 ? place(from, to) : place(from(place), to);
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
   * @param most bytes in all
   * @throws IllegalArgumentException when the batch is not what the way in makes, or too large
   */
  void write(Entry entry, ByteOutput into, int most) {
    var batch = entry.batch();
    lines = into;
    limit = most;
    ordinal = 0;
    records = 0;
    firstNanos = Long.MAX_VALUE;
    lastNanos = Long.MIN_VALUE;
    in.bytes = batch.otlp();
    in.position = 0;
    try {
      head(entry);
      request(batch);
    } catch (MalformedOtlpException e) {
      throw new IllegalArgumentException("a batch that is no OTLP: " + e.getMessage(), e);
    } finally {
      in.bytes = NOTHING; // this object outlives the batch
      lines = head;
      out = head;
    }
    if (records != batch.records()) {
      throw new IllegalArgumentException(
          "a batch of %d records that says %d".formatted(records, batch.records()));
    }
  }

  private void head(Entry entry) {
    var batch = entry.batch();
    out = head;
    head.clear();
    head.write(Words.VERSION_IS);
    decimal(Words.VERSION);
    textMember(Words.APPEND, batch.appendId().toString());
    textMember(Words.TENANT, batch.tenant());
    quotedMember(Words.RECEIVED, batch.receivedNanos());
    textMember(Words.FIRST, batch.firstId().toHex());
    member(Words.RECORDS);
    decimal(batch.records());
    member(Words.BYTES);
    decimal(batch.expandedBytes());
    if (entry.again()) {
      member(Words.AGAIN);
      head.write(Words.TRUE);
    }
    var key = entry.key();
    if (key != null) {
      textMember(Words.KEY, key.key());
      textMember(Words.REQUEST, key.requestDigest().toString());
    }
    member(Words.ID);
    head.writeByte('"');
  }

  private void request(LogBatch batch) throws MalformedOtlpException {
    int end = in.bytes.length;
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag == message(1)) {
        resourceLogs(in.readContentEnd(end), batch);
      } else {
        in.skip(tag, end);
      }
    }
  }

  private static int message(int field) {
    return field << 3 | ProtobufInput.BYTES;
  }

  private void resourceLogs(int end, LogBatch batch) throws MalformedOtlpException {
    int start = in.position;
    out = resource;
    resource.clear();
    resource.write(Words.RESOURCE_LOGS);
    shared(end, Words.RESOURCE, 1);
    member(Words.SCOPE_LOGS);
    in.position = start;
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag == message(2)) {
        scopeLogs(in.readContentEnd(end), batch);
      } else {
        in.skip(tag, end);
      }
    }
  }

  private void scopeLogs(int end, LogBatch batch) throws MalformedOtlpException {
    int start = in.position;
    out = scope;
    scope.clear();
    scope.writeByte('{'); // for the first member alone; that of the resource's part stands for it
    shared(end, Words.SCOPE, 3);
    member(Words.LOG_RECORDS);
    out = lines;
    in.position = start;
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag != message(2)) {
        in.skip(tag, end);
        continue;
      }
      int close = in.readContentEnd(end);
      if (!batch.excludedOrdinals().get(ordinal++)) {
        line(close, batch);
      }
      in.position = close;
    }
  }

  private void line(int end, LogBatch batch) throws MalformedOtlpException {
    out.write(head.array(), 0, head.size());
    var id = batch.firstId().plus(records++);
    hex(id.high(), 0);
    hex(id.low(), 16);
    out.write(digits);
    out.writeByte('"');
    out.writeByte(',');
    out.write(resource.array(), 0, resource.size());
    out.write(scope.array(), 1, scope.size() - 1);
    record(end, batch.receivedNanos());
    out.write(Words.LINE_END);
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
  private void shared(int end, byte[] word, int attributes) throws MalformedOtlpException {
    int start = in.position;
    var c = common;
    c.clear();
    while (in.position < end) {
      int tag = in.readTag(end);
      switch (tag) {
        case 1 << 3 | ProtobufInput.BYTES -> {
          c.sent = true;
          piece(in.readContentEnd(end), attributes);
        }
        case 3 << 3 | ProtobufInput.BYTES -> c.schemaUrl = content(end);
        default -> in.skip(tag, end);
      }
    }
    if (c.sent) {
      member(word);
      out.writeByte('{');
      text(Words.NAME, c.name);
      text(Words.SCOPE_VERSION, c.version);
      in.position = start;
      sharedAttributes(end, attributes);
      unsigned(Words.DROPPED_ATTRIBUTES, c.dropped);
      out.writeByte('}');
    }
    text(Words.SCHEMA_URL, c.schemaUrl);
  }

  /** Everything but the attributes, which are for another pass. */
  private void piece(int end, int attributes) throws MalformedOtlpException {
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag == (attributes + 1 << 3 | ProtobufInput.VARINT)) {
        common.dropped = in.readVarint(end);
      } else if (attributes == 3 && tag == message(1)) {
        common.name = content(end);
      } else if (attributes == 3 && tag == message(2)) {
        common.version = content(end);
      } else {
        in.skip(tag, end);
      }
    }
  }

  private void sharedAttributes(int end, int attributes) throws MalformedOtlpException {
    int start = beginList(Words.ATTRIBUTES);
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag == message(1)) {
        pairs(in.readContentEnd(end), attributes, start, 0);
      } else {
        in.skip(tag, end);
      }
    }
    endList(start, Words.ATTRIBUTES);
  }

  private long content(int end) throws MalformedOtlpException {
    int close = in.readContentEnd(end);
    long place = place(in.position, close);
    in.position = close;
    return place;
  }

  private void record(int end, long received) throws MalformedOtlpException {
    scan(end);
    var l = log;
    long observed = l.observed != 0 ? l.observed : received;
    long time = l.time != 0 ? l.time : observed;
    firstNanos = Math.min(firstNanos, time);
    lastNanos = Math.max(lastNanos, time);
    out.writeByte('{');
    nanos(Words.TIME, l.time);
    nanos(Words.OBSERVED_TIME, l.observed);
    if (l.severity != 0) {
      member(Words.SEVERITY_NUMBER);
      decimal(l.severity);
    }
    text(Words.SEVERITY_TEXT, l.severityText);
    if (l.body != 0) {
      member(Words.BODY);
      in.position = from(l.body);
      value(to(l.body), 5, 0);
    }
    if (l.attributes != 0) {
      int start = beginList(Words.ATTRIBUTES);
      in.position = from(l.attributes);
      pairs(to(l.attributes), 6, start, 0);
      endList(start, Words.ATTRIBUTES);
    }
    unsigned(Words.DROPPED_ATTRIBUTES, l.dropped);
    unsigned(Words.FLAGS, l.flags);
    hex(Words.TRACE_ID, l.traceId);
    hex(Words.SPAN_ID, l.spanId);
    text(Words.EVENT_NAME, l.eventName);
    out.writeByte('}');
  }

  private void scan(int end) throws MalformedOtlpException {
    var l = log;
    l.clear();
    while (in.position < end) {
      int start = in.position;
      int tag = in.readTag(end);
      switch (tag) {
        case 1 << 3 | ProtobufInput.FIXED64 -> l.time = in.readFixed64(end);
        case 2 << 3 | ProtobufInput.VARINT -> l.severity = (int) in.readVarint(end);
        case 3 << 3 | ProtobufInput.BYTES -> l.severityText = content(end);
        case 5 << 3 | ProtobufInput.BYTES -> l.body = grown(l.body, start, to(content(end)));
        case 6 << 3 | ProtobufInput.BYTES ->
            l.attributes = grown(l.attributes, start, to(content(end)));
        case 7 << 3 | ProtobufInput.VARINT -> l.dropped = in.readVarint(end);
        case 8 << 3 | ProtobufInput.FIXED32 -> l.flags = in.readFixed32(end);
        case 9 << 3 | ProtobufInput.BYTES -> l.traceId = content(end);
        case 10 << 3 | ProtobufInput.BYTES -> l.spanId = content(end);
        case 11 << 3 | ProtobufInput.FIXED64 -> l.observed = in.readFixed64(end);
        case 12 << 3 | ProtobufInput.BYTES -> l.eventName = content(end);
        default -> in.skip(tag, end);
      }
    }
  }

  /** Key-value pairs: those of that field of what ends at {@code end}. */
  private void pairs(int end, int field, int start, int depth) throws MalformedOtlpException {
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag == message(field)) {
        separate(start);
        keyValue(in.readContentEnd(end), depth);
      } else {
        in.skip(tag, end);
      }
    }
  }

  private void keyValue(int end, int depth) throws MalformedOtlpException {
    long key = 0;
    long values = 0;
    while (in.position < end) {
      int start = in.position;
      int tag = in.readTag(end);
      switch (tag) {
        case 1 << 3 | ProtobufInput.BYTES -> key = content(end);
        case 2 << 3 | ProtobufInput.BYTES -> values = grown(values, start, to(content(end)));
        default -> in.skip(tag, end);
      }
    }
    out.writeByte('{');
    text(Words.KEY, key);
    if (values != 0) {
      member(Words.VALUE);
      in.position = from(values);
      value(to(values), 2, depth);
    }
    out.writeByte('}');
    in.position = end;
  }

  /** A value, of whose pieces each is that field of what ends at {@code end}. */
  private void value(int end, int field, int depth) throws MalformedOtlpException {
    out.writeByte('{');
    int start = out.size();
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag == message(field)) {
        valuePiece(in.readContentEnd(end), start, depth);
      } else {
        in.skip(tag, end);
      }
    }
    out.writeByte('}');
  }

  /** The last field that is set decides, as the last of a protobuf oneof does. */
  private void valuePiece(int end, int start, int depth) throws MalformedOtlpException {
    while (in.position < end) {
      int tag = in.readTag(end);
      switch (tag) {
        case 1 << 3 | ProtobufInput.BYTES -> {
          instead(start, Words.STRING_VALUE);
          quoted(content(end));
        }
        case 2 << 3 | ProtobufInput.VARINT -> {
          instead(start, Words.BOOL_VALUE);
          out.write(in.readVarint(end) != 0 ? Words.TRUE : Words.FALSE);
        }
        case 3 << 3 | ProtobufInput.VARINT -> {
          instead(start, Words.INT_VALUE);
          out.writeByte('"');
          decimal(in.readVarint(end));
          out.writeByte('"');
        }
        case 4 << 3 | ProtobufInput.FIXED64 -> {
          instead(start, Words.DOUBLE_VALUE);
          number(Double.longBitsToDouble(in.readFixed64(end)));
        }
        case 5 << 3 | ProtobufInput.BYTES -> {
          instead(start, Words.ARRAY_VALUE);
          container(in.readContentEnd(end), true, depth);
        }
        case 6 << 3 | ProtobufInput.BYTES -> {
          instead(start, Words.MAP_VALUE);
          container(in.readContentEnd(end), false, depth);
        }
        case 7 << 3 | ProtobufInput.BYTES -> {
          instead(start, Words.BYTES_VALUE);
          base64(content(end));
        }
        default -> in.skip(tag, end);
      }
    }
  }

  private void instead(int start, byte[] name) {
    out.truncate(start);
    out.write(name);
  }

  private void container(int end, boolean array, int depth) throws MalformedOtlpException {
    if (depth >= Words.MAX_DEPTH) {
      throw new IllegalArgumentException("a value nested deeper than " + Words.MAX_DEPTH);
    }
    out.writeByte('{');
    int start = beginList(Words.VALUES);
    if (array) {
      elements(end, start, depth + 1);
    } else {
      pairs(end, 1, start, depth + 1);
    }
    endList(start, Words.VALUES);
    out.writeByte('}');
  }

  private void elements(int end, int start, int depth) throws MalformedOtlpException {
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag == message(1)) {
        separate(start);
        out.writeByte('{');
        valuePiece(in.readContentEnd(end), out.size(), depth);
        out.writeByte('}');
      } else {
        in.skip(tag, end);
      }
    }
  }

  /** Opens a list that may turn out to be empty, and returns where its first element begins. */
  private int beginList(byte[] name) {
    member(name);
    return out.size();
  }

  private void separate(int start) {
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
  private void member(byte[] name) {
    if (out.array()[out.size() - 1] != '{') {
      out.writeByte(',');
    }
    out.write(name);
  }

  private void textMember(byte[] name, String text) {
    member(name);
    var bytes = Words.utf8(text);
    quoted(bytes, 0, bytes.length);
  }

  private void quotedMember(byte[] name, long value) {
    member(name);
    out.writeByte('"');
    decimal(value);
    out.writeByte('"');
  }

  private void text(byte[] name, long place) {
    if (from(place) != to(place)) {
      member(name);
      quoted(place);
    }
  }

  private void quoted(long place) {
    quoted(in.bytes, from(place), to(place));
  }

  private void quoted(byte[] bytes, int from, int to) {
    out.writeByte('"');
    int p = from;
    while (true) {
      int plain = Words.plainUntil(bytes, p, to);
      out.write(bytes, p, plain - p);
      if (plain == to) {
        break;
      }
      escaped(bytes[plain]);
      p = plain + 1;
    }
    out.writeByte('"');
  }

  private void escaped(byte b) {
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

  private void nanos(byte[] name, long value) {
    if (value != 0) {
      quotedMember(name, value);
    }
  }

  /** A number of 32 bits. */
  private void unsigned(byte[] name, long value) {
    if ((int) value != 0) {
      member(name);
      decimal(value & 0xFFFF_FFFFL);
    }
  }

  private void decimal(long value) {
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
  private void number(double value) {
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

  private void base64(long place) {
    out.writeByte('"');
    out.write(Base64.getEncoder().encode(Arrays.copyOfRange(in.bytes, from(place), to(place))));
    out.writeByte('"');
  }

  private void hex(byte[] name, long place) {
    if (from(place) == to(place)) {
      return;
    }
    member(name);
    out.writeByte('"');
    for (int i = from(place); i < to(place); i++) {
      out.writeByte(HEX[in.bytes[i] >> 4 & 0xF]);
      out.writeByte(HEX[in.bytes[i] & 0xF]);
    }
    out.writeByte('"');
  }

  /** The number's sixteen digits, into {@code digits} from there on. */
  private void hex(long value, int at) {
    for (int i = 0; i < 16; i++) {
      digits[at + i] = HEX[(int) (value >>> 60 - 4 * i) & 0xF];
    }
  }
}
