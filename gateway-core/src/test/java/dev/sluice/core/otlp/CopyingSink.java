package dev.sluice.core.otlp;

import dev.sluice.core.domain.Limits;
import java.util.ArrayList;
import java.util.List;

/** Keeps what the walker shows, and insists that ordinals count up and places lie inside. */
final class CopyingSink implements OtlpSink {
  record Refused(int ordinal, String field, String reason) {}

  final List<FlatLog> logs = new ArrayList<>();
  final List<Integer> ordinals = new ArrayList<>();
  final List<Refused> refused = new ArrayList<>();
  private final int from;
  private final int to;
  private int next;

  CopyingSink(int from, int to) {
    this.from = from;
    this.to = to;
  }

  static CopyingSink walk(Limits limits, byte[] bytes) throws MalformedOtlp {
    var sink = new CopyingSink(0, bytes.length);
    new OtlpWalker(limits).walk(bytes, 0, bytes.length, sink);
    return sink;
  }

  @Override
  public void accepted(OtlpRecord log) {
    follows(log.ordinal());
    inside(log.severityTextOffset(), log.severityTextLength());
    inside(log.traceIdOffset(), log.traceIdLength());
    inside(log.spanIdOffset(), log.spanIdLength());
    inside(log.eventNameOffset(), log.eventNameLength());
    inside(log.body());
    inside(log.attributes());
    inside(log.resource().attributes());
    inside(log.resource().schemaUrlOffset(), log.resource().schemaUrlLength());
    inside(log.scope().attributes());
    inside(log.scope().nameOffset(), log.scope().nameLength());
    inside(log.scope().versionOffset(), log.scope().versionLength());
    inside(log.scope().schemaUrlOffset(), log.scope().schemaUrlLength());
    ordinals.add(log.ordinal());
    logs.add(FlatLog.copied(log));
  }

  @Override
  public void refused(int ordinal, String field, String reason) {
    follows(ordinal);
    refused.add(new Refused(ordinal, field, reason));
  }

  private void follows(int ordinal) {
    if (ordinal != next++) {
      throw new AssertionError("record " + ordinal + " comes as number " + (next - 1));
    }
  }

  private void inside(Attributes attributes) {
    for (int i = 0; i < attributes.size(); i++) {
      inside(attributes.keyOffset(i), attributes.keyLength(i));
      inside(attributes.value(i));
    }
  }

  private void inside(AnyValue value) {
    inside(value.offset(), value.length());
  }

  private void inside(int offset, int length) {
    if (length != 0 && (length < 0 || offset < from || offset + length > to)) {
      throw new AssertionError(
          "place [%d, %d) lies outside [%d, %d)".formatted(offset, offset + length, from, to));
    }
  }
}
