package dev.sluice.core.otlp;

import dev.sluice.core.domain.Limits;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Goes through the bytes of an {@code ExportLogsServiceRequest} once, materialising nothing, and
 * shows each log record to a sink.
 *
 * <p>Entrances judge requests with it and the log store builds columns with it: because both sides
 * share this one walker they cannot disagree on what a record is. What is not protobuf fails the
 * whole walk ({@link MalformedOtlpException}); what is protobuf but breaks a limit costs one
 * record, or, when it lies in a resource or scope, the records under it.
 *
 * <p>Rules of proto3 that are kept: fields in any order, the last of repeated scalars wins, unknown
 * fields and unexpected wire types are passed over, enum value 0 is never on the wire. Field
 * numbers are those of {@code opentelemetry/proto/logs/v1/logs.proto} (1.x).
 *
 * <p>Where it is not protobuf-java, on purpose: text that is not UTF-8 costs one record and not the
 * request; the inside of unknown fields, and of lists and maps below the permitted depth, is not
 * looked at; a list or map sent in two pieces is its last piece; groups, field numbers of more than
 * 32 bits and lengths of more than 31 are malformed.
 *
 * <p>For one thread at a time; reusable, and free of allocation once warm.
 */
public final class OtlpWalker {
  private static final byte[] NO_BYTES = {};

  private final Limits limits;
  private final ProtobufInput in = new ProtobufInput();
  private final OtlpRecord log = new OtlpRecord();
  private final AnyValue scratch = new AnyValue();

  /** Nested values are only judged; where they lie is found again when they are written. */
  private final AnyValue nestedScratch = new AnyValue();

  private int records;
  private long expandedBytes;
  private @Nullable String violationField;
  private String violationReason = "";
  private @Nullable String resourceField;
  private String resourceReason = "";
  private @Nullable String scopeField;
  private String scopeReason = "";

  public OtlpWalker(Limits limits) {
    this.limits = limits;
  }

  /** Records seen by the last walk, refused ones included. */
  public int records() {
    return records;
  }

  /** Size of the last walk's accepted records, each with its resource and scope. */
  public long expandedBytes() {
    return expandedBytes;
  }

  /**
   * Walks {@code bytes[offset, offset + length)}. Nothing that the sink saw may be used when this
   * throws.
   */
  public void walk(byte[] bytes, int offset, int length, OtlpRecordVisitor visitor)
      throws MalformedOtlpException {
    Objects.checkFromIndexSize(offset, length, bytes.length);
    in.bytes = bytes;
    in.position = offset;
    log.bytes = bytes;
    records = 0;
    expandedBytes = 0;
    int end = offset + length;
    try {
      while (in.position < end) {
        int tag = in.readTag(end);
        if (tag == field(1, ProtobufInput.BYTES)) {
          walkResourceLogs(in.readContentEnd(end), visitor);
        } else {
          in.skip(tag, end);
        }
      }
    } finally {
      in.bytes = NO_BYTES; // an idle walker must not keep a whole request alive
      log.bytes = NO_BYTES;
    }
  }

  private static int field(int number, int wireType) {
    return number << 3 | wireType;
  }

