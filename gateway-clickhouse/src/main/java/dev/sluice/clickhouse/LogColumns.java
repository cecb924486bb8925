package dev.sluice.clickhouse;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;

import dev.sluice.clickhouse.Column.Plain;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.otlp.AnyValue;
import dev.sluice.core.otlp.AnyValueFormatter;
import dev.sluice.core.otlp.Attributes;
import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.MalformedOtlpException;
import dev.sluice.core.otlp.OtlpRecord;
import dev.sluice.core.otlp.OtlpRecordVisitor;
import dev.sluice.core.otlp.OtlpWalker;
import dev.sluice.core.port.LogEnricher;
import dev.sluice.core.port.LogStore.DeliverySlice;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Turns the OTLP bytes of batches into the columns of {@code otel_logs}, in one walk and without an
 * object per record.
 *
 * <p>What a resource or scope has in common is encoded when the walker enters it and copied into
 * each row. For one thread at a time; reused, and free of allocation once warm.
 */
final class LogColumns implements OtlpRecordVisitor {
  /** Of the columns of a row that are the same size in all. */
  private static final int ROW_BYTES = 128;

  private static final byte[] HEX = "0123456789abcdef".getBytes(UTF_8);
  private static final byte[] SERVICE_NAME = "service.name".getBytes(UTF_8);

  /** In a block: some megabytes, while ClickHouse reads a row of small blocks at greater cost. */
  private static final int BLOCK_ROWS = 32_768;

  /** In a block whose rows are large. */
  private static final long BLOCK_BYTES = 16L << 20;

  /** Takes blocks; what was in one is gone when it returns. */
  interface Outlet {
    void take(NativeBlock block) throws IOException, InterruptedException;
  }

  private final OtlpWalker walker = new OtlpWalker(Limits.TRUSTED);
  private final NativeBlock block = new NativeBlock();

  private final Plain timestamp = block.plain("Timestamp", "DateTime64(9)");
  private final Plain traceId = block.plain("TraceId", "String");
  private final Plain spanId = block.plain("SpanId", "String");
  private final Plain traceFlags = block.plain("TraceFlags", "UInt8");
  private final LowCardinalityColumn severityText = block.lowCardinality("SeverityText");
  private final Plain severityNumber = block.plain("SeverityNumber", "UInt8");
  private final LowCardinalityColumn serviceName = block.lowCardinality("ServiceName");
  private final Plain body = block.plain("Body", "String");
  private final LowCardinalityColumn resourceSchemaUrl = block.lowCardinality("ResourceSchemaUrl");
  private final MapColumn resourceAttributes = block.map("ResourceAttributes");
  private final LowCardinalityColumn scopeSchemaUrl = block.lowCardinality("ScopeSchemaUrl");
  private final Plain scopeName = block.plain("ScopeName", "String");
  private final LowCardinalityColumn scopeVersion = block.lowCardinality("ScopeVersion");
  private final MapColumn scopeAttributes = block.map("ScopeAttributes");
  private final MapColumn logAttributes = block.map("LogAttributes");
  private final Plain eventName = block.plain("EventName", "String");
  private final Plain id = block.plain("Id", "FixedString(16)");
  private final LowCardinalityColumn tenant = block.lowCardinality("Tenant");
  private final Plain templateId = block.plain("TemplateId", "UUID");
  private final Plain observedTimestamp = block.plain("ObservedTimestamp", "DateTime64(9)");
  private final Plain receivedTimestamp = block.plain("ReceivedTimestamp", "DateTime64(9)");
  private final Plain flags = block.plain("Flags", "UInt32");
  private final Plain droppedAttributes = block.plain("DroppedAttributesCount", "UInt32");
  private final Plain resourceId = block.plain("ResourceId", "UUID");

  private final ByteOutput scratch = new ByteOutput(1 << 8);
  private final byte[] hex = new byte[33];

  private final MapColumn.Shared resource = new MapColumn.Shared();
  private long resourceSerial;
  private int resourceService;
  private int resourceSchema;
  private long resourceIdHigh;
  private long resourceIdLow;
  private final MapColumn.Shared scope = new MapColumn.Shared();
  private long scopeSerial;
  private int scopeVersionNumber;
  private int scopeSchema;

  // of the walk under way
  private @Nullable LogBatch batch;
  private @Nullable Pass pass;
  private LogEnricher naming = LogEnricher.NONE;

  /** Size of what the pass has taken, by the records alone: names may be others the next time. */
  private long taken;

