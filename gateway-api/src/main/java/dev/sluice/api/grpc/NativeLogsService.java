package dev.sluice.api.grpc;

import dev.sluice.api.decode.NativeProtobufDecoder;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.IngestResult;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.port.LogReader;
import dev.sluice.core.search.SemanticSearch;
import dev.sluice.proto.v1.IngestResponse;
import dev.sluice.proto.v1.IngestStreamResponse;
import dev.sluice.proto.v1.LogServiceGrpc;
import dev.sluice.proto.v1.QueryResponse;
import dev.sluice.proto.v1.SearchResponse;
import io.grpc.BindableService;
import io.grpc.MethodDescriptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServiceDescriptor;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import org.jspecify.annotations.Nullable;

/**
 * Native logs over gRPC: {@code sluice.v1.LogService}. Messages with logs stay bytes; for answers
 * and questions, which are small, the generated classes will do.
 *
 * <p>What passes is UNAVAILABLE with RetryInfo; a mistake of the client is INVALID_ARGUMENT with a
 * BadRequest, or RESOURCE_EXHAUSTED. INTERNAL is left to gRPC, for calls that are none, such as one
 * without a message.
 */
public final class NativeLogsService implements BindableService {
  static final String ENTRANCE = "grpc";

  private static final MethodDescriptor<RawMessage, IngestResponse> INGEST =
      raw(LogServiceGrpc.getIngestMethod());
  private static final MethodDescriptor<RawMessage, IngestStreamResponse> INGEST_STREAM =
      raw(LogServiceGrpc.getIngestStreamMethod());
  private static final MethodDescriptor<RawMessage, QueryResponse> QUERY =
      raw(LogServiceGrpc.getQueryMethod());
  private static final MethodDescriptor<RawMessage, SearchResponse> SEARCH =
      raw(LogServiceGrpc.getSearchMethod());

  private final @Nullable GrpcIntake intake;
  private final Limits limits;
  private final NativeQueries queries;
  private final NativeSearches searches;

  /**
   * @param intake the way in; null when this process does not take logs, the methods for which are
   *     UNIMPLEMENTED then
   * @param reader the way back
   * @param budget what logs that were read count against until the client has taken them
   */
  public NativeLogsService(
      @Nullable GrpcIntake intake,
      Limits limits,
      LogReader reader,
      SemanticSearch search,
      MemoryBudget budget) {
    this.intake = intake;
    this.limits = limits;
    this.queries = new NativeQueries(reader, budget);
    this.searches = new NativeSearches(search, budget);
  }

  private static <A> MethodDescriptor<RawMessage, A> raw(MethodDescriptor<?, A> generated) {
    return generated.toBuilder(RawMessage.MARSHALLER, generated.getResponseMarshaller()).build();
  }

  @Override
  public ServerServiceDefinition bindService() {
    var generated = LogServiceGrpc.getServiceDescriptor();
    var descriptor =
        ServiceDescriptor.newBuilder(generated.getName())
            .setSchemaDescriptor(generated.getSchemaDescriptor())
            .addMethod(QUERY)
            .addMethod(SEARCH);
    var way = intake;
    if (way == null) {
      return ServerServiceDefinition.builder(descriptor.build())
          .addMethod(QUERY, ServerCalls.asyncUnaryCall(queries::answer))
          .addMethod(SEARCH, ServerCalls.asyncUnaryCall(searches::answer))
          .build();
    }
    return ServerServiceDefinition.builder(
            descriptor.addMethod(INGEST).addMethod(INGEST_STREAM).build())
        .addMethod(QUERY, ServerCalls.asyncUnaryCall(queries::answer))
        .addMethod(SEARCH, ServerCalls.asyncUnaryCall(searches::answer))
        .addMethod(
            INGEST,
            Asking.granted(
                ENTRANCE,
                way,
                ServerCalls.asyncUnaryCall((message, answer) -> ingest(way, message, answer))))
        .addMethod(
            INGEST_STREAM,
            Asking.granted(
                ENTRANCE,
                way,
                ServerCalls.asyncBidiStreamingCall(
                    answers ->
                        IngestStream.open(
                            way,
                            limits,
                            (ServerCallStreamObserver<IngestStreamResponse>) answers))))
        .build();
  }

  private void ingest(GrpcIntake way, RawMessage message, StreamObserver<IngestResponse> answer) {
    var _ =
        way.take(ENTRANCE, message, bytes -> NativeProtobufDecoder.ofRequest(bytes, limits))
            .thenAccept(result -> answer(result, answer));
  }

  private static void answer(IngestResult ingested, StreamObserver<IngestResponse> answer) {
    if (ingested instanceof IngestResult.Accepted accepted && !accepted.acceptedNone()) {
      answer.onNext(NativeAnswers.accepted(accepted));
      answer.onCompleted();
    } else {
      answer.onError(failure(ingested));
    }
  }

  /** What says that nothing was taken. */
  static StatusException failure(IngestResult ingested) {
    return switch (ingested) {
      case IngestResult.Accepted accepted -> Refused.records(accepted);
      case IngestResult.Malformed(var reason) -> Refused.malformed(reason);
      case IngestResult.TooLarge(var reason) ->
          Status.RESOURCE_EXHAUSTED.withDescription(reason).asException();
      case IngestResult.Unavailable(var retryAfter) -> GrpcIntake.unavailable(retryAfter);
      case IngestResult.InProgress(var retryAfter) -> GrpcIntake.underWay(retryAfter);
      case IngestResult.IdempotencyKeyReused() -> GrpcIntake.keyReused();
    };
  }
}
