package dev.sluice.api.protocol.protobuf;

import com.google.protobuf.Duration;
import com.google.rpc.Code;
import dev.sluice.api.decode.NativeRejections;
import dev.sluice.api.grpc.GrpcStatuses;
import dev.sluice.core.ingest.IngestResult;
import dev.sluice.proto.v1.Ack;
import dev.sluice.proto.v1.IngestResponse;
import dev.sluice.proto.v1.Refusal;
import dev.sluice.proto.v1.Rejection;
import java.util.List;
import java.util.stream.Collectors;

/** The responses of {@code sluice.v1} to ingested messages. */
final class NativeResponses {
  private NativeResponses() {}

  static IngestResponse accepted(IngestResult.Accepted result) {
    return accepted(result, Integer.MAX_VALUE);
  }

  /**
   * Returns the response to a message with accepted records.
   *
   * @param maxRejections maximum number of rejections in detail
   */
  static IngestResponse accepted(IngestResult.Accepted result, int maxRejections) {
    return IngestResponse.newBuilder()
        .setAccepted(result.accepted())
        .addAllRejected(rejections(result, maxRejections))
        .setRejectedTotal(result.rejectedCount())
        .setAck(
            switch (result.level()) {
              case ACCEPTED -> Ack.ACK_ACCEPTED;
              case DURABLE -> Ack.ACK_DURABLE;
              case STORED -> Ack.ACK_STORED;
            })
        .setDeadLettered(result.deadLettered())
        .setFiltered(result.filtered())
        .build();
  }

  /** Returns the refusal of a message whose records are all rejected, or that has none. */
  static Refusal acceptedNone(IngestResult.Accepted result, int maxRejections) {
    return refusal(
            Code.INVALID_ARGUMENT, NativeRejections.acceptedNoneMessage(result.rejectedCount()))
        .addAllRejected(rejections(result, maxRejections))
        .build();
  }

  static Refusal malformed(String reason) {
    return refusal(Code.INVALID_ARGUMENT, reason).build();
  }

  static Refusal tooLarge(String reason) {
    return refusal(Code.RESOURCE_EXHAUSTED, reason).build();
  }

  static Refusal unavailable(java.time.Duration retryAfter) {
    return refusal(Code.UNAVAILABLE, GrpcStatuses.UNAVAILABLE_MESSAGE)
        .setRetryAfter(
            Duration.newBuilder()
                .setSeconds(retryAfter.toSeconds())
                .setNanos(retryAfter.toNanosPart()))
        .build();
  }

  private static Refusal.Builder refusal(Code code, String message) {
    return Refusal.newBuilder().setCode(code.getNumber()).setMessage(message);
  }

  private static List<Rejection> rejections(IngestResult.Accepted result, int maxRejections) {
    return NativeRejections.of(result.rejections()).stream()
        .limit(maxRejections)
        .map(
            rejection ->
                Rejection.newBuilder()
                    .setIndex(rejection.index())
                    .setField(rejection.field())
                    .setReason(rejection.reason())
                    .build())
        .collect(Collectors.toUnmodifiableList());
  }
}