  private int tenantNumber;
  private int accepted;
  private int base; // place in the portion of the batch's first record; negative before it
  private int end; // of the portion
  private @Nullable String fault;

  /** Of every block. */
  List<String> names() {
    return block.names();
  }

  /** Whether its memory should be given up. */
  boolean oversized() {
    return block.oversized();
  }

  /**
   * Makes blocks of what the pass takes of the portion, each of whole batches. Batches without any
   * record of the portion are not looked at.
   *
   * @param names what the rows say of what they share, which is to be written before they are
   * @return rows in all blocks
   * @throws Unstorable when a batch is not what its envelope says
   */
  long fill(DeliverySlice portion, Pass taking, LogEnricher names, Outlet outlet)
      throws IOException, InterruptedException {
    clear();
    fault = null;
    taken = 0;
    long rows = 0;
    long handed = 0;
    pass = taking;
    naming = names;
    base = -portion.from();
    end = portion.records();
    try {
      for (var next : portion.batches()) {
        if (base < end && base + next.records() > 0) {
          walk(next);
        }
        base += next.records();
        if (block.rows() >= BLOCK_ROWS || taken - handed >= BLOCK_BYTES) {
          rows += hand(outlet);
          handed = taken;
        }
      }
      return block.rows() == 0 ? rows : rows + hand(outlet);
    } finally {
      batch = null; // this object outlives the delivery, which is large
      pass = null;
      naming = LogEnricher.NONE;
    }
  }

  private int hand(Outlet outlet) throws IOException, InterruptedException {
    int rows = block.rows();
    outlet.take(block);
    clear();
    return rows;
  }

  /** What is known of resource and scope are numbers within the block. */
  private void clear() {
    block.clear();
    resourceSerial = Long.MIN_VALUE;
    scopeSerial = Long.MIN_VALUE;
  }

  private void walk(LogBatch next) throws InterruptedException {
    batch = next;
    accepted = 0;
    naming.beginBatch(next);
    var name = next.tenant().getBytes(UTF_8);
    tenantNumber = tenant.numberOf(name, 0, name.length);
    var otlp = unpacked(next);
    try {
      walker.walk(otlp, 0, otlp.length, this);
    } catch (MalformedOtlpException e) {
      throw new Unstorable(next, "it is no OTLP: " + e.getMessage());
    }
    if (fault != null) {
      throw new Unstorable(next, fault);
    }
    if (accepted != next.records()) {
      throw new Unstorable(
          next, "it has %d records, its envelope says %d".formatted(accepted, next.records()));
    }
  }

  private static byte[] unpacked(LogBatch batch) {
    try {
      return batch.otlp();
    } catch (IllegalStateException e) {
      throw new Unstorable(batch, String.valueOf(e.getMessage()));
    }
  }

  @Override
  public void visitRejected(int ordinal, String field, String reason) {
    if (fault == null && !batch().excludedOrdinals().get(ordinal)) {
      // the field's name may hold a key that a client chose: not for logs
      fault = "record " + ordinal + ", accepted before, is now refused: " + reason;
    }
  }

  @Override
  public void visitRecord(OtlpRecord log) {
    var from = batch();
    if (from.excludedOrdinals().get(log.ordinal())) {
      return;
    }
    int n = accepted++;
    int place = base + n;
    if (place < 0 || place >= end) {
      return;
    }
    long received = from.receivedNanos();
    long observed = log.observedNanos() != 0 ? log.observedNanos() : received;
    long time = log.timeNanos() != 0 ? log.timeNanos() : observed;
    if (!pass().takes(time, taken)) {
      return;
    }
    taken += ROW_BYTES + log.expandedBytes();
    timestamp.values.writeLong(time);
    observedTimestamp.values.writeLong(observed);
    receivedTimestamp.values.writeLong(received);
    var identity = from.firstId().plus(n);
    id.values.writeLongBigEndian(identity.high());
    id.values.writeLongBigEndian(identity.low());
    tenant.add(tenantNumber);
    resource(log);
    scope(log);
    record(log);
    block.endRow();
  }

  private void record(OtlpRecord log) {
    var bytes = log.bytes();
    hex(bytes, log.traceIdOffset(), log.traceIdLength(), traceId.values);
    hex(bytes, log.spanIdOffset(), log.spanIdLength(), spanId.values);
    traceFlags.values.writeByte(log.flags());
    flags.values.writeInt(log.flags());
    severityText.add(
        severityText.numberOf(bytes, log.severityTextOffset(), log.severityTextLength()));
    severityNumber.values.writeByte(log.severityNumber());
    body(log.body(), bytes);
    logAttributes.add(log.attributes(), bytes, naming);
    eventName.writeString(bytes, log.eventNameOffset(), log.eventNameLength());
    droppedAttributes.values.writeInt(log.droppedAttributes());
  }

