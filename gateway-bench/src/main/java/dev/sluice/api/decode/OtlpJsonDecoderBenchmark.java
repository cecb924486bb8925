package dev.sluice.api.decode;

import dev.sluice.bench.Allocates;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.OtlpPayload;
import org.openjdk.jmh.annotations.Benchmark;

/** Measures the conversion of a log from OTLP in JSON to OTLP in protobuf. */
public class OtlpJsonDecoderBenchmark extends DecoderBenchmark {

  @Override
  protected OtlpPayload decode(SamplePayloads payload) {
    return OtlpJsonDecoder.read(payload.otlpJson(), Limits.DEFAULT);
  }

  @Benchmark
  @Allocates(1245)
  public OtlpPayload otlpJson() {
    return decode(nextPayload());
  }
}
