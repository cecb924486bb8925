package dev.sluice.api;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.proto.v1.IngestRequest;
import dev.sluice.proto.v1.LogRecord;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests {@code POST /api/v1/logs} with {@code sluice.v1.IngestRequest}; responses are JSON. */
class NativeProtobufIT {
  private static final String PROTOBUF = "application/x-protobuf";

  private final Gateway gateway = Gateway.shared();

  @Test
  void post_everyField_isStored() {
    var service = Gateway.service("flat");

    var response =
        gateway.post(
            gateway.http("/api/v1/logs"),
            PROTOBUF,
            NativeLog.request(NativeLog.everything(service)).toByteArray());

    assertThat(response.statusCode()).isEqualTo(202);
    assertThat(response.headers().firstValue("sluice-ack")).hasValue("durable");
    assertThat(response.body()).isEqualTo("{\"accepted\":1,\"rejected\":[],\"ack\":\"durable\"}");
    NativeLog.assertEverything(gateway.awaitStored(service, 1).getFirst());
  }

  @ParameterizedTest
  @CsvSource({"application/x-protobuf, gzip", "application/protobuf, zstd"})
  void post_compressed_isStored(String type, String encoding) {
    var service = Gateway.service("flat-packed");
    var body = NativeLog.request(NativeLog.log(service, "b")).toByteArray();
    var packed =
        encoding.equals("gzip") ? CompressedBodies.gzip(body) : CompressedBodies.zstd(body);

    var response =
        gateway.post(gateway.http("/api/v1/logs"), type, packed, "Content-Encoding", encoding);

    assertThat(response.statusCode()).isEqualTo(202);
    gateway.awaitStored(service, 1);
  }

  @Test
  void post_invalidRecords_validAreStoredAndEachInvalidIsRejected() {
    var service = Gateway.service("flat-mixed");
    var good = NativeLog.log(service, "good");
    var request =
        NativeLog.request(
            good,
            good.toBuilder().setSeverityNumber(25).build(),
            LogRecord.newBuilder().setService(service).build(),
            good.toBuilder().putResource("k", NativeLog.text("x".repeat(70_000))).build(),
            good);

    var response = gateway.post(gateway.http("/api/v1/logs"), PROTOBUF, request.toByteArray());

    assertThat(response.statusCode()).isEqualTo(202);
    var body = Gateway.json(response);
    assertThat(body.get("accepted").asInt()).isEqualTo(2);
    assertThat(body.get("rejected"))
        .extracting(v -> v.get("index").asInt() + " " + v.get("field").asString())
        .containsExactly("1 severity_number", "2 body", "3 resource.k");
    gateway.awaitStored(service, 2);
  }

  @Test
  void post_allInvalid_isBadRequestWithRejections() {
    var request = NativeLog.request(LogRecord.newBuilder().setService("s").build());

    var response = gateway.post(gateway.http("/api/v1/logs"), PROTOBUF, request.toByteArray());

    assertThat(response.statusCode()).isEqualTo(400);
    assertThat(response.headers().firstValue("Content-Type")).hasValue("application/problem+json");
    assertThat(Gateway.json(response).get("rejected").get(0).get("field").asString())
        .isEqualTo("body");
  }

  @Test
  void post_notProtobuf_isBadRequestWithTheOffset() {
    var response = gateway.post(gateway.http("/api/v1/logs"), PROTOBUF, new byte[] {10, 127, 1});

    assertThat(response.statusCode()).isEqualTo(400);
    assertThat(Gateway.json(response).get("detail").asString())
        .isEqualTo("malformed protobuf: length beyond the end of its message at byte 1");
  }

  @Test
  void post_empty_isBadRequest() {
    var response =
        gateway.post(
            gateway.http("/api/v1/logs"),
            PROTOBUF,
            IngestRequest.getDefaultInstance().toByteArray());

    assertThat(response.statusCode()).isEqualTo(400);
    assertThat(Gateway.json(response).get("detail").asString()).isEqualTo("no logs in the request");
  }

  @Test
  void post_otherContentType_is415NamingSupportedTypes() {
    var response = gateway.post(gateway.http("/api/v1/logs"), "text/plain", new byte[] {1});

    assertThat(response.statusCode()).isEqualTo(415);
    assertThat(Gateway.json(response).get("detail").asString())
        .contains("application/json", "application/x-ndjson", "application/x-protobuf");
  }
}
