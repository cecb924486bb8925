package dev.sluice.core.otlp;

import dev.sluice.core.domain.Limits;
import java.util.ArrayList;
import java.util.List;

/** Copies all visited records; asserts that ordinals increase and ranges are within the array. */
final class CopyingVisitor implements OtlpRecordVisitor {
  record RejectedRecord(int ordinal, String field, String reason) {}

  final List<FlatLog> logs = new ArrayList<>();
  final List<Integer> ordinals = new ArrayList<>();
  final List<RejectedRecord> rejected = new ArrayList<>();
  private final int from;
  private final int to;
  private int next;

  CopyingVisitor(int from, int to) {
    this.from = from;
    this.to = to;
  }

  static CopyingVisitor walk(Limits limits, byte[] bytes) throws MalformedOtlpException {
    var sink = new CopyingVisitor(0, bytes.length);
    new OtlpWalker(limits).walk(bytes, 0, bytes.length, sink);
    return sink;
  }

  @Override
  public void visitRecord(OtlpRecord log) {
    assertNextOrdinal(log.ordinal());
    assertInside(log.severityTextOffset(), log.severityTextLength());
    assertInside(log.traceIdOffset(), log.traceIdLength());
    assertInside(log.spanIdOffset(), log.spanIdLength());
    assertInside(log.eventNameOffset(), log.eventNameLength());
    assertInside(log.body());
    assertInside(log.attributes());
    assertInside(log.resource().attributes());
    assertInside(log.resource().schemaUrlOffset(), log.resource().schemaUrlLength());
    assertInside(log.scope().attributes());
    assertInside(log.scope().nameOffset(), log.scope().nameLength());
    assertInside(log.scope().versionOffset(), log.scope().versionLength());
    assertInside(log.scope().schemaUrlOffset(), log.scope().schemaUrlLength());
    ordinals.add(log.ordinal());
    logs.add(FlatLog.copied(log));
  }

  @Override
  public void visitRejected(int ordinal, String field, String reason) {
    assertNextOrdinal(ordinal);
    rejected.add(new RejectedRecord(ordinal, field, reason));
  }

  private void assertNextOrdinal(int ordinal) {
    if (ordinal != next++) {
      throw new AssertionError("ordinal " + ordinal + " of record number " + (next - 1));
    }
  }

  private void assertInside(Attributes attributes) {
    for (int i = 0; i < attributes.size(); i++) {
      assertInside(attributes.keyOffset(i), attributes.keyLength(i));
      assertInside(attributes.value(i));
    }
  }

  private void assertInside(AnyValue value) {
    assertInside(value.offset(), value.length());
  }

  private void assertInside(int offset, int length) {
    if (length != 0 && (length < 0 || offset < from || offset + length > to)) {
      throw new AssertionError(
          "place [%d, %d) lies outside [%d, %d)".formatted(offset, offset + length, from, to));
    }
  }
}
