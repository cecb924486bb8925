package dev.sluice.core.domain;

import static java.util.Objects.requireNonNull;

import java.time.LocalDate;
import java.util.BitSet;
import java.util.UUID;

/**
 * Log records that were accepted together: what one spool entry holds.
 *
 * <p>{@code contents} are an {@code ExportLogsServiceRequest} exactly as it was sent (or several,
 * one after the other, which by the rules of protobuf is their union). Records that were refused
 * are still in the bytes; {@code refused} says which, so that whoever reads them later needs no
 * limits to reach the same verdict.
 *
 * <p>The arrays are handed over: neither side changes them afterwards.
 *
 * @param appendId identity of the append, the same however often it is tried
 * @param tenant whose logs these are
 * @param receivedNanos when the gateway had them, nanoseconds since 1970
 * @param firstId identity of the first accepted record; the n-th accepted one has {@code firstId +
 *     n}
 * @param records accepted records, at least 1
 * @param expandedBytes what the accepted records come to when each carries its own resource
 * @param excludedOrdinals ordinals, in the bytes, of the records that are not part of the batch
 * @param payload the records
 */
public record LogBatch(
    UUID appendId,
    String tenant,
    long receivedNanos,
    LogId firstId,
    int records,
    int expandedBytes,
    BitSet excludedOrdinals,
    Payload payload) {

  /** The records' bytes, which may be packed while they wait. Safe for use by many threads. */
  public interface Payload {
    /**
     * Where they are packed, anew with each call.
     *
     * @throws IllegalStateException when they are not what they should be
     */
    byte[] otlp();

    /** Of them, unpacked. */
    int uncompressedBytes();

    /** What they take while they wait. */
    int retainedBytes();
  }

  private record UncompressedPayload(byte[] otlp) implements Payload {
    UncompressedPayload {
      requireNonNull(otlp, "otlp");
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
    requireNonNull(excludedOrdinals, "refused");
    requireNonNull(payload, "contents");
    if (records < 1) {
      throw new IllegalArgumentException("a batch of " + records + " records");
    }
  }

  /** Of bytes that are as they were sent. */
  public LogBatch(
      UUID appendId,
      String tenant,
      long receivedNanos,
      LogId firstId,
      int records,
      int expandedBytes,
      BitSet excludedOrdinals,
      byte[] otlp) {
    this(
        appendId,
        tenant,
        receivedNanos,
        firstId,
        records,
        expandedBytes,
        excludedOrdinals,
        new UncompressedPayload(otlp));
  }

  /** Those of {@link #payload}, unpacked: to be asked for once by whoever reads them. */
  public byte[] otlp() {
    return payload.otlp();
  }

  /** On which the gateway had the records, in UTC: they are accounted for by it. */
  public LocalDate day() {
    return LocalDate.ofEpochDay(Math.floorDiv(receivedNanos, DAY_NANOS));
  }

  /** What it takes to deliver the batch: its bytes hold refused records and unknown fields too. */
  public int memoryWeight() {
    return Math.max(expandedBytes, payload.uncompressedBytes());
  }
}
