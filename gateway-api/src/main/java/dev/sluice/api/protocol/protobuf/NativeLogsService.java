package dev.sluice.api.protocol.protobuf;

import dev.sluice.api.grpc.GrpcIngest;
import dev.sluice.api.grpc.GrpcStatuses;
import dev.sluice.api.grpc.RawMessage;
import dev.sluice.core.ingest.IngestResult;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.proto.v1.IngestResponse;
import dev.sluice.proto.v1.IngestStreamResponse;
import dev.sluice.proto.v1.LogServiceGrpc;
import dev.sluice.proto.v1.QueryResponse;
import dev.sluice.proto.v1.SearchResponse;
import dev.sluice.query.port.LogReader;
import dev.sluice.query.search.SemanticSearch;
import io.grpc.BindableService;
import io.grpc.MethodDescriptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServiceDescriptor;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import org.jspecify.annotations.Nullable;

/**
 * The native gRPC service {@code sluice.v1.LogService}. Messages with logs are read as bytes;
 * queries and responses, which are small, use the generated classes.
 *
 * <p>A temporary error is UNAVAILABLE with RetryInfo; an error of the client is INVALID_ARGUMENT
 * with a BadRequest, or RESOURCE_EXHAUSTED. Only gRPC itself uses INTERNAL, for invalid calls such
 * as a unary call without a message.
 */
final class NativeLogsService implements BindableService {
  static final MethodDescriptor<RawMessage, IngestResponse> INGEST =
      withRawRequest(LogServiceGrpc.getIngestMethod());
  static final MethodDescriptor<RawMessage, IngestStreamResponse> INGEST_STREAM =
      withRawRequest(LogServiceGrpc.getIngestStreamMethod());
  static final MethodDescriptor<RawMessage, QueryResponse> QUERY =
      withRawRequest(LogServiceGrpc.getQueryMethod());
  static final MethodDescriptor<RawMessage, SearchResponse> SEARCH =
      withRawRequest(LogServiceGrpc.getSearchMethod());

  private final @Nullable GrpcIngest ingest;
  private final NativeQueryCalls queries;
  private final NativeSearchCalls searches;

  /**
   * @param ingest the ingest path; null in a process without the role ingest, in which the ingest
   *     methods are UNIMPLEMENTED
   * @param reader the reader of stored logs
   * @param search the semantic search
   * @param budget the memory budget of responses with logs
   */
  NativeLogsService(
      @Nullable GrpcIngest ingest, LogReader reader, SemanticSearch search, MemoryBudget budget) {
    this.ingest = ingest;
    this.queries = new NativeQueryCalls(reader, budget);
    this.searches = new NativeSearchCalls(search, budget);
  }

  private static <A> MethodDescriptor<RawMessage, A> withRawRequest(
      MethodDescriptor<?, A> generated) {
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
    var grpcIngest = ingest;
    if (grpcIngest == null) {
      return ServerServiceDefinition.builder(descriptor.build())
          .addMethod(QUERY, ServerCalls.asyncUnaryCall(queries::handle))
          .addMethod(SEARCH, ServerCalls.asyncUnaryCall(searches::handle))
          .build();
    }
    return ServerServiceDefinition.builder(
            descriptor.addMethod(INGEST).addMethod(INGEST_STREAM).build())
        .addMethod(QUERY, ServerCalls.asyncUnaryCall(queries::handle))
        .addMethod(SEARCH, ServerCalls.asyncUnaryCall(searches::handle))
        .addMethod(
            INGEST,
            ServerCalls.asyncUnaryCall(
                (message, responseObserver) -> ingest(grpcIngest, message, responseObserver)))
        .addMethod(
            INGEST_STREAM,
            ServerCalls.asyncBidiStreamingCall(
                responseObserver ->
                    IngestStream.open(
                        grpcIngest,
                        (ServerCallStreamObserver<IngestStreamResponse>) responseObserver)))
        .build();
  }

  private static void ingest(
      GrpcIngest grpcIngest, RawMessage message, StreamObserver<IngestResponse> responseObserver) {
    var _ =
        grpcIngest
            .ingest(message, (body, limits, _) -> NativeProtobufDecoder.ofRequest(body, limits))
            .thenAccept(result -> respond(result, responseObserver));
  }

  private static void respond(
      IngestResult result, StreamObserver<IngestResponse> responseObserver) {
    if (result instanceof IngestResult.Accepted accepted && !accepted.acceptedNone()) {
      responseObserver.onNext(NativeResponses.accepted(accepted));
      responseObserver.onCompleted();
    } else {
      responseObserver.onError(GrpcStatuses.of(result));
    }
  }
}
