package dev.sluice.api.protocol.json;

import dev.sluice.api.decode.DecoderBenchmark;
import dev.sluice.api.decode.SamplePayloads;
import dev.sluice.bench.Allocates;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.OtlpPayload;
import org.openjdk.jmh.annotations.Benchmark;

/**
 * Measures the conversion of a log of about 330 bytes from native JSON to OTLP: from an array, and
 * from one object per line.
 *
 * <p>The figures are those of the worst start. The parser hashes names with a seed from its start
 * time, so that an attacker cannot construct collisions, and the allocation per log depends on the
 * seed.
 */
public class NativeJsonDecoderBenchmark extends DecoderBenchmark {

  @Override
  protected OtlpPayload decode(SamplePayloads payload) {
    return NativeJsonDecoder.ofJson(payload.nativeJson(), Limits.DEFAULT);
  }

  @Benchmark
  @Allocates(1198)
  public OtlpPayload array() {
    return decode(nextPayload());
  }

  @Benchmark
  @Allocates(1988)
  public OtlpPayload lines() {
    return NativeJsonDecoder.ofNdjson(nextPayload().nativeNdjson(), Limits.DEFAULT);
  }
}
