package dev.sluice.core.domain;

import static java.util.Objects.requireNonNull;

import java.time.LocalDate;
import java.util.UUID;
import java.util.function.IntFunction;

/**
 * Log records that are accepted together: the content of one spool entry.
 *
 * <p>The payload is an {@code ExportLogsServiceRequest} as the client sent it, without the rejected
 * and filtered records, or several concatenated requests; protobuf reads concatenated messages as
 * one merged message.
 *
 * <p>The caller passes ownership of the array: neither side modifies it afterwards.
 *
 * @param appendId the id of the append, the same for every retry
 * @param tenant the tenant of the records
 * @param receivedNanos the time at which the gateway received the records, in nanoseconds since
 *     1970
 * @param firstId the id of the first accepted record; the accepted record at position {@code n},
 *     from 0, has {@code firstId + n}
 * @param records the number of accepted records, at least 1
 * @param expandedBytes the size of the accepted records when each one carries its own resource and
 *     scope
 * @param payload the OTLP bytes of exactly these records
 */
public record LogBatch(
    UUID appendId,
    String tenant,
    long receivedNanos,
    LogId firstId,
    int records,
    int expandedBytes,
    Payload payload) {

  /** The OTLP bytes of a batch, which may be held compressed in memory. Thread-safe. */
  public interface Payload {
    /**
     * Returns the uncompressed OTLP bytes, from index 0 to {@link #uncompressedBytes}. A compressed
     * payload is decompressed by every call, into an array of the allocator.
     *
     * @param allocator returns an array of at least the given length
     * @throws IllegalStateException when the compressed bytes are corrupt
     */
    byte[] otlp(IntFunction<byte[]> allocator);

    /**
     * Returns exactly the uncompressed OTLP bytes; the array is new if the payload is compressed.
     */
    default byte[] otlp() {
      return otlp(byte[]::new);
    }

    /** Returns the uncompressed size in bytes. */
    int uncompressedBytes();

    /** Returns the size in bytes that the payload occupies in memory, compressed or not. */
    int retainedBytes();
  }

  private record UncompressedPayload(byte[] otlp) implements Payload {
    UncompressedPayload {
      requireNonNull(otlp, "otlp");
    }

    @Override
    public byte[] otlp(IntFunction<byte[]> allocator) {
      return otlp;
    }

    @Override
    public int uncompressedBytes() {
      return otlp.length;
    }

    @Override
    public int retainedBytes() {
      return otlp.length;
    }
  }

  private static final long DAY_NANOS = 86_400_000_000_000L;

  public LogBatch {
    requireNonNull(appendId, "appendId");
    requireNonNull(tenant, "tenant");
    requireNonNull(firstId, "firstId");
    requireNonNull(payload, "payload");
    if (records < 1) {
      throw new IllegalArgumentException("records is " + records + ", must be positive");
    }
  }

  /** Creates a batch whose payload is the uncompressed bytes. */
  public LogBatch(
      UUID appendId,
      String tenant,
      long receivedNanos,
      LogId firstId,
      int records,
      int expandedBytes,
      byte[] otlp) {
    this(
        appendId,
        tenant,
        receivedNanos,
        firstId,
        records,
        expandedBytes,
        new UncompressedPayload(otlp));
  }

  /**
   * Returns the uncompressed bytes of {@link #payload}. Call it once per read: a compressed payload
   * is decompressed by every call, into a new array.
   */
  public byte[] otlp() {
    return payload.otlp();
  }

  /** Returns the receive day, in UTC, by which the ledger counts the records. */
  public LocalDate day() {
    return LocalDate.ofEpochDay(Math.floorDiv(receivedNanos, DAY_NANOS));
  }

  /**
   * Returns the memory in bytes that the delivery of the batch needs: the larger of the expanded
   * size and the payload, since the payload also holds unknown fields.
   */
  public int memoryWeight() {
    return Math.max(expandedBytes, payload.uncompressedBytes());
  }
}
