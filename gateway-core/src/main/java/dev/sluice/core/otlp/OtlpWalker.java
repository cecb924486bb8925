package dev.sluice.core.otlp;

import dev.sluice.core.domain.Limits;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A streaming parser for the bytes of an {@code ExportLogsServiceRequest}. It builds no objects; it
 * validates each log record and passes a view of it to an {@link OtlpRecordVisitor}.
 *
 * <p>The protocols validate requests with this walker and the log store builds columns with it.
 * Because both sides share one walker, they cannot disagree on the boundaries or the content of a
 * record. Bytes that are not protobuf fail the whole walk ({@link MalformedOtlpException}). A
 * protobuf field that exceeds a limit rejects one record; if the field belongs to a resource or
 * scope, it rejects all records of that resource or scope.
 *
 * <p>Proto3 rules that the walker follows: fields come in any order, the last occurrence of a
 * scalar wins, unknown fields and unexpected wire types are skipped, enum value 0 is never on the
 * wire. The field numbers are in {@link OtlpFields}.
 *
 * <p>Deliberate differences from protobuf-java: text that is not valid UTF-8 rejects one record and
 * not the request; the content of unknown fields, and of lists and maps below the permitted depth,
 * is not parsed; of a list or map sent in two parts, the last part is the value; groups, field
 * numbers of more than 32 bits and lengths of more than 31 bits are malformed.
 *
 * <p>For one thread at a time; reusable, and free of allocation once its buffers have grown.
 */
public final class OtlpWalker {
  private static final byte[] NO_BYTES = {};

  private final Limits limits;
  private final int minAttributeBytes;
  private final boolean countsRepetitions;
  private final ProtobufInput in = new ProtobufInput();
  private final OtlpRecord log = new OtlpRecord();
  private final AnyValue scratch = new AnyValue();