  private void walkResourceLogs(int end, OtlpRecordVisitor visitor) throws MalformedOtlpException {
    int start = in.position;
    readResource(end);
    resourceField = violationField;
    resourceReason = violationReason;
    in.position = start;
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag == field(2, ProtobufInput.BYTES)) {
        walkScopeLogs(in.readContentEnd(end), visitor);
      } else {
        in.skip(tag, end);
      }
    }
  }

  /** A pass of its own, since the resource and the schema URL may follow the records. */
  private void readResource(int end) throws MalformedOtlpException {
    var resource = log.resource;
    resource.generation++;
    resource.attributes.clear();
    resource.schemaUrlOffset = 0;
    resource.schemaUrlLength = 0;
    resource.encodedBytes = 0;
    resource.offset = 0;
    resource.length = 0;
    violationField = null;
    while (in.position < end) {
      int start = in.position;
      int tag = in.readTag(end);
      switch (tag) {
        case 1 << 3 | ProtobufInput.BYTES -> {
          int close = in.readContentEnd(end);
          resource.encodedBytes += close - in.position;
          resource.offset = resource.length == 0 ? start : resource.offset;
          resource.length = close - resource.offset;
          readAttributes(close, 1, resource.attributes, "resource.attributes");
        }
        case 3 << 3 | ProtobufInput.BYTES -> {
          int close = in.readContentEnd(end);
          resource.schemaUrlOffset = in.position;
          resource.schemaUrlLength = close - in.position;
          readText(close, limits.maxNameBytes(), "resource.schema_url");
        }
        default -> in.skip(tag, end);
      }
    }
  }

  private void walkScopeLogs(int end, OtlpRecordVisitor visitor) throws MalformedOtlpException {
    int start = in.position;
    readScope(end);
    scopeField = violationField;
    scopeReason = violationReason;
    in.position = start;
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag == field(2, ProtobufInput.BYTES)) {
        walkLogRecord(in.readContentEnd(end), visitor);
      } else {
        in.skip(tag, end);
      }
    }
  }

  private void readScope(int end) throws MalformedOtlpException {
    var scope = log.scope;
    scope.generation++;
    scope.attributes.clear();
    scope.nameOffset = 0;
    scope.nameLength = 0;
    scope.versionOffset = 0;
    scope.versionLength = 0;
    scope.schemaUrlOffset = 0;
    scope.schemaUrlLength = 0;
    scope.encodedBytes = 0;
    violationField = null;
    while (in.position < end) {
      int tag = in.readTag(end);
      switch (tag) {
        case 1 << 3 | ProtobufInput.BYTES -> {
          int close = in.readContentEnd(end);
          scope.encodedBytes += close - in.position;
          readInstrumentationScope(close);
        }
        case 3 << 3 | ProtobufInput.BYTES -> {
          int close = in.readContentEnd(end);
          scope.schemaUrlOffset = in.position;
          scope.schemaUrlLength = close - in.position;
          readText(close, limits.maxNameBytes(), "scope.schema_url");
        }
        default -> in.skip(tag, end);
      }
    }
  }

  private void readInstrumentationScope(int end) throws MalformedOtlpException {
    var scope = log.scope;
    while (in.position < end) {
      int tag = in.readTag(end);
      switch (tag) {
        case 1 << 3 | ProtobufInput.BYTES -> {
          int close = in.readContentEnd(end);
          scope.nameOffset = in.position;
          scope.nameLength = close - in.position;
          readText(close, limits.maxNameBytes(), "scope.name");
        }
        case 2 << 3 | ProtobufInput.BYTES -> {
          int close = in.readContentEnd(end);
          scope.versionOffset = in.position;
          scope.versionLength = close - in.position;
          readText(close, limits.maxNameBytes(), "scope.version");
        }
        case 3 << 3 | ProtobufInput.BYTES ->
            readKeyValue(in.readContentEnd(end), scope.attributes, "scope.attributes");
        default -> in.skip(tag, end);
      }
    }
    checkAttributeCount(scope.attributes, "scope.attributes");
  }

  /** A message whose only field of interest is a list of key-value pairs. */
  private void readAttributes(int end, int number, Attributes into, String name)
      throws MalformedOtlpException {
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag == field(number, ProtobufInput.BYTES)) {
        readKeyValue(in.readContentEnd(end), into, name);
      } else {
        in.skip(tag, end);
      }
    }
    checkAttributeCount(into, name);
  }

  private void checkAttributeCount(Attributes attributes, String name) {
    if (attributes.size() > limits.maxAttributes()) {
      recordViolation(name, "more attributes than the limit of " + limits.maxAttributes());
    }
  }

  private void walkLogRecord(int end, OtlpRecordVisitor visitor) throws MalformedOtlpException {
    var l = log;
    l.clear();
    l.ordinal = records++;
    l.encodedBytes = end - in.position;
    violationField = null;
    while (in.position < end) {
      int tag = in.readTag(end);
      switch (tag) {
        case 1 << 3 | ProtobufInput.FIXED64 -> l.timeNanos = in.readFixed64(end);
        case 11 << 3 | ProtobufInput.FIXED64 -> l.observedNanos = in.readFixed64(end);
        case 2 << 3 | ProtobufInput.VARINT -> l.severityNumber = (int) in.readVarint(end);
        case 3 << 3 | ProtobufInput.BYTES -> {
          int close = in.readContentEnd(end);
          l.severityTextOffset = in.position;
          l.severityTextLength = close - in.position;
          readText(close, limits.maxNameBytes(), "severity_text");
        }
        case 5 << 3 | ProtobufInput.BYTES -> {
          int close = in.readContentEnd(end);
          readAnyValue(close, l.body, limits.maxBodyBytes(), "body", 0);
        }
        case 6 << 3 | ProtobufInput.BYTES ->
            readKeyValue(in.readContentEnd(end), l.attributes, "attributes");
        case 7 << 3 | ProtobufInput.VARINT -> l.droppedAttributes = (int) in.readVarint(end);
        case 8 << 3 | ProtobufInput.FIXED32 -> l.flags = in.readFixed32(end);
        case 9 << 3 | ProtobufInput.BYTES -> {
          int close = in.readContentEnd(end);
          l.traceIdOffset = in.position;
          l.traceIdLength = close - in.position;
          in.position = close;
        }
        case 10 << 3 | ProtobufInput.BYTES -> {
          int close = in.readContentEnd(end);
          l.spanIdOffset = in.position;
          l.spanIdLength = close - in.position;
          in.position = close;
        }
        case 12 << 3 | ProtobufInput.BYTES -> {
          int close = in.readContentEnd(end);
          l.eventNameOffset = in.position;
          l.eventNameLength = close - in.position;
          readText(close, limits.maxNameBytes(), "event_name");
        }
        default -> in.skip(tag, end);
      }
    }
    validateAndVisit(visitor);
  }

  private void validateAndVisit(OtlpRecordVisitor visitor) {
    var l = log;
    if (l.timeNanos < 0) {
      recordViolation(
          "time_unix_nano", "beyond 2262-04-11T23:47:16.854775807Z, the last that can be stored");
    }
    if (l.observedNanos < 0) {
      recordViolation(
          "observed_time_unix_nano",
          "beyond 2262-04-11T23:47:16.854775807Z, the last that can be stored");
    }
    if (l.severityNumber < 0 || l.severityNumber > 24) {
      recordViolation("severity_number", "is " + l.severityNumber + ", known are 0 to 24");
    }
    if (l.traceIdLength != 0 && l.traceIdLength != 16) {
      recordViolation("trace_id", "has " + l.traceIdLength + " bytes, must have 16 or none");
    }
    if (l.spanIdLength != 0 && l.spanIdLength != 8) {
      recordViolation("span_id", "has " + l.spanIdLength + " bytes, must have 8 or none");
    }
    checkAttributeCount(l.attributes, "attributes");
    if (resourceField != null) {
      visitor.visitRejected(l.ordinal, resourceField, resourceReason);
    } else if (scopeField != null) {
      visitor.visitRejected(l.ordinal, scopeField, scopeReason);
    } else if (violationField != null) {
      visitor.visitRejected(l.ordinal, violationField, violationReason);
    } else {
      expandedBytes += l.expandedBytes();
      visitor.visitRecord(l);
    }
  }

  /** The first fault of a record is the one reported. */
  private void recordViolation(String field, String reason) {
    if (violationField == null) {
      violationField = field;
      violationReason = reason;
    }
  }

  private void readText(int end, int limit, String name) {
    if (checkSize(end - in.position, limit, name) && !Utf8.isValid(in.bytes, in.position, end)) {
      recordViolation(name, "is not valid UTF-8");
    }
    in.position = end;
  }

  private boolean checkSize(int length, int limit, String name) {
    if (length > limit) {
      recordViolation(name, "has " + length + " bytes, limit " + limit);
    }
    return length <= limit;
  }

  private void readKeyValue(int end, Attributes into, String name) throws MalformedOtlpException {
    int keyOffset = 0;
    int keyLength = 0;
    boolean validBefore = violationField == null;
    scratch.clear();
    while (in.position < end) {
      int tag = in.readTag(end);
      switch (tag) {
        case 1 << 3 | ProtobufInput.BYTES -> {
          int close = in.readContentEnd(end);
          keyOffset = in.position;
          keyLength = close - in.position;
          readText(close, limits.maxKeyBytes(), name);
        }
        case 2 << 3 | ProtobufInput.BYTES ->
            readAnyValue(in.readContentEnd(end), scratch, limits.maxValueBytes(), name, 0);
        default -> in.skip(tag, end);
      }
    }
    if (validBefore && violationField != null) {
      violationField = name + keySuffix(keyOffset, keyLength);
    }
    // one more than allowed is enough to refuse the record; no need to remember ten thousand
    if (into.size() <= limits.maxAttributes()) {
      var value = into.put(in.bytes, keyOffset, keyLength);
      value.kind = scratch.kind;
      value.offset = scratch.offset;
      value.length = scratch.length;
      value.bits = scratch.bits;
    }
  }

  /** The key, for the verdict's field, when it is fit to be shown. */
  private String keySuffix(int offset, int length) {
    return length <= limits.maxKeyBytes() && Utf8.isValid(in.bytes, offset, offset + length)
        ? "." + new String(in.bytes, offset, length, StandardCharsets.UTF_8)
        : "";
  }

  private void readAnyValue(int end, AnyValue into, int limit, String name, int depth)
      throws MalformedOtlpException {
    while (in.position < end) {
      int tag = in.readTag(end);
      switch (tag) {
        case 1 << 3 | ProtobufInput.BYTES -> {
          int close = in.readContentEnd(end);
          into.kind = AnyValue.Kind.STRING;
          into.offset = in.position;
          into.length = close - in.position;
          readText(close, limit, name);
        }
        case 2 << 3 | ProtobufInput.VARINT -> {
          into.kind = AnyValue.Kind.BOOL;
          into.bits = in.readVarint(end) != 0 ? 1 : 0;
        }
        case 3 << 3 | ProtobufInput.VARINT -> {
          into.kind = AnyValue.Kind.INT;
          into.bits = in.readVarint(end);
        }
        case 4 << 3 | ProtobufInput.FIXED64 -> {
          into.kind = AnyValue.Kind.DOUBLE;
          into.bits = in.readFixed64(end);
        }
        case 5 << 3 | ProtobufInput.BYTES -> {
          int close = in.readContentEnd(end);
          checkSize(close - in.position, limit, name);
          readContainer(close, into, AnyValue.Kind.ARRAY, name, depth);
        }
        case 6 << 3 | ProtobufInput.BYTES -> {
          int close = in.readContentEnd(end);
          checkSize(close - in.position, limit, name);
          readContainer(close, into, AnyValue.Kind.MAP, name, depth);
        }
        case 7 << 3 | ProtobufInput.BYTES -> {
          int close = in.readContentEnd(end);
          into.kind = AnyValue.Kind.BYTES;
          into.offset = in.position;
          into.length = close - in.position;
          checkSize(into.length, limit, name);
          in.position = close;
        }
        default -> in.skip(tag, end);
      }
    }
  }

  private void readContainer(int close, AnyValue into, AnyValue.Kind kind, String name, int depth)
      throws MalformedOtlpException {
    int start = in.position;
    if (depth >= limits.maxNesting()) {
      recordViolation(name, "is nested deeper than the limit of " + limits.maxNesting());
      in.position = close;
    } else if (kind == AnyValue.Kind.ARRAY) {
      readElements(close, name, depth + 1);
    } else {
      readEntries(close, name, depth + 1);
    }
    into.kind = kind;
    into.offset = start;
    into.length = close - start;
  }

  private void readElements(int end, String name, int depth) throws MalformedOtlpException {
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag == field(1, ProtobufInput.BYTES)) {
        readAnyValue(in.readContentEnd(end), nestedScratch, Integer.MAX_VALUE, name, depth);
      } else {
        in.skip(tag, end);
      }
    }
  }

  private void readEntries(int end, String name, int depth) throws MalformedOtlpException {
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag != field(1, ProtobufInput.BYTES)) {
        in.skip(tag, end);
        continue;
      }
      int close = in.readContentEnd(end);
      while (in.position < close) {
        int inner = in.readTag(close);
        switch (inner) {
          case 1 << 3 | ProtobufInput.BYTES ->
              readText(in.readContentEnd(close), limits.maxKeyBytes(), name);
          case 2 << 3 | ProtobufInput.BYTES ->
              readAnyValue(in.readContentEnd(close), nestedScratch, Integer.MAX_VALUE, name, depth);
          default -> in.skip(inner, close);
        }
      }
    }
  }
}
