package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests {@code POST /v1/ingest/wal-frames} with HTTP requests. */
class WalFramesIT {
  private static final String LINE =
      "{\"ts\":\"2026-01-02T03:04:05Z\",\"level\":\"info\",\"_msg\":\"%s\"}";

  private final Gateway gateway = Gateway.shared();
  private final String service = Gateway.service("wal-frames");

  private HttpResponse<String> post(WalFile file, String boundary, String... headers) {
    return send(file.multipart(boundary), "multipart/form-data; boundary=" + boundary, headers);
  }

  private HttpResponse<String> send(byte[] body, String contentType, String... headers) {
    return gateway.post(
        gateway.http("/v1/ingest/wal-frames?service=" + service), contentType, body, headers);
  }

  private static WalFile file(String mark) {
    return new WalFile()
        .gzip(LINE.formatted(mark + 1), LINE.formatted(mark + 2))
        .zstd(LINE.formatted(mark + 3));
  }

  @Test
  void post_frames_everyLineIsStoredWithItsSender() {
    var response =
        post(file(service), "b", "X-Cosmos-Chain-Id", "chain-7", "X-Cosmos-Node-Id", "n1");

    assertThat(response.statusCode()).as(response.body()).isEqualTo(202);
    assertThat(response.body()).isEqualTo("{\"accepted\":3,\"rejected\":[],\"ack\":\"durable\"}");
    assertThat(response.headers().firstValue("sluice-ack")).hasValue("durable");
    var rows = gateway.awaitStored(service, 3);
    assertThat(rows)
        .extracting(row -> row.get("Body").asString())
        .containsExactly(service + 1, service + 2, service + 3);
    var resource = rows.getFirst().get("ResourceAttributes");
    assertThat(resource.get("chain.id").asString()).isEqualTo("chain-7");
    assertThat(resource.get("service.instance.id").asString()).isEqualTo("n1");
  }

  @Test
  void post_sameFramesWithOtherBoundary_areStoredOnce() {
    assertThat(post(file(service), "one", "X-Node-Id", "n").statusCode()).isEqualTo(202);
    var again = post(file(service), "two", "X-Node-Id", "n");

    assertThat(again.statusCode()).isEqualTo(202);
    assertThat(again.headers().firstValue("idempotency-replayed")).hasValue("true");
    post(new WalFile().gzip(LINE.formatted("later")), "b");
    assertThat(gateway.awaitStored(service, 4)).hasSize(4);
  }

  /** Two nodes can write the same frames. */
  @Test
  void post_sameFramesOfAnotherNode_areStoredToo() {
    assertThat(post(file(service), "b", "X-Node-Id", "n1").statusCode()).isEqualTo(202);
    var other = post(file(service), "b", "X-Node-Id", "n2");

    assertThat(other.headers().firstValue("idempotency-replayed")).isEmpty();
    gateway.awaitStored(service, 6);
  }

  @Test
  void post_oneBadFrameAmongValidOnes_is422AndNothingIsStored() {
    var bad = file("lost").frame(WalFile.gzip(WalFile.payload("{\"_msg\":\"lost\"}")), 1, 4711);

    var response = post(bad, "b");

    assertThat(response.statusCode()).isEqualTo(422);
    assertThat(response.headers().firstValue("Content-Type")).hasValue("application/problem+json");
    assertThat(Gateway.json(response).get("type").asString()).isEqualTo("/api/problems/bad-frame");
    assertThat(Gateway.json(response).get("detail").asString())
        .startsWith("frame 3 of seg-000001.wal.gz: crc32 is ");
    post(new WalFile().gzip(LINE.formatted("kept")), "b");
    assertThat(gateway.awaitStored(service, 1).getFirst().get("Body").asString()).isEqualTo("kept");
    assertThat(gateway.inFlight()).isZero();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "--b",
        "--b--\r\n",
        "--b\r\n\r\nx\r\n--b--\r\n",
        "--b\r\nContent-Disposition: form-data; name=\"manifest\"\r\n\r\n[]\r\n--b--\r\n",
        "--b\r\nContent-Disposition: form-data; name=\"manifest\"\r\n\r\n[]\r\n",
        "--b\r\nContent-Disposition: form-data\r\n\r\n[]\r\n--b--\r\n",
        """
        --b\r
        Content-Disposition: form-data; name="frames"\r
        \r
        \r
        --b\r
        Content-Disposition: form-data; name="manifest"\r
        \r
        {}\r
        --b--\r
        """
      })
  void post_invalidUpload_is400(String body) {
    var response = send(body.getBytes(UTF_8), "multipart/form-data; boundary=b");

    assertThat(response.statusCode()).as(response.body()).isEqualTo(400);
    assertThat(gateway.inFlight()).isZero();
  }

  @Test
  void post_anotherContentTypeOrNoBoundary_isRejected() {
    assertThat(send(new byte[1], "application/json").statusCode()).isEqualTo(415);
    assertThat(send(new byte[1], "multipart/form-data").statusCode()).isEqualTo(400);
    assertThat(gateway.get(gateway.http("/v1/ingest/wal-frames")).statusCode()).isEqualTo(405);
  }

  @Test
  void post_decompressedOverTheLimit_is413() {
    var lines = new String[80];
    Arrays.fill(lines, "{\"_msg\":\"" + "x".repeat(1 << 20) + "\"}");

    assertThat(post(new WalFile().zstd(lines), "b").statusCode()).isEqualTo(413);
    assertThat(gateway.inFlight()).isZero();
  }

  @Test
  void post_unstorableLogs_areRejected() {
    var response =
        post(new WalFile().gzip("{\"ts\":\"soon\",\"_msg\":\"m\"}", LINE.formatted("m")), "b");

    assertThat(response.statusCode()).isEqualTo(202);
    var verdict = Gateway.json(response).get("rejected").get(0);
    assertThat(verdict.get("index").asInt()).isZero();
    assertThat(verdict.get("field").asString()).isEqualTo("ts");
  }

  @Test
  void curl_multipart_isParsed(@TempDir Path folder) throws Exception {
    var file = file(service);
    var manifest = Files.write(folder.resolve("manifest.json"), file.manifest());
    var frames = Files.write(folder.resolve("frames.bin"), file.frames());

    var text =
        curl(
            "-F",
            "manifest=<" + manifest,
            "-F",
            "frames=@" + frames + ";type=application/gzip",
            gateway.http("/v1/ingest/wal-frames?service=" + service).toString());

    assertThat(text).isEqualTo("{\"accepted\":3,\"rejected\":[],\"ack\":\"durable\"}");
    gateway.awaitStored(service, 3);
  }

  private static String curl(String... arguments) throws IOException, InterruptedException {
    var command = new ArrayList<>(List.of("curl", "-sS", "--max-time", "30"));
    command.addAll(List.of(arguments));
    var process = new ProcessBuilder(command).redirectErrorStream(true).start();
    var text = new String(process.getInputStream().readAllBytes(), UTF_8);
    assertThat(process.waitFor()).as(text).isZero();
    return text;
  }
}
