package dev.sluice.api.decode;

import dev.sluice.bench.HotPathBenchmark;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.OtlpPayload;
import dev.sluice.core.otlp.MalformedOtlpException;
import dev.sluice.core.otlp.OtlpRecord;
import dev.sluice.core.otlp.OtlpRecordVisitor;
import dev.sluice.core.otlp.OtlpWalker;
import java.util.SplittableRandom;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Setup;

/**
 * The payloads of the decoder benchmarks. An operation is one log of about 185 bytes of OTLP with
 * two attributes, of 500 in a payload; the benchmark cycles through 16 payloads.
 */
@OperationsPerInvocation(DecoderBenchmark.LOGS)
public abstract class DecoderBenchmark extends HotPathBenchmark {
  static final int LOGS = 500;
  private static final int BODIES = 16;

  private final SamplePayloads[] payloads = new SamplePayloads[BODIES];
  private int next;

  /** Decodes a payload of {@value #LOGS} logs. */
  protected abstract OtlpPayload decode(SamplePayloads payload);

  @Setup
  public void generate() throws MalformedOtlpException {
    var random = new SplittableRandom(42);
    for (int i = 0; i < BODIES; i++) {
      payloads[i] = SamplePayloads.of(random, LOGS);
      requireComplete(decode(payloads[i]));
    }
  }

  protected SamplePayloads nextPayload() {
    return payloads[next++ & BODIES - 1];
  }

  /** Throws when a decoder lost or rejected a log. */
  private static void requireComplete(OtlpPayload payload) throws MalformedOtlpException {
    var walker = new OtlpWalker(Limits.DEFAULT);
    walker.walk(payload.bytes(), 0, payload.length(), new AcceptingVisitor());
    if (payload.rejectedCount() != 0 || walker.records() != LOGS) {
      throw new IllegalStateException(
          "%d logs, %d rejected".formatted(walker.records(), payload.rejectedCount()));
    }
  }

  private static final class AcceptingVisitor implements OtlpRecordVisitor {
    @Override
    public void visitRecord(OtlpRecord log) {}

    @Override
    public void visitRejected(int ordinal, String field, String reason) {
      throw new IllegalStateException(field + " " + reason);
    }
  }
}
