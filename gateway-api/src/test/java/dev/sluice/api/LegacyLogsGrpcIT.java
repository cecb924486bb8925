package dev.sluice.api;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.google.protobuf.ByteString;
import dev.sluice.proto.logs.GetLogsByAppIdRequest;
import dev.sluice.proto.logs.HealthCheckRequest;
import dev.sluice.proto.logs.IngestError;
import dev.sluice.proto.logs.IngestLogsRequest;
import dev.sluice.proto.logs.IngestLogsResponse;
import dev.sluice.proto.logs.LogEntry;
import dev.sluice.proto.logs.LogEntryInput;
import dev.sluice.proto.logs.LogLevel;
import dev.sluice.proto.logs.LogServiceGrpc;
import dev.sluice.proto.logs.LogServiceGrpc.LogServiceBlockingStub;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.ClientCalls;
import java.io.IOException;
import java.time.Instant;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests {@code logs.LogService} with the stubs of its clients. */
class LegacyLogsGrpcIT {
  private final Gateway gateway = Gateway.shared();
  private final ManagedChannel channel =
      ManagedChannelBuilder.forAddress("127.0.0.1", gateway.grpcPort()).usePlaintext().build();
  private final LogServiceBlockingStub logs = LogServiceGrpc.newBlockingStub(channel);

  @AfterEach
  void close() {
    channel.shutdownNow();
  }

  private static LogEntryInput.Builder input(String app, String message) {
    return LogEntryInput.newBuilder()
        .setAppId(app)
        .setLevel("info")
        .setMessage(message)
        .setSource("s");
  }

  private static IngestLogsRequest request(LogEntryInput.Builder... inputs) {
    var request = IngestLogsRequest.newBuilder();
    for (var input : inputs) {
      request.addLogs(input);
    }
    return request.build();
  }

  private static GetLogsByAppIdRequest of(String app, int limit) {
    return GetLogsByAppIdRequest.newBuilder().setAppId(app).setLimit(limit).build();
  }

  @Test
  void ingestLogs_everyField_isReadBackAsItWasSent() {
    var app = Gateway.service("app-grpc");
    var before = Instant.now();

    var response =
        logs.ingestLogs(
            request(
                input(app, "café")
                    .setLevel("Fatal")
                    .setEnvironment("staging")
                    .putMetadata("zone", "eu")
                    .putMetadata("id", "theirs")
                    .setTraceId("order 7")
                    .setUserId("u-1")));

    assertThat(response.getSuccess()).isTrue();
    assertThat(response.getMessage()).isEqualTo("Log data accepted");
    assertThat(response.getAccepted()).isEqualTo(1);
    assertThat(response.getRejected()).isZero();
    assertThat(response.getErrorsList()).isEmpty();
    assertThat(response.getProcessingTimeMs()).isPositive();
    assertThat(response.getThroughput()).isPositive();
    gateway.awaitStored(app, 1);
    var read = logs.getLogsByAppId(of(app, 0));
    assertThat(read.getSuccess()).isTrue();
    assertThat(read.getCount()).isEqualTo(1);
    assertThat(read.getHasMore()).isFalse();
    assertThat(read.getQueryTimeMs()).isPositive();
    var log = read.getLogs(0);
    assertThat(log.getId()).matches("[0-9a-f]{32}");
    assertThat(Instant.ofEpochMilli(log.getTimestamp()))
        .isBetween(before.minusMillis(1), Instant.now());
    assertThat(log.toBuilder().clearId().clearTimestamp().build())
        .isEqualTo(
            LogEntry.newBuilder()
                .setAppId(app)
                .setLevel(LogLevel.FATAL)
                .setMessage("café")
                .setSource("s")
                .setEnvironment("staging")
                .putMetadata("zone", "eu")
                .putMetadata("id", "theirs")
                .setTraceId("order 7")
                .setUserId("u-1")
                .build());
  }

  @Test
  void ingestLogs_metadataKeyTwice_isReadBackAsTheLast() throws IOException {
    var app = Gateway.service("app-grpc-twice");
    var first = request(input(app, "m").putMetadata("zone", "us")).getLogs(0).toByteString();
    var second = LogEntryInput.newBuilder().putMetadata("zone", "eu").build().toByteString();
    var twice = first.concat(second);
    var sent =
        ByteString.copyFrom(new byte[] {10, (byte) twice.size()}).concat(twice).toByteArray();

    assertThat(IngestLogsResponse.parseFrom(call("IngestLogs", sent)).getAccepted()).isEqualTo(1);

    gateway.awaitStored(app, 1);
    assertThat(logs.getLogsByAppId(of(app, 0)).getLogs(0).getMetadataMap())
        .containsExactly(Map.entry("zone", "eu"));
  }

  @Test
  void ingestLogs_mixed_validAreStoredAndEachInvalidIsReportedAndCountedOnce() {
    var app = Gateway.service("app-grpc-mixed");

    var response =
        logs.ingestLogs(
            request(
                input(app, "a"),
                input(app, "b").setLevel("loud"),
                input(app, "c".repeat((1 << 20) + 1)),
                input(app, "d")));

    assertThat(response.getSuccess()).isTrue();
    assertThat(response.getAccepted()).isEqualTo(2);
    assertThat(response.getRejected()).isEqualTo(2);
    assertThat(response.getErrorsList()).extracting(IngestError::getIndex).containsExactly(1, 2);
    assertThat(response.getErrors(0).getError()).startsWith("level is unknown");
    assertThat(response.getErrors(1).getError()).startsWith("message has 1048577 bytes");
    gateway.awaitStored(app, 2);
  }

