package dev.sluice.core.ingest;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.port.IdempotencyStore.IdempotencyKey;
import org.jspecify.annotations.Nullable;

/** The decoder of a protocol, from a decompressed request body to OTLP bytes. */
@FunctionalInterface
public interface PayloadDecoder {
  /** The decoder of OTLP protobuf, which is passed on as it is. */
  PayloadDecoder OTLP = (body, _, _) -> OtlpPayload.of(body);

  /**
   * Decodes a body.
   *
   * @param body the body, which becomes part of the payload or is not modified
   * @param memory the memory of the request; a decoder that decompresses adds to it. The pipeline
   *     adds the bytes of the payload
   * @throws DecodeException when the body does not match the format or exceeds a limit
   * @throws MemoryBudgetExceededException when all requests together exceed the budget
   */
  OtlpPayload decode(byte[] body, Limits limits, MemoryReservation memory);

  /**
   * Returns the idempotency key of the request; null when it has none. A protocol whose clients
   * retry without a key derives one from the body.
   *
   * @throws DecodeException when the body does not match the format
   */
  default @Nullable IdempotencyKey idempotencyKey(RequestContext context, byte[] body) {
    var key = context.idempotencyKey();
    return key == null ? null : context.toIdempotencyKey(key, body);
  }

  /** Whether the decoder decompresses, so that a short body can take long. */
  default boolean decompresses() {
    return false;
  }
}
