package dev.sluice.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.BadRequest;
import com.google.rpc.BadRequest.FieldViolation;
import dev.sluice.proto.v1.Ack;
import dev.sluice.proto.v1.AttributeCondition;
import dev.sluice.proto.v1.Filter;
import dev.sluice.proto.v1.IngestRequest;
import dev.sluice.proto.v1.IngestStreamRequest;
import dev.sluice.proto.v1.IngestStreamResponse;
import dev.sluice.proto.v1.LogRecord;
import dev.sluice.proto.v1.LogServiceGrpc;
import dev.sluice.proto.v1.LogServiceGrpc.LogServiceBlockingStub;
import dev.sluice.proto.v1.Operator;
import dev.sluice.proto.v1.QueryRequest;
import dev.sluice.proto.v1.QueryResponse;
import dev.sluice.proto.v1.StoredLog;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientInterceptors;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.protobuf.StatusProto;
import io.grpc.reflection.v1.ServerReflectionGrpc;
import io.grpc.reflection.v1.ServerReflectionRequest;
import io.grpc.reflection.v1.ServerReflectionResponse;
import io.grpc.reflection.v1.ServiceResponse;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import io.opentelemetry.proto.collector.logs.v1.LogsServiceGrpc;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests {@code sluice.v1.LogService} with the generated client. */
class NativeGrpcIT {
  private static final Metadata.Key<String> ACK =
      Metadata.Key.of("sluice-ack", Metadata.ASCII_STRING_MARSHALLER);
  private static final Metadata.Key<byte[]> DETAILS =
      Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER);

  private final Gateway gateway = Gateway.shared();
  private final ManagedChannel channel =
      ManagedChannelBuilder.forAddress("127.0.0.1", gateway.grpcPort()).usePlaintext().build();
  private final LogServiceBlockingStub logs = LogServiceGrpc.newBlockingStub(channel);

  @AfterEach
  void close() {
    channel.shutdownNow();
  }

  @Test
  void ingest_everyField_isStored() {
    var service = Gateway.service("native-grpc");

    var response = logs.ingest(NativeLog.request(NativeLog.everything(service)));

    assertThat(response.getAccepted()).isEqualTo(1);
    assertThat(response.getRejectedTotal()).isZero();
    assertThat(response.getAck()).isEqualTo(Ack.ACK_DURABLE);
    NativeLog.assertEverything(gateway.awaitStored(service, 1).getFirst());
  }

  @Test
  void ingest_invalidRecords_validAreStoredAndEachInvalidIsRejected() {
    var service = Gateway.service("native-grpc-mixed");
    var good = NativeLog.log(service, "good");

    var response =
        logs.ingest(
            NativeLog.request(
                good.toBuilder().setSeverityNumber(-1).build(),
                good,
                LogRecord.newBuilder().setService(service).build(),
                good.toBuilder().putResource("k", NativeLog.text("x".repeat(70_000))).build()));

    assertThat(response.getAccepted()).isEqualTo(1);
    assertThat(response.getRejectedTotal()).isEqualTo(3);
    assertThat(response.getRejectedList())
        .extracting(verdict -> verdict.getIndex() + " " + verdict.getField())
        .containsExactly("0 severity_number", "2 body", "3 resource.k");
    gateway.awaitStored(service, 1);
  }

  @Test
  void ingest_allBad_isInvalidArgumentThatNamesTheFields() {
    var bad = NativeLog.log("bad", "b").toBuilder().setSeverityNumber(25).build();

    var failure = failure(() -> logs.ingest(NativeLog.request(bad, bad)));

    assertThat(failure.getStatus().getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
    assertThat(failure.getStatus().getDescription()).isEqualTo("all 2 logs were rejected");
    assertThat(violations(failure))
        .extracting(FieldViolation::getField)
        .containsExactly("logs[0].severity_number", "logs[1].severity_number");
    assertThat(violations(failure).getFirst().getDescription())
        .isEqualTo("is 25, must be from 0 to 24");
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 250})
  void ingest_manyBad_trailersStaySmall(int keyLength) {
    var bad =
        NativeLog.log("bad", "b").toBuilder()
            .putAttributes("é".repeat(keyLength / 2) + "k", NativeLog.text("x".repeat(70_000)))
            .build();
    var all = IngestRequest.newBuilder();
    for (int i = 0; i < 300; i++) {
      all.addLogs(bad);
    }

    var failure = failure(() -> logs.ingest(all.build()));

    assertThat(failure.getStatus().getDescription())
        .matches("all 300 logs were rejected; the first \\d+ are listed");
    assertThat(violations(failure)).hasSizeBetween(10, 50);
    assertThat(failure.getTrailers().get(DETAILS)).hasSizeLessThan(6000);
  }

  @Test
  void ingest_nothing_isInvalidArgument() {
    var failure = failure(() -> logs.ingest(IngestRequest.getDefaultInstance()));

    assertThat(failure.getStatus().getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
    assertThat(failure.getStatus().getDescription()).isEqualTo("no logs in the request");
  }

  @ParameterizedTest
  @ValueSource(strings = {"Ingest", "Query"})
  void anyCall_noProtobuf_isInvalidArgument(String method) {
    var failure =
        failure(
            () ->
                ClientCalls.blockingUnaryCall(
                    channel,
                    raw("sluice.v1.LogService/" + method),
                    CallOptions.DEFAULT,
                    new byte[] {10, 127, 1}));

    assertThat(failure.getStatus().getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
    assertThat(failure.getStatus().getDescription()).startsWith("malformed protobuf");
    assertStillServing();
  }

  @Test
  void ingest_moreThanFourMegabytes_isAccepted() {
    var service = Gateway.service("native-grpc-large");
    var log = NativeLog.log(service, "x".repeat(1 << 20));

    var response = logs.ingest(NativeLog.request(log, log, log, log, log, log));

    assertThat(response.getAccepted()).isEqualTo(6);
    gateway.awaitStored(service, 6);
  }

  @Test
  void ingest_overTheLimit_isResourceExhaustedWithoutRetryInfo() {
    var failure =
        failure(() -> logs.ingest(NativeLog.request(NativeLog.log("s", "x".repeat(64 << 20)))));

    assertThat(failure.getStatus().getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    assertThat(StatusProto.fromThrowable(failure).getDetailsList()).isEmpty();
    assertStillServing();
  }

  @Test
  void ingest_moreRecordsThanTheLimit_isResourceExhausted() {
    var log = NativeLog.log("s", "b");
    var all = IngestRequest.newBuilder();
    for (int i = 0; i <= 200_000; i++) {
      all.addLogs(log);
    }

    var failure = failure(() -> logs.ingest(all.build()));

    assertThat(failure.getStatus().getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    assertThat(failure.getStatus().getDescription()).isEqualTo("more than 200000 log records");
  }

  @ParameterizedTest
  @ValueSource(strings = {"accepted", "durable", "stored"})
  void anyIngest_reachableLevel_isEchoed(String level) {
    var service = Gateway.service("native-grpc-ack");
    var headers = new AtomicReference<Metadata>();
    var trailers = new AtomicReference<Metadata>();
    var asking = withMetadata(level, headers, trailers);

    var response =
        LogServiceGrpc.newBlockingStub(asking)
            .ingest(NativeLog.request(NativeLog.log(service, "native")));

    assertThat(response.getAck()).isEqualTo(Ack.valueOf("ACK_" + level.toUpperCase(Locale.ROOT)));
    assertThat(headers.get().get(ACK)).isEqualTo(level);
    var _ = LogsServiceGrpc.newBlockingStub(asking).export(Otlp.request(service, "otlp"));
    assertThat(headers.get().get(ACK)).isEqualTo(level);
    gateway.awaitStored(service, 2);
  }

  @ParameterizedTest
  @ValueSource(strings = {"Stored", "whatever"})
  void anyIngest_unknownLevel_isInvalidArgument(String level) {
    var asking = withMetadata(level, new AtomicReference<>(), new AtomicReference<>());
    var request = NativeLog.request(NativeLog.log("s", "b"));

    for (var failure :
        List.of(
            failure(() -> LogServiceGrpc.newBlockingStub(asking).ingest(request)),
            failure(
                () -> LogsServiceGrpc.newBlockingStub(asking).export(Otlp.request("s", "b"))))) {
      assertThat(failure.getStatus().getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
      assertThat(failure.getStatus().getDescription())
          .isEqualTo("sluice-ack is not one of accepted, durable, stored");
    }
  }

  private Channel withMetadata(
      String level, AtomicReference<Metadata> headers, AtomicReference<Metadata> trailers) {
    var metadata = new Metadata();
    metadata.put(ACK, level);
    return ClientInterceptors.intercept(
        channel,
        MetadataUtils.newAttachHeadersInterceptor(metadata),
        MetadataUtils.newCaptureMetadataInterceptor(headers, trailers));
  }

  @Test
  void stream_validAndInvalidMessages_areAnsweredInOrderAndValidAreStored() {
    var service = Gateway.service("native-grpc-stream");
    var responseCollector = new ResponseCollector();
    var messages = LogServiceGrpc.newStub(channel).ingestStream(responseCollector);
    for (int i = 0; i < 50; i++) {
      var message = IngestStreamRequest.newBuilder().setSequence(1000 + i);
      if (i % 10 != 3) {
        message.addLogs(NativeLog.log(service, "%02d".formatted(i)));
      }
      messages.onNext(message.build());
    }
    messages.onCompleted();

    await().until(() -> responseCollector.completed);
    assertThat(responseCollector.failure).isNull();
    assertThat(responseCollector.got)
        .extracting(IngestStreamResponse::getSequence)
        .containsExactlyElementsOf(IntStream.range(1000, 1050).mapToObj(i -> (long) i).toList());
    assertThat(responseCollector.got.stream().filter(IngestStreamResponse::hasRefused)).hasSize(5);
    gateway.awaitStored(service, 45);
    await().until(() -> gateway.inFlight() == 0);
  }

  @Test
  void stream_cancelled_releasesAllMemory() {
    var service = Gateway.service("native-grpc-cancel");
    var responseCollector = new ResponseCollector();
    var messages = LogServiceGrpc.newStub(channel).ingestStream(responseCollector);
    for (int i = 0; i < 50; i++) {
      messages.onNext(
          IngestStreamRequest.newBuilder().addLogs(NativeLog.log(service, "b")).build());
    }
    await().until(() -> !responseCollector.got.isEmpty());

    messages.onError(Status.CANCELLED.asRuntimeException());

    await().until(() -> gateway.inFlight() == 0);
    assertStillServing();
  }

  @Test
  void health_allServices_areServing() {
    var health = HealthGrpc.newBlockingStub(channel);

    for (var service :
        List.of("", "sluice.v1.LogService", "opentelemetry.proto.collector.logs.v1.LogsService")) {
      var request = HealthCheckRequest.newBuilder().setService(service).build();
      await()
          .ignoreExceptions()
          .untilAsserted(
              () ->
                  assertThat(health.check(request).getStatus())
                      .as(service)
                      .isEqualTo(ServingStatus.SERVING));
    }
  }

  @Test
  void reflection_list_hasAllServicesAndTheirDescriptors() {
    var answers = new CopyOnWriteArrayList<ServerReflectionResponse>();
    var ask =
        ServerReflectionGrpc.newStub(channel)
            .serverReflectionInfo(
                new StreamObserver<>() {
                  @Override
                  public void onNext(ServerReflectionResponse response) {
                    answers.add(response);
                  }

                  @Override
                  public void onError(Throwable t) {}

                  @Override
                  public void onCompleted() {}
                });
    ask.onNext(ServerReflectionRequest.newBuilder().setListServices("").build());
    ask.onNext(
        ServerReflectionRequest.newBuilder()
            .setFileContainingSymbol("sluice.v1.LogService.IngestStream")
            .build());

    await().until(() -> answers.size() == 2);
    ask.onCompleted();
    assertThat(answers.getFirst().getListServicesResponse().getServiceList())
        .extracting(ServiceResponse::getName)
        .contains(
            "sluice.v1.LogService",
            "opentelemetry.proto.collector.logs.v1.LogsService",
            "grpc.health.v1.Health");
    assertThat(answers.getLast().getFileDescriptorResponse().getFileDescriptorProtoList())
        .isNotEmpty();
  }

  @Test
  void connect_anyClient_receivesMaxConcurrentStreams() throws IOException {
    try (var client = new Http2Socket(gateway.grpcPort())) {
      assertThat(client.settings()).containsEntry(3, 128).containsEntry(4, 1 << 20);
    }
  }

  @Test
  void query_everyField_isReturned() {
    var service = Gateway.service("native-grpc-query");
    var _ = logs.ingest(NativeLog.request(NativeLog.everything(service)));
    gateway.awaitStored(service, 1);

    var page = query(filter -> filter.setService(service));

    assertThat(page.getNextCursor()).isEmpty();
    var log = page.getLogs(0);
    assertThat(log.getId().size()).isEqualTo(16);
    assertThat(log.getTimeUnixNano()).isEqualTo(NativeLog.TIME);
    assertThat(log.getSeverityNumber()).isEqualTo(18);
    assertThat(log.getSeverityText()).isEqualTo("severe");
    assertThat(log.getService()).isEqualTo(service);
    assertThat(log.getTraceId()).isEqualTo(NativeLog.id(Otlp.TRACE_ID));
    assertThat(log.getSpanId()).isEqualTo(NativeLog.id(Otlp.SPAN_ID));
    assertThat(log.getFlags()).isEqualTo(0x0301);
    assertThat(log.getEventName()).isEqualTo("order.failed");
    assertThat(log.getAttributesMap()).containsEntry("text", "t").hasSize(6);
    assertThat(log.getResourceMap()).containsEntry("host.name", "web-1");
    assertThat(log.getScopeName()).isEqualTo("org.example.Orders");
    assertThat(log.getScopeAttributesMap()).containsEntry("scoped", "s");
    assertThat(log.getDroppedAttributesCount()).isEqualTo(3);
    assertThat(log.getBody()).contains("out of café");
  }

  @Test
  void query_filters_eachExcludesNonMatchingLogs() {
    var service = Gateway.service("native-grpc-filter");
    var _ =
        logs.ingest(
            NativeLog.request(
                NativeLog.log(service, "disk is full").toBuilder()
                    .setSeverityNumber(17)
                    .setTimeUnixNano(NativeLog.TIME)
                    .setTraceId(NativeLog.id(Otlp.TRACE_ID))
                    .setSpanId(NativeLog.id(Otlp.SPAN_ID))
                    .putAttributes("user", NativeLog.text("ann"))
                    .putResource("zone", NativeLog.text("eu-1"))
                    .build(),
                NativeLog.log(service, "all is well").toBuilder()
                    .setSeverityNumber(9)
                    .setTimeUnixNano(NativeLog.TIME + 10)
                    .putAttributes("user", NativeLog.text("bob"))
                    .putResource("zone", NativeLog.text("us-1"))
                    .build()));
    gateway.awaitStored(service, 2);
    var full = List.of("disk is full");
    var well = List.of("all is well");

    assertThat(bodies(service, f -> f)).containsExactly("all is well", "disk is full");
    assertThat(bodies(service, f -> f.setMinSeverityNumber(13))).isEqualTo(full);
    assertThat(bodies(service, f -> f.addSeverityNumbers(9).addSeverityNumbers(10)))
        .isEqualTo(well);
    assertThat(bodies(service, f -> f.setFromUnixNano(NativeLog.TIME + 1))).isEqualTo(well);
    assertThat(bodies(service, f -> f.setToUnixNano(NativeLog.TIME + 1))).isEqualTo(full);
    assertThat(bodies(service, f -> f.setTraceId(NativeLog.id(Otlp.TRACE_ID)))).isEqualTo(full);
    assertThat(bodies(service, f -> f.setSpanId(NativeLog.id(Otlp.SPAN_ID)))).isEqualTo(full);
    assertThat(bodies(service, f -> f.setText("disk OR nothing"))).isEqualTo(full);
    assertThat(bodies(service, f -> f.addAttributes(condition("user", null, "ann"))))
        .isEqualTo(full);
    assertThat(
            bodies(
                service,
                f -> f.addAttributes(condition("user", Operator.OPERATOR_NOT_EQUAL, "ann"))))
        .isEqualTo(well);
    assertThat(
            bodies(service, f -> f.addResource(condition("zone", Operator.OPERATOR_PREFIX, "us"))))
        .isEqualTo(well);
    assertThat(
            bodies(
                service, f -> f.addAttributes(condition("user", Operator.OPERATOR_IN, "x", "bob"))))
        .isEqualTo(well);
    assertThat(bodies(service, f -> f.addAttributes(condition("no", Operator.OPERATOR_EXISTS))))
        .isEmpty();
  }

  @Test
  void query_pages_endWhereTheNextBegins() {
    var service = Gateway.service("native-grpc-pages");
    var all = IngestRequest.newBuilder();
    for (int i = 0; i < 7; i++) {
      all.addLogs(NativeLog.log(service, "" + i).toBuilder().setTimeUnixNano(NativeLog.TIME + i));
    }
    var _ = logs.ingest(all.build());
    gateway.awaitStored(service, 7);

    assertThat(pages(service, 3)).containsExactly("654", "321", "0");
  }

  @Test
  void query_largeLogs_pagesFitClientMessageLimit() {
    var service = Gateway.service("native-grpc-large-pages");
    var all = IngestRequest.newBuilder();
    for (int i = 0; i < 7; i++) {
      all.addLogs(
          NativeLog.log(service, i + "x".repeat(1_000_000)).toBuilder()
              .setTimeUnixNano(NativeLog.TIME + i));
    }
    var _ = logs.ingest(all.build());
    gateway.awaitStored(service, 7);

    assertThat(pages(service, 100)).containsExactly("654", "321", "0");
  }

  private List<String> pages(String service, int limit) {
    var pages = new ArrayList<String>();
    var request =
        QueryRequest.newBuilder()
            .setFilter(Filter.newBuilder().setService(service))
            .setLimit(limit);
    do {
      var page = logs.query(request.build());
      pages.add(
          String.join(
              "", page.getLogsList().stream().map(l -> l.getBody().substring(0, 1)).toList()));
      request.setCursor(page.getNextCursor());
    } while (!request.getCursor().isEmpty());
    return pages;
  }

  @Test
  void query_invalid_namesTheField() {
    assertThat(field(q -> q.setLimit(10_001))).isEqualTo("limit");
    assertThat(field(q -> q.setLimit(-1))).isEqualTo("limit");
    assertThat(field(q -> q.setCursor("none"))).isEqualTo("cursor");
    assertThat(field(q -> q.getFilterBuilder().setMinSeverityNumber(25)))
        .isEqualTo("filter.min_severity_number");
    assertThat(field(q -> q.getFilterBuilder().addTemplateIds(ByteString.copyFromUtf8("short"))))
        .isEqualTo("filter.template_ids[0]");
    assertThat(field(q -> q.getFilterBuilder().addTemplateIds(ByteString.copyFrom(new byte[16]))))
        .isEqualTo("filter");
    assertThat(field(q -> q.getFilterBuilder().addSeverityNumbers(-1)))
        .isEqualTo("filter.severity_numbers");
    assertThat(field(q -> q.getFilterBuilder().setTraceId(ByteString.copyFromUtf8("x"))))
        .isEqualTo("filter.trace_id");
    assertThat(field(q -> q.getFilterBuilder().setSpanId(ByteString.copyFromUtf8("x"))))
        .isEqualTo("filter.span_id");
    assertThat(field(q -> q.getFilterBuilder().setFromUnixNano(-1)))
        .isEqualTo("filter.from_unix_nano");
    assertThat(field(q -> q.getFilterBuilder().setText("\"open"))).isEqualTo("filter.text");
    assertThat(
            field(
                q ->
                    q.getFilterBuilder()
                        .addAttributes(condition("a", null, "b"))
                        .addAttributes(condition("a", Operator.OPERATOR_EXISTS, "b"))))
        .isEqualTo("filter.attributes[1].values");
    assertThat(
            field(
                q ->
                    q.getFilterBuilder()
                        .addResource(
                            AttributeCondition.newBuilder().setKey("a").setOperatorValue(77))))
        .isEqualTo("filter.resource[0].operator");
  }

  private interface RequestCustomizer {
    Object apply(QueryRequest.Builder request);
  }

  private String field(RequestCustomizer requestCustomizer) {
    var request = QueryRequest.newBuilder();
    var _ = requestCustomizer.apply(request);
    var failure = failure(() -> logs.query(request.build()));
    assertThat(failure.getStatus().getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
    var violation = violations(failure).getFirst();
    assertThat(failure.getStatus().getDescription())
        .isEqualTo(violation.getField() + " " + violation.getDescription());
    return violation.getField();
  }

  private QueryResponse query(UnaryOperator<Filter.Builder> filter) {
    return logs.query(
        QueryRequest.newBuilder().setFilter(filter.apply(Filter.newBuilder())).build());
  }

  private List<String> bodies(String service, UnaryOperator<Filter.Builder> filter) {
    return query(f -> filter.apply(f.setService(service))).getLogsList().stream()
        .map(StoredLog::getBody)
        .toList();
  }

  private static AttributeCondition condition(String key, Operator operator, String... values) {
    var condition = AttributeCondition.newBuilder().setKey(key).addAllValues(List.of(values));
    return operator == null ? condition.build() : condition.setOperator(operator).build();
  }

  private void assertStillServing() {
    var service = Gateway.service("native-grpc-next");
    var _ = logs.ingest(NativeLog.request(NativeLog.log(service, "next")));
    gateway.awaitStored(service, 1);
    await().until(() -> gateway.inFlight() == 0);
  }

  private static StatusRuntimeException failure(Runnable call) {
    return catchThrowableOfType(StatusRuntimeException.class, call::run);
  }

  private static List<FieldViolation> violations(StatusRuntimeException failure) {
    try {
      return StatusProto.fromThrowable(failure)
          .getDetails(0)
          .unpack(BadRequest.class)
          .getFieldViolationsList();
    } catch (InvalidProtocolBufferException e) {
      throw new AssertionError(e);
    }
  }

  private static MethodDescriptor<byte[], byte[]> raw(String name) {
    var bytes = new RawBytesMarshaller();
    return MethodDescriptor.newBuilder(bytes, bytes)
        .setType(MethodDescriptor.MethodType.UNARY)
        .setFullMethodName(name)
        .build();
  }

  /** Collects the responses of a stream. */
  private static final class ResponseCollector implements StreamObserver<IngestStreamResponse> {
    private final List<IngestStreamResponse> got = new CopyOnWriteArrayList<>();
    private volatile boolean completed;
    private volatile Throwable failure;

    @Override
    public void onNext(IngestStreamResponse response) {
      got.add(response);
    }

    @Override
    public void onError(Throwable t) {
      failure = t;
    }

    @Override
    public void onCompleted() {
      completed = true;
    }
  }
}
