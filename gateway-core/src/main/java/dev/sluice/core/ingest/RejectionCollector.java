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
  private final BitSet filteredOrdinals = new BitSet(0);
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
      filteredOrdinals.set(log.ordinal());
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

  /**
   * Returns the status of each item of the request.
   *
   * @param ordinals the number of records in the OTLP bytes
   */
  ItemStatuses items(int ordinals) {
    if (rejectedCount + filteredCount + payload.rejectedCount() == 0) {
      return ItemStatuses.ALL_ACCEPTED;
    }
    var rejected = new BitSet();
    rejected.set(0, ordinals + payload.rejectedCount());
    var filtered = new BitSet();
    for (int ordinal = 0; ordinal < ordinals; ordinal++) {
      int item = payload.rowIndexOf(ordinal);
      boolean isFiltered = filteredOrdinals.get(ordinal);
      filtered.set(item, isFiltered);
      rejected.set(item, excludedOrdinals.get(ordinal) && !isFiltered);
    }
    return new ItemStatuses(rejected, filtered);
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
