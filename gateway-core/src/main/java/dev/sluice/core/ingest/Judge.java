package dev.sluice.core.ingest;

import dev.sluice.core.domain.Rejection;
import dev.sluice.core.otlp.OtlpRecord;
import dev.sluice.core.otlp.OtlpSink;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.List;

/**
 * Remembers which records of a request are not taken: who was refused and why, who was left out.
 */
final class Judge implements OtlpSink {
  private final OtlpPayload payload;
  private final AllowList allowed;
  private final BitSet refused = new BitSet(0);
  private List<Rejection> rejections = List.of();
  private int refusedCount;
  private int filteredCount;
  private long filteredBytes;

  Judge(OtlpPayload payload, AllowList allowed) {
    this.payload = payload;
    this.allowed = allowed;
  }

  @Override
  public void accepted(OtlpRecord log) {
    if (!allowed.takes(log)) {
      refused.set(log.ordinal());
      filteredCount++;
      filteredBytes += log.expandedBytes();
    }
  }

  @Override
  public void refused(int ordinal, String field, String reason) {
    if (refusedCount == 0) {
      rejections = new ArrayList<>();
    }
    refused.set(ordinal);
    refusedCount++;
    if (rejections.size() < IngestLogs.MAX_VERDICTS) {
      rejections.add(new Rejection(payload.rowOf(ordinal), field, reason));
    }
  }

  /** Who is not taken, by the order of the bytes. */
  BitSet refused() {
    return refused;
  }

  int refusedCount() {
    return refusedCount;
  }

  /** Good ones that the filter left out. */
  int filteredCount() {
    return filteredCount;
  }

  /** Their bytes, each with its resource and scope. */
  long filteredBytes() {
    return filteredBytes;
  }

  List<Rejection> verdicts() {
    if (payload.refused().isEmpty() && payload.rows() == null) {
      return rejections;
    }
    var all = new ArrayList<>(rejections);
    all.addAll(payload.refused());
    all.sort(Comparator.comparingInt(Rejection::index));
    return all.size() > IngestLogs.MAX_VERDICTS ? all.subList(0, IngestLogs.MAX_VERDICTS) : all;
  }
}
