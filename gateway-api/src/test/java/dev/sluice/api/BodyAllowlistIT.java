package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.proto.logs.IngestLogsRequest;
import dev.sluice.proto.logs.LogEntryInput;
import dev.sluice.proto.v1.IngestStreamRequest;
import dev.sluice.proto.v1.IngestStreamResponse;
import dev.sluice.proto.v1.LogServiceGrpc;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.stub.StreamObserver;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceResponse;
import io.opentelemetry.proto.collector.logs.v1.LogsServiceGrpc;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Checks the responses of every protocol of a gateway with a body allowlist and a console mirror.
 */
class BodyAllowlistIT {
  private static final PrintStream CONSOLE = System.out;
  private static final ByteArrayOutputStream MIRRORED = new ByteArrayOutputStream();

  @TempDir private static Path folder;
  private static Path list;
  private static Gateway gateway;
  private static ManagedChannel channel;

  @BeforeAll
  static void start() throws IOException {
    list = folder.resolve("messages.txt");
    Files.writeString(list, "# accepted bodies\n\nOrder Placed\n");
    System.setOut(new PrintStream(MIRRORED, true, UTF_8));
    gateway =
        Gateway.ingestOnly(
            "filter", "--sluice.filter.allowlist-file=" + list, "--sluice.console-mirror=true");
    channel =
        ManagedChannelBuilder.forAddress("127.0.0.1", gateway.grpcPort()).usePlaintext().build();
  }

  @AfterAll
  static void end() {
    channel.shutdownNow();
    System.setOut(CONSOLE);
  }

  private static String json(String name, String body) {
    var http = ProtocolClients.http(gateway, "filter-json", body).get(name);
    var response = http.post(gateway);
    return response.statusCode() + " " + response.body();
  }

  @Test
  void post_listed_isAcceptedByEveryProtocol() {
    var service = Gateway.service("filter-taken");
    var clients = ProtocolClients.http(gateway, service, "ORDER placed");

    clients.values().forEach(http -> assertThat(http.post(gateway).statusCode()).isLessThan(300));
    ProtocolClients.grpc(channel, service, "order PLACED").forEach(Runnable::run);

    assertThat(Gateway.shared().awaitStored(service, clients.size() + 3)).isNotEmpty();
    await()
        .atMost(Duration.ofSeconds(10))
        .until(
            () ->
                MIRRORED
                        .toString(UTF_8)
                        .lines()
                        .filter(l -> l.contains(" " + service + " "))
                        .count()
                    == clients.size() + 3);
  }

  @Test
  void post_notListed_isNeitherStoredNorMirrored() {
    var service = Gateway.service("filter-left-out");

    ProtocolClients.http(gateway, service, "cache miss")
        .values()
        .forEach(http -> http.post(gateway));
    ProtocolClients.grpc(channel, service, "cache miss").forEach(Runnable::run);
    ProtocolClients.http(gateway, service, "order placed").get("http-json").post(gateway);

    Gateway.shared().awaitStored(service, 1);
    await()
        .atMost(Duration.ofSeconds(10))
        .until(() -> MIRRORED.toString(UTF_8).contains(" " + service + " order placed\n"));
    assertThat(MIRRORED.toString(UTF_8)).doesNotContain(service + " cache miss");
  }

  @Test
  void post_notListed_isSuccessWithNothingAccepted() {
    var natively = "202 {\"accepted\":0,\"rejected\":[],\"filtered\":1,\"ack\":\"durable\"}";
    assertThat(json("http-json", "x")).isEqualTo(natively);
    assertThat(json("http-ndjson", "x")).isEqualTo(natively);
    assertThat(json("http-protobuf", "x")).isEqualTo(natively);
    assertThat(json("legacy-http-json", "x"))
        .isEqualTo(
            "202 {\"success\":true,\"message\":\"Log data accepted; 1 of the logs are not on the"
                + " allowlist and were filtered\",\"stats\":{\"accepted\":0,\"rejected\":0,"
                + "\"filtered\":1,\"throughput\":\"0 logs/sec\"}}");
    assertThat(json("otlp-http-json", "x"))
        .isEqualTo(
            "200 {\"partialSuccess\":{\"errorMessage\":\"1 log records filtered: they are not on"
                + " the allowlist\"}}");
  }

