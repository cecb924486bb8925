package dev.sluice.clickhouse;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;

import dev.sluice.clickhouse.Column.PlainColumn;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.RecordIds;
import dev.sluice.core.otlp.AnyValue;
import dev.sluice.core.otlp.AnyValueFormatter;
import dev.sluice.core.otlp.BatchWalker;
import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.OtlpRecord;
import dev.sluice.core.otlp.UnstorableBatchException;
import dev.sluice.core.port.LogStore.DeliverySlice;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Converts the OTLP bytes of batches to columns of {@code otel_logs}, in one pass and without an
 * object for each record.
 *
 * <p>The shared values of a resource or scope are encoded when the walker enters it, and copied
 * into each row. Not thread-safe; reusable, and free of allocation after warm-up.
 */
final class LogBlockBuilder implements BatchWalker.BatchVisitor {
  /** Size of the fixed-size columns of a row, in bytes. */
  private static final int ROW_BYTES = 128;

  private static final byte[] HEX = "0123456789abcdef".getBytes(UTF_8);

  /**
   * Number of rows of a full block, some megabytes; with smaller blocks, ClickHouse spends more CPU
   * for each row.
   */
  private static final int BLOCK_ROWS = 32_768;

  /** Maximum size of a block with large rows, in bytes. */
  private static final long BLOCK_BYTES = 16L << 20;

  /** Receives blocks. The content of a block is only valid until the method returns. */
  interface BlockConsumer {
    void accept(NativeBlock block) throws IOException;
  }

  private final BatchWalker walker = new BatchWalker();
  private final NativeBlock block = new NativeBlock();

  private final PlainColumn timestamp = block.addPlain("Timestamp", "DateTime64(9)");
  private final PlainColumn traceId = block.addPlain("TraceId", "String");
  private final PlainColumn spanId = block.addPlain("SpanId", "String");
  private final PlainColumn traceFlags = block.addPlain("TraceFlags", "UInt8");
  private final LowCardinalityColumn severityText = block.addLowCardinality("SeverityText");
  private final PlainColumn severityNumber = block.addPlain("SeverityNumber", "UInt8");
  private final LowCardinalityColumn serviceName = block.addLowCardinality("ServiceName");
  private final PlainColumn body = block.addPlain("Body", "String");
  private final LowCardinalityColumn resourceSchemaUrl =
      block.addLowCardinality("ResourceSchemaUrl");
  private final MapColumn resourceAttributes = block.addMap("ResourceAttributes");
  private final LowCardinalityColumn scopeSchemaUrl = block.addLowCardinality("ScopeSchemaUrl");
  private final PlainColumn scopeName = block.addPlain("ScopeName", "String");
  private final LowCardinalityColumn scopeVersion = block.addLowCardinality("ScopeVersion");
  private final MapColumn scopeAttributes = block.addMap("ScopeAttributes");
  private final MapColumn logAttributes = block.addMap("LogAttributes");
  private final PlainColumn eventName = block.addPlain("EventName", "String");
  private final PlainColumn id = block.addPlain("Id", "FixedString(16)");
  private final LowCardinalityColumn tenant = block.addLowCardinality("Tenant");
  private final PlainColumn templateId = block.addPlain("TemplateId", "UUID");
  private final PlainColumn observedTimestamp =
      block.addPlain("ObservedTimestamp", "DateTime64(9)");
  private final PlainColumn receivedTimestamp =
      block.addPlain("ReceivedTimestamp", "DateTime64(9)");
  private final PlainColumn flags = block.addPlain("Flags", "UInt32");
  private final PlainColumn droppedAttributes = block.addPlain("DroppedAttributesCount", "UInt32");
  private final PlainColumn resourceId = block.addPlain("ResourceId", "UUID");

  private final ByteOutput scratch = new ByteOutput(1 << 8);
  private final byte[] hex = new byte[33];

  private final MapColumn.EncodedAttributes resource = new MapColumn.EncodedAttributes();
  private long resourceGeneration;
  private int resourceServiceIndex;
  private int resourceSchemaIndex;
  private final MapColumn.EncodedAttributes scope = new MapColumn.EncodedAttributes();
  private long scopeGeneration;
  private int scopeVersionIndex;
  private int scopeSchemaIndex;

  // State of the current walk.
  private @Nullable LogBatch currentBatch;
  private @Nullable InsertPartitioner currentPartitioner;
  private RecordIds recordIds = RecordIds.NONE;

  /**
   * Size of the selected records, in bytes. It depends on the records only, since a retry by
   * another worker may have other dictionary ids.
   */
  private long selectedBytes;

  private int tenantIndex;
  private int base; // index of the batch's first record in the slice; negative before the slice
  private int from; // index of the slice's first record in the delivery
  private int end; // number of records of the slice

  /** Returns the column names of every block. */
  List<String> columnNames() {
    return block.columnNames();
  }

  /** Whether the memory of the builder should be released. */
  boolean oversized() {
    return block.oversized();
  }

