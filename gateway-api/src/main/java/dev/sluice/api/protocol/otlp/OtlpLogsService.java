package dev.sluice.api.protocol.otlp;

import dev.sluice.api.grpc.GrpcIngest;
import dev.sluice.api.grpc.GrpcStatuses;
import dev.sluice.api.grpc.RawMessage;
import dev.sluice.core.ingest.IngestResult;
import dev.sluice.core.ingest.OtlpResponses;
import dev.sluice.core.ingest.PayloadDecoder;
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
 * The OTLP/gRPC service {@code opentelemetry.proto.collector.logs.v1.LogsService/Export}.
 *
 * <p>Messages are read as bytes, which the OTLP walker reads directly. Only gRPC reflection uses
 * the generated classes.
 *
 * <p>A temporary error is UNAVAILABLE with RetryInfo, after which clients retry; an error of the
 * client is INVALID_ARGUMENT or RESOURCE_EXHAUSTED without RetryInfo. The status is never INTERNAL,
 * after which clients drop the logs.
 */
final class OtlpLogsService implements BindableService {
  private static final String SERVICE = "opentelemetry.proto.collector.logs.v1.LogsService";
  static final MethodDescriptor<RawMessage, byte[]> EXPORT =
      MethodDescriptor.<RawMessage, byte[]>newBuilder()
          .setType(MethodDescriptor.MethodType.UNARY)
          .setFullMethodName(MethodDescriptor.generateFullMethodName(SERVICE, "Export"))
          .setRequestMarshaller(RawMessage.MARSHALLER)
          .setResponseMarshaller(RawMessage.BYTES)
          .build();

  private final GrpcIngest ingest;

  OtlpLogsService(GrpcIngest ingest) {
    this.ingest = ingest;
  }

  @Override
  public ServerServiceDefinition bindService() {
    var descriptor =
        ServiceDescriptor.newBuilder(SERVICE)
            .setSchemaDescriptor((ProtoFileDescriptorSupplier) LogsServiceProto::getDescriptor)
            .addMethod(EXPORT)
            .build();
    return ServerServiceDefinition.builder(descriptor)
        .addMethod(EXPORT, ServerCalls.asyncUnaryCall(this::export))
        .build();
  }

  private void export(RawMessage request, StreamObserver<byte[]> responseObserver) {
    var _ =
        ingest
            .ingest(request, PayloadDecoder.OTLP)
            .thenAccept(result -> respond(result, responseObserver));
  }

  private static void respond(IngestResult result, StreamObserver<byte[]> responseObserver) {
    switch (result) {
      case IngestResult.Accepted accepted -> {
        responseObserver.onNext(OtlpResponses.exportResponse(accepted));
        responseObserver.onCompleted();
      }
      case IngestResult.Malformed(var reason) ->
          responseObserver.onError(
              Status.INVALID_ARGUMENT.withDescription("malformed OTLP: " + reason).asException());
      case IngestResult.DecodeFailure _,
          IngestResult.TooLarge _,
          IngestResult.Unavailable _,
          IngestResult.InProgress _,
          IngestResult.IdempotencyKeyReused _ ->
          responseObserver.onError(GrpcStatuses.of(result));
    }
  }
}
