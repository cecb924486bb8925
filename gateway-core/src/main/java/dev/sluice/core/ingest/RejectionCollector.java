package dev.sluice.core.ingest;

import dev.sluice.core.domain.Rejection;
import dev.sluice.core.otlp.OtlpRecord;
import dev.sluice.core.otlp.OtlpRecordVisitor;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.List;

/**
 * A collector of the records of one request that are not accepted: the rejected records with their
 * reasons, and the records that the allowlist filters out.
 */
final class RejectionCollector implements OtlpRecordVisitor {
  private final OtlpPayload payload;
  private final BodyAllowlist allowlist;
  private final BitSet excludedOrdinals = new BitSet(0);
  private List<Rejection> rejections = List.of();
  private int rejectedCount;
  private int filteredCount;
  private long filteredBytes;

  RejectionCollector(OtlpPayload payload, BodyAllowlist allowlist) {
    this.payload = payload;
    this.allowlist = allowlist;
  }

  @Override
  public void visitRecord(OtlpRecord log) {
    if (!allowlist.allows(log)) {
      excludedOrdinals.set(log.ordinal());
      filteredCount++;
      filteredBytes += log.expandedBytes();
    }
  }

  @Override
  public void visitRejected(int ordinal, String field, String reason) {
    if (rejectedCount == 0) {
      rejections = new ArrayList<>();
    }
    excludedOrdinals.set(ordinal);
    rejectedCount++;
    if (rejections.size() < IngestService.MAX_REJECTIONS) {
      rejections.add(new Rejection(payload.rowIndexOf(ordinal), field, reason));
    }
  }

  /** Returns the ordinals, in the OTLP bytes, of the records that are not accepted. */
  BitSet excludedOrdinals() {
    return excludedOrdinals;
  }

  int rejectedCount() {
    return rejectedCount;
  }

  /** Returns the number of valid records that the allowlist filters out. */
  int filteredCount() {
    return filteredCount;
  }

  /** Returns the size of the filtered records, each counted with its resource and scope. */
  long filteredBytes() {
    return filteredBytes;
  }

  List<Rejection> rejections() {
    if (payload.rejections().isEmpty() && payload.rowIndexes() == null) {
      return rejections;
    }
    var all = new ArrayList<>(rejections);
    all.addAll(payload.rejections());
    all.sort(Comparator.comparingInt(Rejection::index));
    return all.size() > IngestService.MAX_REJECTIONS
        ? all.subList(0, IngestService.MAX_REJECTIONS)
        : all;
  }
}
