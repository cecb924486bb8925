package dev.sluice.api.protocol.protobuf;

import dev.sluice.api.decode.DecoderBenchmark;
import dev.sluice.api.decode.SamplePayloads;
import dev.sluice.bench.Allocates;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.OtlpPayload;
import org.openjdk.jmh.annotations.Benchmark;

/** Measures the conversion of a log from {@code sluice.v1} in protobuf to OTLP. */
public class NativeProtobufDecoderBenchmark extends DecoderBenchmark {

  @Override
  protected OtlpPayload decode(SamplePayloads payload) {
    return NativeProtobufDecoder.ofRequest(payload.nativeProtobuf(), Limits.DEFAULT);
  }

  @Benchmark
  @Allocates(273.7)
  public OtlpPayload nativeProtobuf() {
    return decode(nextPayload());
  }
}