  /**
   * Builds blocks of the records of the slice that the partitioner selects; each block has whole
   * batches. Skips batches without a record of the slice.
   *
   * @param ids the dictionary ids of the delivery
   * @return number of rows in all blocks
   * @throws UnstorableBatchException when the content of a batch does not match its envelope
   */
  long fill(
      DeliverySlice slice, InsertPartitioner partitioner, RecordIds ids, BlockConsumer consumer)
      throws IOException {
    clear();
    selectedBytes = 0;
    long rows = 0;
    long flushedBytes = 0;
    currentPartitioner = partitioner;
    recordIds = ids;
    from = slice.from();
    base = -from;
    end = slice.records();
    try {
      for (var next : slice.batches()) {
        if (base < end && base + next.records() > 0) {
          walk(next);
        }
        base += next.records();
        if (block.rows() >= BLOCK_ROWS || selectedBytes - flushedBytes >= BLOCK_BYTES) {
          rows += flushBlock(consumer);
          flushedBytes = selectedBytes;
        }
      }
      return block.rows() == 0 ? rows : rows + flushBlock(consumer);
    } finally {
      currentBatch = null; // releases the delivery, which is large; the builder is reused
      currentPartitioner = null;
      recordIds = RecordIds.NONE;
    }
  }

  private int flushBlock(BlockConsumer consumer) throws IOException {
    int rows = block.rows();
    consumer.accept(block);
    clear();
    return rows;
  }

  /**
   * Clears the block, with the encoded resource and scope, whose string numbers are valid within
   * the block only.
   */
  private void clear() {
    block.clear();
    resourceGeneration = Long.MIN_VALUE;
    scopeGeneration = Long.MIN_VALUE;
  }

  private void walk(LogBatch next) {
    currentBatch = next;
    var name = next.tenant().getBytes(UTF_8);
    tenantIndex = tenant.intern(name, 0, name.length);
    walker.walk(next, this);
  }

  @Override
  public void visitRecord(int index, OtlpRecord log) {
    var batch = batch();
    int position = base + index;
    if (position < 0 || position >= end) {
      return;
    }
    long received = batch.receivedNanos();
    long observed = log.observedNanos() != 0 ? log.observedNanos() : received;
    long time = log.timeNanos() != 0 ? log.timeNanos() : observed;
    if (!partitioner().offer(time, received, selectedBytes)) {
      return;
    }
    selectedBytes += ROW_BYTES + log.expandedBytes();
    timestamp.values.writeLong(time);
    observedTimestamp.values.writeLong(observed);
    receivedTimestamp.values.writeLong(received);
    var logId = batch.firstId().plus(index);
    id.values.writeLongBigEndian(logId.high());
    id.values.writeLongBigEndian(logId.low());
    tenant.add(tenantIndex);
    int record = from + position;
    templateId.values.writeLong(recordIds.templateHigh(record));
    templateId.values.writeLong(recordIds.templateLow(record));
    resourceId.values.writeLong(recordIds.resourceHigh(record));
    resourceId.values.writeLong(recordIds.resourceLow(record));
    appendResource(log);
    appendScope(log);
    appendRecord(record, log);
    block.endRow();
  }

  private void appendRecord(int record, OtlpRecord log) {
    var bytes = log.bytes();
    appendHex(bytes, log.traceIdOffset(), log.traceIdLength(), traceId.values);
    appendHex(bytes, log.spanIdOffset(), log.spanIdLength(), spanId.values);
    traceFlags.values.writeByte(log.flags());
    flags.values.writeInt(log.flags());
    severityText.add(
        severityText.intern(bytes, log.severityTextOffset(), log.severityTextLength()));
    severityNumber.values.writeByte(log.severityNumber());
    MapColumn.append(log.body(), bytes, body.values, scratch);
    logAttributes.add(log.attributes(), bytes, recordIds, record);
    eventName.writeString(bytes, log.eventNameOffset(), log.eventNameLength());
    droppedAttributes.values.writeInt(log.droppedAttributes());
  }

  private void appendResource(OtlpRecord log) {
    var from = log.resource();
    if (from.generation() != resourceGeneration) {
      var bytes = log.bytes();
      resourceGeneration = from.generation();
      resourceAttributes.encode(from.attributes(), bytes, resource);
      resourceServiceIndex = internService(from.serviceName(bytes), bytes);
      resourceSchemaIndex =
          resourceSchemaUrl.intern(bytes, from.schemaUrlOffset(), from.schemaUrlLength());
    }
    resourceAttributes.add(resource);
    serviceName.add(resourceServiceIndex);
    resourceSchemaUrl.add(resourceSchemaIndex);
  }

  private int internService(@Nullable AnyValue value, byte[] bytes) {
    if (value == null) {
      return 0;
    }
    scratch.clear();
    AnyValueFormatter.append(value, bytes, scratch);
    return serviceName.intern(scratch.array(), 0, scratch.size());
  }

  private void appendScope(OtlpRecord log) {
    var from = log.scope();
    var bytes = log.bytes();
    if (from.generation() != scopeGeneration) {
      scopeGeneration = from.generation();
      scopeAttributes.encode(from.attributes(), bytes, scope);
      scopeVersionIndex = scopeVersion.intern(bytes, from.versionOffset(), from.versionLength());
      scopeSchemaIndex =
          scopeSchemaUrl.intern(bytes, from.schemaUrlOffset(), from.schemaUrlLength());
    }
    scopeAttributes.add(scope);
    scopeName.writeString(bytes, from.nameOffset(), from.nameLength());
    scopeVersion.add(scopeVersionIndex);
    scopeSchemaUrl.add(scopeSchemaIndex);
  }

  /** Appends a string of lower-case hexadecimal digits; {@code length} is at most 16 bytes. */
  private void appendHex(byte[] bytes, int offset, int length, ByteOutput into) {
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
    return requireNonNull(currentBatch);
  }

  private InsertPartitioner partitioner() {
    return requireNonNull(currentPartitioner);
  }
}
