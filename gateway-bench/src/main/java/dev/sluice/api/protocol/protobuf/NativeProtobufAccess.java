package dev.sluice.api.protocol.protobuf;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.OtlpPayload;

/** Benchmark access to the decoder of a protocol. */
public final class NativeProtobufAccess {
  private NativeProtobufAccess() {}

  public static OtlpPayload ofRequest(byte[] body, Limits limits) {
    return NativeProtobufDecoder.ofRequest(body, limits);
  }
}
