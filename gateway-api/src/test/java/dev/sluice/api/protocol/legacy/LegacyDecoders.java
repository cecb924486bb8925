package dev.sluice.api.protocol.legacy;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.OtlpPayload;

/** Test access to a decoder that has no HTTP route. */
public final class LegacyDecoders {
  private LegacyDecoders() {}

  public static OtlpPayload ofIngestLogsRequest(byte[] body, Limits limits) {
    return LegacyLogDecoder.ofIngestLogsRequest(body, limits);
  }
}