  @Test
  void ingestLogs_allInvalid_isResponseNotStatus() {
    var response = logs.ingestLogs(request(LogEntryInput.newBuilder(), LogEntryInput.newBuilder()));

    assertThat(response.getSuccess()).isFalse();
    assertThat(response.getMessage()).isEqualTo("Invalid log data");
    assertThat(response.getAccepted()).isZero();
    assertThat(response.getRejected()).isEqualTo(2);
    assertThat(response.getErrors(1).getError()).isEqualTo("app_id is missing");
  }

  @Test
  void ingestLogs_empty_isNoSuccess() {
    var response = logs.ingestLogs(request());

    assertThat(response.getSuccess()).isFalse();
    assertThat(response.getAccepted() + response.getRejected()).isZero();
  }

  @Test
  void ingestLogs_badByteInOneLog_rejectsOnlyThatLog() throws IOException {
    var app = Gateway.service("app-grpc-utf8");
    var sent = request(input(app, "good"), input(app, "Qbad")).toByteArray();

    var response = IngestLogsResponse.parseFrom(call("IngestLogs", corrupted(sent)));

    assertThat(response.getAccepted()).isEqualTo(1);
    assertThat(response.getErrorsList())
        .containsExactly(
            IngestError.newBuilder().setIndex(1).setError("message is not valid UTF-8").build());
    gateway.awaitStored(app, 1);
  }

  /** Replaces the first Q by a byte that is not valid UTF-8. */
  private static byte[] corrupted(byte[] message) {
    var spoiled = message.clone();
    spoiled[new String(message, ISO_8859_1).indexOf('Q')] = (byte) 0xFF;
    return spoiled;
  }

  @ParameterizedTest
  @CsvSource({"IngestLogs, malformed protobuf", "GetLogsByAppId, malformed protobuf"})
  void call_notProtobuf_isInvalidArgument(String method, String description) {
    var status = failure(method, new byte[] {10, 127, 1}).getStatus();

    assertThat(status.getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
    assertThat(status.getDescription()).startsWith(description);
  }

  @Test
  void getLogsByAppId_badByteInTheName_isInvalidArgument() {
    var status = failure("GetLogsByAppId", corrupted(of("Q", 1).toByteArray())).getStatus();

    assertThat(status.getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
  }

  @Test
  void ingestLogs_overTheLimit_isResourceExhaustedWithoutRetryInfo() {
    var failure = failure("IngestLogs", new byte[(64 << 20) + 1]);

    assertThat(failure.getStatus().getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    assertThat(StatusProto.fromThrowable(failure).getDetailsList()).isEmpty();
    assertThat(gateway.inFlight()).isZero();
  }

  @Test
  void ingestLogs_moreLogsThanTheLimit_isResourceExhausted() {
    var empty = new byte[2 * 200_001];
    for (int i = 0; i < empty.length; i += 2) {
      empty[i] = 10;
    }

    assertThat(failure("IngestLogs", empty).getStatus().getCode())
        .isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
  }

  @Test
  void getLogsByAppId_limit_returnsNewestAndHasMore() {
    var app = Gateway.service("app-grpc-limit");
    logs.ingestLogs(request(input(app, "1")));
    gateway.awaitStored(app, 1);
    logs.ingestLogs(request(input(app, "2"), input(app, "3")));
    gateway.awaitStored(app, 3);

    var response = logs.getLogsByAppId(of(app, 2));

    assertThat(response.getHasMore()).isTrue();
    assertThat(response.getCount()).isEqualTo(2);
    assertThat(response.getLogsList()).extracting(LogEntry::getMessage).containsExactly("3", "2");
  }

  @ParameterizedTest
  @CsvSource({"a, -1, limit", "a, 10001, limit", "'', 1, app_id"})
  void getLogsByAppId_badRequest_isInvalidArgumentNamingTheField(
      String app, int limit, String field) {
    var status = failure("GetLogsByAppId", of(app, limit).toByteArray()).getStatus();

    assertThat(status.getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
    assertThat(status.getDescription()).startsWith(field);
  }

  @Test
  void getLogsByAppId_unknownApp_isEmptyResponse() {
    var response = logs.getLogsByAppId(of("nobody-has-this-name", 10_000));

    assertThat(response.getSuccess()).isTrue();
    assertThat(response.getLogsList()).isEmpty();
  }

  @Test
  void healthCheck_allUp_isHealthy() {
    var health = logs.healthCheck(HealthCheckRequest.getDefaultInstance());

    assertThat(health.getHealthy()).as(health.getError()).isTrue();
    assertThat(health.getError()).isEmpty();
    assertThat(health.getVersion()).isNotBlank();
    assertThat(Instant.parse(health.getTimestamp())).isBeforeOrEqualTo(Instant.now());
    assertThat(health.getPingLatencyMs()).isPositive();
    assertThat(health.getLatencyMs()).isGreaterThanOrEqualTo(health.getPingLatencyMs());
  }

  private StatusRuntimeException failure(String method, byte[] request) {
    return catchThrowableOfType(StatusRuntimeException.class, () -> call(method, request));
  }

  private byte[] call(String method, byte[] request) {
    var descriptor =
        MethodDescriptor.<byte[], byte[]>newBuilder()
            .setType(MethodDescriptor.MethodType.UNARY)
            .setFullMethodName("logs.LogService/" + method)
            .setRequestMarshaller(new RawBytesMarshaller())
            .setResponseMarshaller(new RawBytesMarshaller())
            .build();
    return ClientCalls.blockingUnaryCall(channel, descriptor, CallOptions.DEFAULT, request);
  }
}
