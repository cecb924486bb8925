package dev.sluice.api.protocol.json;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.OtlpPayload;

/** Benchmark access to the decoder of a protocol. */
public final class NativeJsonAccess {
  private NativeJsonAccess() {}

  public static OtlpPayload ofJson(byte[] body, Limits limits) {
    return NativeJsonDecoder.ofJson(body, limits);
  }

  public static OtlpPayload ofNdjson(byte[] body, Limits limits) {
    return NativeJsonDecoder.ofNdjson(body, limits);
  }
}