  @Test
  void post_someListed_reportsFilteredCount() {
    var response =
        gateway.postLogs(
            "[{\"body\":\"order placed\"},{\"body\":\"x\"},{\"body\":\"\"},{\"body\":[1]},"
                + "{\"body\":\"order placed\",\"severity\":\"nope\"}]");

    var verdicts = Gateway.json(response);
    assertThat(verdicts.get("accepted").asInt()).isEqualTo(1);
    assertThat(verdicts.get("filtered").asInt()).isEqualTo(3);
    assertThat(verdicts.get("rejected").size()).isEqualTo(1);
  }

  @Test
  void otlpProtobuf_notListed_isPartialSuccessWithNothingRejected() throws Exception {
    var request = Otlp.request(Gateway.service("filter"), "x");

    var http = ProtocolClients.http(gateway, "filter", "x").get("otlp-http-protobuf").post(gateway);
    var grpc = LogsServiceGrpc.newBlockingStub(channel).export(request);

    assertThat(http.statusCode()).isEqualTo(200);
    var message = "1 log records filtered: they are not on the allowlist";
    assertThat(http.body()).contains(message);
    assertThat(grpc.getPartialSuccess().getErrorMessage()).isEqualTo(message);
    assertThat(grpc.getPartialSuccess().getRejectedLogRecords()).isZero();
    assertThat(ExportLogsServiceResponse.parseFrom(grpc.toByteArray())).isEqualTo(grpc);
  }

  @Test
  void grpc_notListed_isResponseNotStatus() {
    var log = NativeLog.log("filter", "x");

    var response = LogServiceGrpc.newBlockingStub(channel).ingest(NativeLog.request(log));

    assertThat(response.getAccepted()).isZero();
    assertThat(response.getFiltered()).isEqualTo(1);
  }

  @Test
  void grpcStream_notListed_isAccepted() throws Exception {
    var answered = new CompletableFuture<IngestStreamResponse>();
    var stream =
        LogServiceGrpc.newStub(channel)
            .ingestStream(
                new StreamObserver<IngestStreamResponse>() {
                  @Override
                  public void onNext(IngestStreamResponse response) {
                    answered.complete(response);
                  }

                  @Override
                  public void onError(Throwable t) {
                    answered.completeExceptionally(t);
                  }

                  @Override
                  public void onCompleted() {}
                });
    stream.onNext(
        IngestStreamRequest.newBuilder()
            .setSequence(7)
            .addLogs(NativeLog.log("filter", "x"))
            .build());
    stream.onCompleted();

    var response = answered.get(10, TimeUnit.SECONDS);
    assertThat(response.getSequence()).isEqualTo(7);
    assertThat(response.getAccepted().getFiltered()).isEqualTo(1);
  }

  @Test
  void legacyGrpc_notListed_isSuccess() {
    var input =
        LogEntryInput.newBuilder()
            .setAppId("filter")
            .setLevel("info")
            .setMessage("x")
            .setSource("s");

    var response =
        dev.sluice.proto.logs.LogServiceGrpc.newBlockingStub(channel)
            .ingestLogs(IngestLogsRequest.newBuilder().addLogs(input).build());

    assertThat(response.getSuccess()).isTrue();
    assertThat(response.getAccepted()).isZero();
    assertThat(response.getMessage()).contains("1 of the logs are not on the allowlist");
  }

  @Test
  void metrics_filtered_areCountedByProtocol() {
    var sample = "sluice_ingest_filtered_total{protocol=\"http-json\"}";
    gateway.postLogs("{\"body\":\"x\"}");
    double before = gateway.meter(sample);

    gateway.postLogs("[{\"body\":\"x\"},{\"body\":\"y\"},{\"body\":\"order placed\"}]");

    assertThat(gateway.meter(sample) - before).isEqualTo(2);
    assertThat(gateway.meter("sluice_console_mirror_dropped_total")).isZero();
  }

  @Test
  void file_changed_isReloadedWithoutRestart() throws IOException {
    var body = "{\"body\":\"Order refunded\"}";
    assertThat(Gateway.json(gateway.postLogs(body)).get("accepted").asInt()).isZero();

    Files.writeString(list, "order placed\norder refunded\n");

    await()
        .atMost(Duration.ofSeconds(10))
        .until(() -> Gateway.json(gateway.postLogs(body)).get("accepted").asInt() == 1);
  }
}
