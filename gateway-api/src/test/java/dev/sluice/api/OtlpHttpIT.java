package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.rpc.Status;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceResponse;
import io.opentelemetry.proto.logs.v1.LogRecord;
import java.net.URI;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests OTLP over HTTP according to its specification, on both ports. */
class OtlpHttpIT {
  private static final String PROTOBUF = "application/x-protobuf";
  private static final String JSON = "application/json";

  private final Gateway gateway = Gateway.shared();

  private URI uri(String port) {
    return port.equals("main") ? gateway.http("/v1/logs") : gateway.otlp("/v1/logs");
  }

  private HttpResponse<byte[]> post(ExportLogsServiceRequest request) {
    return post(request.toByteArray());
  }

  private HttpResponse<byte[]> post(byte[] body, String... headers) {
    return Gateway.send(
        Gateway.postRequest(uri("main"), PROTOBUF, body, headers), BodyHandlers.ofByteArray());
  }

  private HttpResponse<String> postJson(String body) {
    return gateway.post(uri("main"), JSON, body.getBytes(UTF_8));
  }

  @ParameterizedTest
  @ValueSource(strings = {"main", "otlp"})
  void post_protobufWithEveryField_everyFieldIsStored(String port) {
    var service = Gateway.service("otlp-protobuf");

    var response =
        Gateway.send(
            Gateway.postRequest(uri(port), PROTOBUF, Otlp.everything(service).toByteArray()),
            BodyHandlers.ofByteArray());

    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(response.headers().firstValue("Content-Type")).hasValue(PROTOBUF);
    assertThat(response.body()).isEmpty();
    Otlp.assertEverything(gateway.awaitStored(service, 1).getFirst());
  }

  @ParameterizedTest
  @ValueSource(strings = {"main", "otlp"})
  void post_jsonWithEveryField_everyFieldIsStored(String port) {
    var service = Gateway.service("otlp-json");

    var response = gateway.post(uri(port), JSON, Otlp.everythingInJson(service).getBytes(UTF_8));

    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(response.headers().firstValue("Content-Type")).hasValue(JSON);
    assertThat(response.body()).isEqualTo("{}");
    Otlp.assertEverything(gateway.awaitStored(service, 1).getFirst());
  }

  @Test
  void post_severityAndTimesNotSent_areZeroAndTheTimeOfReceipt() {
    var service = Gateway.service("otlp-zero");

    post(Otlp.request(service, "plain"));

    var row = gateway.awaitStored(service, 1).getFirst();
    assertThat(row.get("SeverityNumber").asInt()).isZero();
    assertThat(row.get("SeverityText").asString()).isEmpty();
    assertThat(row.get("Flags").asInt()).isZero();
    assertThat(row.get("TraceId").asString()).isEmpty();
    assertThat(row.get("Timestamp").asLong()).isEqualTo(row.get("ReceivedTimestamp").asLong());
  }

  @Test
  void post_onlyObservedTime_isUsedAsTimestamp() {
    var service = Gateway.service("otlp-observed");
    var log = Otlp.log("seen").toBuilder().setObservedTimeUnixNano(1_600_000_000_000_000_007L);

    post(Otlp.request(service, log.build()));

    var row = gateway.awaitStored(service, 1).getFirst();
    assertThat(row.get("Timestamp").asLong()).isEqualTo(1_600_000_000_000_000_007L);
  }

  @ParameterizedTest
  @ValueSource(strings = {"gzip", "zstd", "snappy", "x-snappy-framed", "deflate", "identity"})
  void post_compressed_isStored(String encoding) {
    var service = Gateway.service("otlp-" + encoding);
    var body = Otlp.request(service, "packed").toByteArray();

    var response = post(CompressedBodies.as(encoding, body), "Content-Encoding", encoding);

    assertThat(response.statusCode()).isEqualTo(200);
    gateway.awaitStored(service, 1);
  }

  @Test
  void post_framedSnappyCalledSnappy_isStored() {
    var service = Gateway.service("otlp-collector");
    var body = Otlp.request(service, "compressed like the Collector").toByteArray();

    var response = post(CompressedBodies.snappyFramed(body), "Content-Encoding", "snappy");

    assertThat(response.statusCode()).isEqualTo(200);
    gateway.awaitStored(service, 1);
  }