  /** Receives nested values, which are only validated; the formatter parses them again. */
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
    this(limits, 0);
  }

  /**
   * Creates a walker that skips small attributes of records, unread.
   *
   * @param minAttributeBytes the minimum encoded size of an attribute of a record, in bytes
   */
  OtlpWalker(Limits limits, int minAttributeBytes) {
    this.limits = limits;
    this.minAttributeBytes = minAttributeBytes;
    this.countsRepetitions = !limits.equals(Limits.TRUSTED);
  }

  /** Returns the number of records in the last walk, including rejected records. */
  public int records() {
    return records;
  }

  /** Returns the total size of the last walk's valid records, each with its resource and scope. */
  public long expandedBytes() {
    return expandedBytes;
  }

  /**
   * Returns the total size of the records, each with its resource and scope.
   *
   * @param otlp an {@code ExportLogsServiceRequest} with accepted records alone
   * @throws IllegalArgumentException if the bytes are not OTLP, or a record is not valid
   */
  public static int expandedBytes(byte[] otlp) {
    var walker = new OtlpWalker(Limits.TRUSTED);
    try {
      walker.walk(
          otlp,
          0,
          otlp.length,
          new OtlpRecordVisitor() {
            @Override
            public void visitRecord(OtlpRecord log) {}

            @Override
            public void visitRejected(int ordinal, String field, String reason) {
              throw new IllegalArgumentException("an accepted record is now rejected: " + reason);
            }
          });
    } catch (MalformedOtlpException e) {
      throw new IllegalArgumentException("invalid OTLP: " + e.getMessage(), e);
    }
    return Math.toIntExact(walker.expandedBytes());
  }

  /**
   * Walks {@code bytes[offset, offset + length)}. If this method throws, the caller must discard
   * everything that the visitor has received.
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
        if (tag == OtlpFields.EXPORT_LOGS_SERVICE_REQUEST_RESOURCE_LOGS_TAG) {
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

  private void walkResourceLogs(int end, OtlpRecordVisitor visitor) throws MalformedOtlpException {
    int start = in.position;
    readResourceAndSchemaUrl(end);
    resourceField = violationField;
    resourceReason = violationReason;
    in.position = start;
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag == OtlpFields.RESOURCE_LOGS_SCOPE_LOGS_TAG) {
        walkScopeLogs(in.readContentEnd(end), visitor);
      } else {
        in.skip(tag, end);
      }
    }
  }

  /**
   * Reads the resource and its schema URL in a separate pass, because they may follow the records
   * on the wire.
   */
  private void readResourceAndSchemaUrl(int end) throws MalformedOtlpException {
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
        case OtlpFields.RESOURCE_LOGS_RESOURCE_TAG -> {
          int close = in.readContentEnd(end);
          resource.encodedBytes += close - in.position;
          resource.offset = resource.length == 0 ? start : resource.offset;
          resource.length = close - resource.offset;
          readResource(close, resource.attributes);
        }
        case OtlpFields.RESOURCE_LOGS_SCHEMA_URL_TAG -> {
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
    readScopeAndSchemaUrl(end);
    scopeField = violationField;
    scopeReason = violationReason;
    in.position = start;
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag == OtlpFields.SCOPE_LOGS_LOG_RECORDS_TAG) {
        walkLogRecord(in.readContentEnd(end), visitor);
      } else {
        in.skip(tag, end);
      }
    }
  }

  private void readScopeAndSchemaUrl(int end) throws MalformedOtlpException {
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
        case OtlpFields.SCOPE_LOGS_SCOPE_TAG -> {
          int close = in.readContentEnd(end);
          scope.encodedBytes += close - in.position;
          readInstrumentationScope(close);
        }
        case OtlpFields.SCOPE_LOGS_SCHEMA_URL_TAG -> {
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
        case OtlpFields.INSTRUMENTATION_SCOPE_NAME_TAG -> {
          int close = in.readContentEnd(end);
          scope.nameOffset = in.position;
          scope.nameLength = close - in.position;
          readText(close, limits.maxNameBytes(), "scope.name");
        }
        case OtlpFields.INSTRUMENTATION_SCOPE_VERSION_TAG -> {
          int close = in.readContentEnd(end);
          scope.versionOffset = in.position;
          scope.versionLength = close - in.position;
          readText(close, limits.maxNameBytes(), "scope.version");
        }
        case OtlpFields.INSTRUMENTATION_SCOPE_ATTRIBUTES_TAG ->
            readKeyValue(in.readContentEnd(end), scope.attributes, "scope.attributes");
        default -> in.skip(tag, end);
      }
    }
    checkAttributeCount(scope.attributes, "scope.attributes");
  }

  /** Reads a {@code Resource}, whose attributes are the only field in use. */
  private void readResource(int end, Attributes into) throws MalformedOtlpException {
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag == OtlpFields.RESOURCE_ATTRIBUTES_TAG) {
        readKeyValue(in.readContentEnd(end), into, "resource.attributes");
      } else {
        in.skip(tag, end);
      }
    }
    checkAttributeCount(into, "resource.attributes");
  }

  private void checkAttributeCount(Attributes attributes, String name) {
    if (countedAttributes(attributes) > limits.maxAttributes()) {
      recordViolation(name, "more attributes than the limit of " + limits.maxAttributes());
    }
  }

  /**
   * Returns the number of attributes that counts against the limit. Repetitions count, since each
   * costs as much as another key; but a batch that was accepted without counting them stays valid.
   */
  private int countedAttributes(Attributes attributes) {
    return countsRepetitions ? attributes.sentCount() : attributes.size();
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
        case OtlpFields.LOG_RECORD_TIME_UNIX_NANO_TAG -> l.timeNanos = in.readFixed64(end);
        case OtlpFields.LOG_RECORD_OBSERVED_TIME_UNIX_NANO_TAG ->
            l.observedNanos = in.readFixed64(end);
        case OtlpFields.LOG_RECORD_SEVERITY_NUMBER_TAG ->
            l.severityNumber = (int) in.readVarint(end);
        case OtlpFields.LOG_RECORD_SEVERITY_TEXT_TAG -> {
          int close = in.readContentEnd(end);
          l.severityTextOffset = in.position;
          l.severityTextLength = close - in.position;
          readText(close, limits.maxNameBytes(), "severity_text");
        }
        case OtlpFields.LOG_RECORD_BODY_TAG -> {
          int close = in.readContentEnd(end);
          readAnyValue(close, l.body, limits.maxBodyBytes(), "body", 0);
        }
        case OtlpFields.LOG_RECORD_ATTRIBUTES_TAG -> {
          int close = in.readContentEnd(end);
          if (close - in.position >= minAttributeBytes) {
            readKeyValue(close, l.attributes, "attributes");
          } else {
            in.position = close;
          }
        }
        case OtlpFields.LOG_RECORD_DROPPED_ATTRIBUTES_COUNT_TAG ->
            l.droppedAttributes = (int) in.readVarint(end);
        case OtlpFields.LOG_RECORD_FLAGS_TAG -> l.flags = in.readFixed32(end);
        case OtlpFields.LOG_RECORD_TRACE_ID_TAG -> {
          int close = in.readContentEnd(end);
          l.traceIdOffset = in.position;
          l.traceIdLength = close - in.position;
          in.position = close;
        }
        case OtlpFields.LOG_RECORD_SPAN_ID_TAG -> {
          int close = in.readContentEnd(end);
          l.spanIdOffset = in.position;
          l.spanIdLength = close - in.position;
          in.position = close;
        }
        case OtlpFields.LOG_RECORD_EVENT_NAME_TAG -> {
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
          "time_unix_nano", "is beyond 2262-04-11T23:47:16.854775807Z, the latest storable time");
    }
    if (l.observedNanos < 0) {
      recordViolation(
          "observed_time_unix_nano",
          "is beyond 2262-04-11T23:47:16.854775807Z, the latest storable time");
    }
    if (l.severityNumber < 0 || l.severityNumber > 24) {
      recordViolation("severity_number", "is " + l.severityNumber + ", must be from 0 to 24");
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

  /** Records the first violation of a record; later violations are ignored. */
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
        case OtlpFields.KEY_VALUE_KEY_TAG -> {
          int close = in.readContentEnd(end);
          keyOffset = in.position;
          keyLength = close - in.position;
          readText(close, limits.maxKeyBytes(), name);
        }
        case OtlpFields.KEY_VALUE_VALUE_TAG ->
            readAnyValue(in.readContentEnd(end), scratch, limits.maxValueBytes(), name, 0);
        default -> in.skip(tag, end);
      }
    }
    if (validBefore && violationField != null) {
      violationField = name + keySuffix(keyOffset, keyLength);
    }
    // one attribute above the limit suffices to reject the record, so the others are not kept
    if (countedAttributes(into) <= limits.maxAttributes()) {
      var value = into.put(in.bytes, keyOffset, keyLength);
      value.kind = scratch.kind;
      value.offset = scratch.offset;
      value.length = scratch.length;
      value.bits = scratch.bits;
    }
  }

  /** Returns {@code .key} for the field name of a rejection; empty if the key is not printable. */
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
        case OtlpFields.ANY_VALUE_STRING_VALUE_TAG -> {
          int close = in.readContentEnd(end);
          into.kind = AnyValue.Kind.STRING;
          into.offset = in.position;
          into.length = close - in.position;
          readText(close, limit, name);
        }
        case OtlpFields.ANY_VALUE_BOOL_VALUE_TAG -> {
          into.kind = AnyValue.Kind.BOOL;
          into.bits = in.readVarint(end) != 0 ? 1 : 0;
        }
        case OtlpFields.ANY_VALUE_INT_VALUE_TAG -> {
          into.kind = AnyValue.Kind.INT;
          into.bits = in.readVarint(end);
        }
        case OtlpFields.ANY_VALUE_DOUBLE_VALUE_TAG -> {
          into.kind = AnyValue.Kind.DOUBLE;
          into.bits = in.readFixed64(end);
        }
        case OtlpFields.ANY_VALUE_ARRAY_VALUE_TAG -> {
          int close = in.readContentEnd(end);
          checkSize(close - in.position, limit, name);
          readContainer(close, into, AnyValue.Kind.ARRAY, name, depth);
        }
        case OtlpFields.ANY_VALUE_KVLIST_VALUE_TAG -> {
          int close = in.readContentEnd(end);
          checkSize(close - in.position, limit, name);
          readContainer(close, into, AnyValue.Kind.MAP, name, depth);
        }
        case OtlpFields.ANY_VALUE_BYTES_VALUE_TAG -> {
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
      if (tag == OtlpFields.ARRAY_VALUE_VALUES_TAG) {
        readAnyValue(in.readContentEnd(end), nestedScratch, Integer.MAX_VALUE, name, depth);
      } else {
        in.skip(tag, end);
      }
    }
  }

  private void readEntries(int end, String name, int depth) throws MalformedOtlpException {
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag != OtlpFields.KEY_VALUE_LIST_VALUES_TAG) {
        in.skip(tag, end);
        continue;
      }
      int close = in.readContentEnd(end);
      while (in.position < close) {
        int inner = in.readTag(close);
        switch (inner) {
          case OtlpFields.KEY_VALUE_KEY_TAG ->
              readText(in.readContentEnd(close), limits.maxKeyBytes(), name);
          case OtlpFields.KEY_VALUE_VALUE_TAG ->
              readAnyValue(in.readContentEnd(close), nestedScratch, Integer.MAX_VALUE, name, depth);
          default -> in.skip(inner, close);
        }
      }
    }
  }
}