  private void body(AnyValue value, byte[] bytes) {
    MapColumn.append(value, bytes, body.values, scratch);
    switch (value.kind()) {
      case STRING -> naming.resolveTemplate(bytes, value.offset(), value.length());
      case EMPTY -> naming.resolveTemplate(bytes, 0, 0);
      case BOOL, INT, DOUBLE, ARRAY, MAP, BYTES ->
          naming.resolveTemplate(scratch.array(), 0, scratch.size());
    }
    templateId.values.writeLong(naming.idHigh());
    templateId.values.writeLong(naming.idLow());
  }

  private void resource(OtlpRecord log) {
    var from = log.resource();
    if (from.generation() != resourceSerial) {
      var bytes = log.bytes();
      resourceSerial = from.generation();
      resourceAttributes.encode(from.attributes(), bytes, resource);
      resourceService = service(from.attributes(), bytes);
      resourceSchema =
          resourceSchemaUrl.numberOf(bytes, from.schemaUrlOffset(), from.schemaUrlLength());
      naming.resolveResource(from, bytes);
      resourceIdHigh = naming.idHigh();
      resourceIdLow = naming.idLow();
    }
    resourceId.values.writeLong(resourceIdHigh);
    resourceId.values.writeLong(resourceIdLow);
    resourceAttributes.add(resource);
    serviceName.add(resourceService);
    resourceSchemaUrl.add(resourceSchema);
  }

  private int service(Attributes attributes, byte[] bytes) {
    for (int i = 0; i < attributes.size(); i++) {
      int offset = attributes.keyOffset(i);
      if (attributes.keyLength(i) == SERVICE_NAME.length
          && Arrays.equals(
              bytes, offset, offset + SERVICE_NAME.length, SERVICE_NAME, 0, SERVICE_NAME.length)) {
        return service(attributes.value(i), bytes);
      }
    }
    naming.beginService(bytes, 0, 0);
    return 0;
  }

  private int service(AnyValue value, byte[] bytes) {
    scratch.clear();
    AnyValueFormatter.append(value, bytes, scratch);
    naming.beginService(scratch.array(), 0, scratch.size());
    return serviceName.numberOf(scratch.array(), 0, scratch.size());
  }

  private void scope(OtlpRecord log) {
    var from = log.scope();
    var bytes = log.bytes();
    if (from.generation() != scopeSerial) {
      scopeSerial = from.generation();
      scopeAttributes.encode(from.attributes(), bytes, scope);
      scopeVersionNumber = scopeVersion.numberOf(bytes, from.versionOffset(), from.versionLength());
      scopeSchema = scopeSchemaUrl.numberOf(bytes, from.schemaUrlOffset(), from.schemaUrlLength());
    }
    scopeAttributes.add(scope);
    scopeName.writeString(bytes, from.nameOffset(), from.nameLength());
    scopeVersion.add(scopeVersionNumber);
    scopeSchemaUrl.add(scopeSchema);
  }

  /** Appends lower-case hexadecimal digits as a string; {@code length} is at most 16. */
  private void hex(byte[] bytes, int offset, int length, ByteOutput into) {
    if (length == 0) {
      into.writeByte(0);
      return;
    }
    var digits = hex;
    digits[0] = (byte) (2 * length);
    int q = 1;
    for (int i = offset; i < offset + length; i++) {
      digits[q++] = HEX[bytes[i] >> 4 & 0xF];
      digits[q++] = HEX[bytes[i] & 0xF];
    }
    into.write(digits, 0, q);
  }

  private LogBatch batch() {
    return requireNonNull(batch);
  }

  private Pass pass() {
    return requireNonNull(pass);
  }

  /** A batch can never be stored: a fault of ours, or of the spool. */
  static final class Unstorable extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final UUID appendId;
    private final String reason;

    Unstorable(LogBatch batch, String reason) {
      super("batch " + batch.appendId() + ": " + reason);
      this.appendId = batch.appendId();
      this.reason = reason;
    }

    /** Of the batch. */
    UUID appendId() {
      return appendId;
    }

    String reason() {
      return reason;
    }
  }
}