  @Test
  void post_oneOfThreeRecordsInvalid_isPartialSuccessAndTheOthersAreStored() throws Exception {
    var service = Gateway.service("otlp-partial");

    var response = post(Otlp.request(service, Otlp.log("a"), invalid(), Otlp.log("c")));

    assertThat(response.statusCode()).isEqualTo(200);
    var partial = ExportLogsServiceResponse.parseFrom(response.body()).getPartialSuccess();
    assertThat(partial.getRejectedLogRecords()).isEqualTo(1);
    assertThat(partial.getErrorMessage()).contains("[1] severity_number is 99");
    assertThat(gateway.awaitStored(service, 2))
        .extracting(row -> row.get("Body").asString())
        .containsExactly("a", "c");
  }

  @Test
  void postJson_oneOfTwoRecordsInvalid_isPartialSuccessInJson() {
    var service = Gateway.service("otlp-partial-json");

    var response =
        postJson(
            """
            {"resourceLogs":[{"resource":{"attributes":[
              {"key":"service.name","value":{"stringValue":"%s"}}]},
              "scopeLogs":[{"logRecords":[
                {"body":{"stringValue":"good"}},
                {"body":{"stringValue":"bad"},"traceId":"abcd"}]}]}]}"""
                .formatted(service));

    assertThat(response.statusCode()).isEqualTo(200);
    var partial = Gateway.json(response).get("partialSuccess");
    assertThat(partial.get("rejectedLogRecords").asString()).isEqualTo("1");
    assertThat(partial.get("errorMessage").asString()).contains("[1] trace_id");
    gateway.awaitStored(service, 1);
  }

  @Test
  void post_empty_isSuccess() {
    assertThat(post(new byte[0]).statusCode()).isEqualTo(200);
    assertThat(post(new byte[0], "Content-Encoding", "gzip").statusCode()).isEqualTo(200);
    assertThat(post(ExportLogsServiceRequest.getDefaultInstance()).body()).isEmpty();
    assertThat(postJson("").body()).isEqualTo("{}");
    assertThat(postJson("{}").body()).isEqualTo("{}");
    assertThat(postJson("{\"resourceLogs\":[]}").statusCode()).isEqualTo(200);
  }

  @Test
  void post_notProtobuf_isStatusInProtobuf() throws Exception {
    var response = post("{\"resourceLogs\":[]}".getBytes(UTF_8));

    assertThat(response.statusCode()).isEqualTo(400);
    assertThat(response.headers().firstValue("Content-Type")).hasValue(PROTOBUF);
    var status = Status.parseFrom(response.body());
    assertThat(status.getCode()).isEqualTo(3);
    assertThat(status.getMessage()).startsWith("malformed OTLP");
  }

  @Test
  void postJson_notJson_isStatusInJsonWithTheOffset() {
    var response = postJson("{\"resourceLogs\":[\n{]}");

    assertThat(response.statusCode()).isEqualTo(400);
    assertThat(response.headers().firstValue("Content-Type")).hasValue(JSON);
    var status = Gateway.json(response);
    assertThat(status.get("code").asInt()).isEqualTo(3);
    assertThat(status.get("message").asString()).contains("line 2, column 2");
  }

  @Test
  void post_manyRejections_responseStaysSmall() throws Exception {
    var logs = new LogRecord[5000];
    Arrays.fill(logs, invalid());

    var response = post(Otlp.request(Gateway.service("otlp-many"), logs));

    var partial = ExportLogsServiceResponse.parseFrom(response.body()).getPartialSuccess();
    assertThat(partial.getRejectedLogRecords()).isEqualTo(5000);
    assertThat(response.body()).hasSizeLessThan(64 * 1024);
  }

  @ParameterizedTest
  @ValueSource(strings = {"/v1/traces", "/v1/metrics", "/v1/logs/"})
  void post_otherSignals_areNotFound(String path) {
    assertThat(gateway.post(gateway.otlp(path), PROTOBUF, new byte[0]).statusCode()).isEqualTo(404);
    assertThat(gateway.post(gateway.http(path), PROTOBUF, new byte[0]).statusCode()).isEqualTo(404);
  }

  private static LogRecord invalid() {
    return Otlp.log("b").toBuilder().setSeverityNumberValue(99).build();
  }
}
