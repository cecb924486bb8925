package dev.sluice.api.grpc;

import dev.sluice.core.ingest.Ingested;
import dev.sluice.core.ingest.OtlpAnswer;
import dev.sluice.core.ingest.OtlpPayload;
import io.grpc.BindableService;
import io.grpc.MethodDescriptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import org.jspecify.annotations.Nullable;

/**
 * OTLP over gRPC: {@code opentelemetry.proto.collector.logs.v1.LogsService/Export}.
 *
 * <p>Messages stay bytes. Generated classes would build a tree of every log only for it to be
 * walked once and thrown away; the walker reads the bytes as they are.
 *
 * <p>What passes is UNAVAILABLE with RetryInfo, which clients honour and retry; a mistake of the
 * client is INVALID_ARGUMENT or RESOURCE_EXHAUSTED without it; never INTERNAL, on which they drop.
 */
public final class OtlpLogsService implements BindableService {
  private static final String ENTRANCE = "otlp-grpc";
  private static final String SERVICE = "opentelemetry.proto.collector.logs.v1.LogsService";
  private static final MethodDescriptor<Request, byte[]> EXPORT =
      MethodDescriptor.<Request, byte[]>newBuilder()
          .setType(MethodDescriptor.MethodType.UNARY)
          .setFullMethodName(MethodDescriptor.generateFullMethodName(SERVICE, "Export"))
          .setRequestMarshaller(new Requests())
          .setResponseMarshaller(new Answers())
          .build();

  private final GrpcIntake intake;

  public OtlpLogsService(GrpcIntake intake) {
    this.intake = intake;
  }

  @Override
  public ServerServiceDefinition bindService() {
    return ServerServiceDefinition.builder(SERVICE)
        .addMethod(EXPORT, ServerCalls.asyncUnaryCall(this::export))
        .build();
  }

  private void export(Request request, StreamObserver<byte[]> answer) {
    if (answer instanceof ServerCallStreamObserver<byte[]> call) {
      call.setOnCancelHandler(() -> {}); // else an answer to a client that hung up would throw
    }
    var unreadable = request.unreadable();
    if (unreadable != null) {
      answer.onError(unreadable.asException());
      return;
    }
    var _ =
        intake
            .take(ENTRANCE, request.bytes(), OtlpPayload::of)
            .thenAccept(result -> answer(result, answer));
  }

  private static void answer(Ingested ingested, StreamObserver<byte[]> answer) {
    switch (ingested) {
      case Ingested.Accepted accepted -> {
        answer.onNext(OtlpAnswer.response(accepted));
        answer.onCompleted();
      }
      case Ingested.Malformed(var reason) ->
          answer.onError(
              Status.INVALID_ARGUMENT.withDescription("malformed OTLP: " + reason).asException());
      case Ingested.TooLarge(var reason) ->
          answer.onError(Status.RESOURCE_EXHAUSTED.withDescription(reason).asException());
      case Ingested.Busy(var retryAfter) -> answer.onError(GrpcIntake.unavailable(retryAfter));
    }
  }

  /** A message as it was on the wire, or what to answer because it could not be read. */
  private record Request(byte[] bytes, @Nullable Status unreadable) {}

  /**
   * Never throws: what a marshaller throws reaches the client as UNKNOWN, whoever's fault it was.
   */
  private static final class Requests implements MethodDescriptor.Marshaller<Request> {
    private static final byte[] NOTHING = {};

    @Override
    public InputStream stream(Request value) {
      return new ByteArrayInputStream(value.bytes());
    }

    @Override
    public Request parse(InputStream stream) {
      try {
        return new Request(stream.readAllBytes(), null);
      } catch (StatusRuntimeException e) { // larger than allowed once it is decompressed
        return new Request(NOTHING, e.getStatus());
      } catch (IOException _) {
        return new Request(
            NOTHING, Status.INVALID_ARGUMENT.withDescription("message cannot be decompressed"));
      }
    }
  }

  private static final class Answers implements MethodDescriptor.Marshaller<byte[]> {
    @Override
    public InputStream stream(byte[] value) {
      return new ByteArrayInputStream(value);
    }

    @Override
    public byte[] parse(InputStream stream) {
      try {
        return stream.readAllBytes();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
