package dev.sluice.core.otlp;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.LogBatch;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * Walks the records of batches, and checks that a batch has the records that its metadata states.
 *
 * <p>For one thread at a time; reusable. Batches are decompressed into one buffer, so that a walk
 * allocates nothing once the buffer has grown.
 */
public final class BatchWalker {
  /** Maximum size of the buffer between two walks, in bytes. */
  private static final int MAX_BUFFER_BYTES = 4 << 20;

  private static final byte[] NO_BYTES = {};

  /** Receives the records of a batch, in the order of their log ids. */
  @FunctionalInterface
  public interface BatchVisitor {

    /**
     * Receives a record.
     *
     * @param index index of the record in the batch, from 0
     * @param log a view of the record, valid until this method returns
     */
    void visitRecord(int index, OtlpRecord log);
  }

  private final OtlpWalker walker;
  private final IntFunction<byte[]> allocator = this::growBuffer;
  private final Records records = new Records();
  private byte[] buffer = NO_BYTES;

  /** Creates a walker of whole records. */
  public BatchWalker() {
    this(0);
  }

  /**
   * @param minAttributeBytes the minimum encoded size of an attribute of a record in bytes; the
   *     visitor does not see smaller ones
   */
  public BatchWalker(int minAttributeBytes) {
    walker = new OtlpWalker(Limits.TRUSTED, minAttributeBytes);
  }

  private byte[] growBuffer(int bytes) {
    if (buffer.length < bytes) {
      buffer = new byte[bytes];
    }
    return buffer;
  }

  /**
   * Walks a batch.
   *
   * @throws UnstorableBatchException when the content of the batch does not match its metadata,
   *     possibly after the visitor has received records: neither these records nor ids resolved for
   *     them may be stored with the batch
   */
  public void walk(LogBatch batch, BatchVisitor visitor) {
    records.begin(batch, visitor);
    try {
      walker.walk(decompress(batch), 0, batch.payload().uncompressedBytes(), records);
    } catch (MalformedOtlpException e) {
      throw new UnstorableBatchException(batch, "malformed OTLP: " + e.getMessage());
    } finally {
      if (buffer.length > MAX_BUFFER_BYTES) {
        buffer = NO_BYTES;
      }
    }
    if (records.error != null) {
      throw new UnstorableBatchException(batch, records.error);
    }
    if (records.walked != batch.records()) {
      throw new UnstorableBatchException(
          batch, "%d records, but the envelope has %d".formatted(records.walked, batch.records()));
    }
  }

  private byte[] decompress(LogBatch batch) {
    try {
      return batch.payload().otlp(allocator);
    } catch (IllegalStateException e) {
      throw new UnstorableBatchException(batch, String.valueOf(e.getMessage()));
    }
  }

  /** Leaves out the records that the batch should not have. */
  private static final class Records implements OtlpRecordVisitor {
    private int expected;
    private BatchVisitor visitor = (_, _) -> {};
    private int walked;
    private @Nullable String error;

    void begin(LogBatch batch, BatchVisitor next) {
      expected = batch.records();
      visitor = next;
      walked = 0;
      error = null;
    }

    @Override
    public void visitRecord(OtlpRecord log) {
      int index = walked++;
      if (index < expected) {
        visitor.visitRecord(index, log);
      }
    }

    @Override
    public void visitRejected(int ordinal, String field, String reason) {
      if (error == null) {
        // without the field name, which may contain an attribute key of the client
        error = "record " + ordinal + " was accepted at ingest and is now rejected: " + reason;
      }
    }
  }
}
