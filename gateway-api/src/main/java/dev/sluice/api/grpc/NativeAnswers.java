package dev.sluice.api.grpc;

import com.google.protobuf.Duration;
import com.google.rpc.Code;
import dev.sluice.api.decode.NativeRejections;
import dev.sluice.core.ingest.IngestResult;
import dev.sluice.proto.v1.Ack;
import dev.sluice.proto.v1.IngestResponse;
import dev.sluice.proto.v1.Refusal;
import dev.sluice.proto.v1.Rejection;
import java.util.List;
import java.util.stream.Collectors;

/** What became of a message, in the words of {@code sluice.v1}. */
final class NativeAnswers {
  private NativeAnswers() {}

  static IngestResponse accepted(IngestResult.Accepted result) {
    return accepted(result, Integer.MAX_VALUE);
  }

  /**
   * @param verdicts told in detail at most
   */
  static IngestResponse accepted(IngestResult.Accepted result, int verdicts) {
    return IngestResponse.newBuilder()
        .setAccepted(result.accepted())
        .addAllRejected(rejected(result, verdicts))
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

  /** No record was good, or there was none. */
  static Refusal nothingGood(IngestResult.Accepted result, int verdicts) {
    return refusal(
            Code.INVALID_ARGUMENT, NativeRejections.acceptedNoneMessage(result.rejectedCount()))
        .addAllRejected(rejected(result, verdicts))
        .build();
  }

  static Refusal malformed(String reason) {
    return refusal(Code.INVALID_ARGUMENT, reason).build();
  }

  static Refusal tooLarge(String reason) {
    return refusal(Code.RESOURCE_EXHAUSTED, reason).build();
  }

  static Refusal busy(java.time.Duration retryAfter) {
    return refusal(Code.UNAVAILABLE, GrpcIntake.UNAVAILABLE)
        .setRetryAfter(
            Duration.newBuilder()
                .setSeconds(retryAfter.toSeconds())
                .setNanos(retryAfter.toNanosPart()))
        .build();
  }

  private static Refusal.Builder refusal(Code code, String message) {
    return Refusal.newBuilder().setCode(code.getNumber()).setMessage(message);
  }

  private static List<Rejection> rejected(IngestResult.Accepted result, int verdicts) {
    return NativeRejections.of(result.rejections()).stream()
        .limit(verdicts)
        .map(
            verdict ->
                Rejection.newBuilder()
                    .setIndex(verdict.index())
                    .setField(verdict.field())
                    .setReason(verdict.reason())
                    .build())
        .collect(Collectors.toUnmodifiableList());
  }
}
