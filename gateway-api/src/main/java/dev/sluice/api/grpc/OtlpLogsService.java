package dev.sluice.api.grpc;

import dev.sluice.core.ingest.IngestResult;
import dev.sluice.core.ingest.OtlpPayload;
import dev.sluice.core.ingest.OtlpResponses;
import io.grpc.BindableService;
import io.grpc.MethodDescriptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServiceDescriptor;
import io.grpc.Status;
import io.grpc.protobuf.ProtoFileDescriptorSupplier;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import io.opentelemetry.proto.collector.logs.v1.LogsServiceProto;

/**
 * OTLP over gRPC: {@code opentelemetry.proto.collector.logs.v1.LogsService/Export}.
 *
 * <p>Messages stay bytes: the walker reads them as they are. The generated classes only tell
 * reflection what they look like.
 *
 * <p>What passes is UNAVAILABLE with RetryInfo, which clients honour and retry; a mistake of the
 * client is INVALID_ARGUMENT or RESOURCE_EXHAUSTED without it; never INTERNAL, on which they drop.
 */
public final class OtlpLogsService implements BindableService {
  private static final String ENTRANCE = "otlp-grpc";
  private static final String SERVICE = "opentelemetry.proto.collector.logs.v1.LogsService";
  private static final MethodDescriptor<RawMessage, byte[]> EXPORT =
      MethodDescriptor.<RawMessage, byte[]>newBuilder()
          .setType(MethodDescriptor.MethodType.UNARY)
          .setFullMethodName(MethodDescriptor.generateFullMethodName(SERVICE, "Export"))
          .setRequestMarshaller(RawMessage.MARSHALLER)
          .setResponseMarshaller(RawMessage.BYTES)
          .build();

  private final GrpcIntake intake;

  public OtlpLogsService(GrpcIntake intake) {
    this.intake = intake;
  }

  @Override
  public ServerServiceDefinition bindService() {
    var descriptor =
        ServiceDescriptor.newBuilder(SERVICE)
            .setSchemaDescriptor((ProtoFileDescriptorSupplier) LogsServiceProto::getDescriptor)
            .addMethod(EXPORT)
            .build();
    return ServerServiceDefinition.builder(descriptor)
        .addMethod(
            EXPORT, Asking.granted(ENTRANCE, intake, ServerCalls.asyncUnaryCall(this::export)))
        .build();
  }

  private void export(RawMessage request, StreamObserver<byte[]> answer) {
    var _ =
        intake
            .take(ENTRANCE, request, OtlpPayload::of)
            .thenAccept(result -> answer(result, answer));
  }

  private static void answer(IngestResult ingested, StreamObserver<byte[]> answer) {
    switch (ingested) {
      case IngestResult.Accepted accepted -> {
        answer.onNext(OtlpResponses.exportResponse(accepted));
        answer.onCompleted();
      }
      case IngestResult.Malformed(var reason) ->
          answer.onError(
              Status.INVALID_ARGUMENT.withDescription("malformed OTLP: " + reason).asException());
      case IngestResult.TooLarge(var reason) ->
          answer.onError(Status.RESOURCE_EXHAUSTED.withDescription(reason).asException());
      case IngestResult.Unavailable(var retryAfter) ->
          answer.onError(GrpcIntake.unavailable(retryAfter));
      case IngestResult.InProgress(var retryAfter) ->
          answer.onError(GrpcIntake.underWay(retryAfter));
      case IngestResult.IdempotencyKeyReused() -> answer.onError(GrpcIntake.keyReused());
    }
  }
}
