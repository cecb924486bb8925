package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import com.google.rpc.RetryInfo;
import dev.sluice.core.ingest.RequestContext;
import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.IdempotencyStore.Claim;
import dev.sluice.core.port.IdempotencyStore.ClaimResult;
import dev.sluice.proto.v1.IngestStreamResponse;
import dev.sluice.proto.v1.LogServiceGrpc;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.StreamObserver;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Checks that a request with a key is stored once, however often and by however many clients it is
 * sent.
 */
class IdempotencyIT {
  private static final String KEY = "Idempotency-Key";
  private static final String REPLAYED = "idempotency-replayed";
  private static final Duration SOON = Duration.ofSeconds(30);

  private final Gateway gateway = Gateway.shared();
  private final IdempotencyStore keys = gateway.bean(IdempotencyStore.class);
  private final String key = UUID.randomUUID().toString();
  private final ManagedChannel channel =
      ManagedChannelBuilder.forAddress("127.0.0.1", gateway.grpcPort()).usePlaintext().build();

  @AfterEach
  void close() {
    channel.shutdownNow();
  }

  private HttpResponse<String> post(String log, String... headers) {
    return post(gateway, log, headers);
  }

  private static HttpResponse<String> post(Gateway to, String log, String... headers) {
    return to.post(to.http("/api/v1/logs"), "application/json", log.getBytes(UTF_8), headers);
  }

  private static String log(String service, String body) {
    return "{\"service\":\"%s\",\"body\":\"%s\"}".formatted(service, body);
  }

  @Test
  void http_anyProtocolRetry_isReplayedAndStoredOnce() {
    var service = Gateway.service("key-http");
    var clients = ProtocolClients.http(gateway, service, "b");

    clients.forEach(
        (name, client) -> {
          var first = client.post(gateway, KEY, key + name.replace(' ', '-'));
          var again = client.post(gateway, KEY, key + name.replace(' ', '-'));

          assertThat(first.statusCode()).as(name).isIn(200, 202);
          assertThat(first.headers().firstValue(REPLAYED)).as(name).isEmpty();
          assertThat(again.statusCode()).as(name).isEqualTo(first.statusCode());
          assertThat(again.headers().firstValue(REPLAYED)).as(name).hasValue("true");
          assertThat(again.headers().firstValue("sluice-ack")).as(name).hasValue("durable");
          if (!name.startsWith("legacy")) { // its response has the processing time
            assertThat(again.body()).as(name).isEqualTo(first.body());
          }
        });

    gateway.awaitStored(service, clients.size());
  }

  @Test
  void http_someInvalid_retryHasTheSameRejections() {
    var service = Gateway.service("key-verdicts");
    var logs = "[" + log(service, "b") + ",{\"body\":\"b\",\"severity\":\"nope\"}]";

    var first = post(logs, KEY, key);
    var again = post(logs, KEY, key);

    assertThat(first.statusCode()).isEqualTo(202);
    assertThat(again.body()).isEqualTo(first.body()).contains("\"index\":1");
    gateway.awaitStored(service, 1);
  }

  @Test
  void http_anotherBodyUnderTheKey_is422AndNotStored() {
    var service = Gateway.service("key-reused");
    assertThat(post(log(service, "b"), KEY, key).statusCode()).isEqualTo(202);

    var other = post(log(service, "other"), KEY, key);

    assertThat(other.statusCode()).isEqualTo(422);
    assertThat(Gateway.json(other).get("type").asString())
        .isEqualTo("/api/problems/idempotency-key-reused");
    assertThat(other.headers().firstValue("Retry-After")).isEmpty();
    var otlp =
        ProtocolClients.http(gateway, service, "b").get("otlp-http-json").post(gateway, KEY, key);
    assertThat(otlp.statusCode()).isEqualTo(422);
    assertThat(Gateway.json(otlp).get("code").asInt()).isEqualTo(9);
    assertThat(post(log(service, "last")).statusCode()).isEqualTo(202);
    gateway.awaitStored(service, 2);
  }

  @ParameterizedTest
  @ValueSource(strings = {"a b", "tab\there", "256"})
  void http_invalidKey_is400(String what) {
    var bad = what.equals("256") ? "x".repeat(256) : what;

    var response = post(log("key-bad", "b"), KEY, bad);

    assertThat(response.statusCode()).isEqualTo(400);
    assertThat(response.body()).contains("1 to 255 visible ASCII characters");
  }

  @Test
  void http_failureUnderTheKey_isNotPinned() {
    var service = Gateway.service("key-failed");
    assertThat(post("{\"severity\":\"nope\"}", KEY, key).statusCode()).isEqualTo(400);
    assertThat(post("{\"body\":", KEY, key).statusCode()).isEqualTo(400);

    var good = post(log(service, "b"), KEY, key);

    assertThat(good.statusCode()).isEqualTo(202);
    assertThat(good.headers().firstValue(REPLAYED)).isEmpty();
  }

  @Test
  void http_concurrentRequests_oneIsAcceptedAndTheOthersConflict() throws Exception {
    var service = Gateway.service("key-race");
    var log = log(service, "b");
    Callable<Integer> sending =
        () -> {
          for (int status = 409; ; ) {
            var response = post(log, KEY, key);
            status = response.statusCode();
            if (status != 409) {
              return status;
            }
            assertThat(response.headers().firstValueAsLong("Retry-After").orElse(0)).isPositive();
            assertThat(Gateway.json(response).get("type").asString())
                .isEqualTo("/api/problems/request-in-progress");
          }
        };
    var statuses = new ArrayList<Integer>();
    try (var clients = Executors.newFixedThreadPool(8)) {
      for (var status : clients.invokeAll(Collections.nCopies(8, sending))) {
        statuses.add(status.get());
      }
    }

    assertThat(statuses).hasSize(8).containsOnly(202);
    gateway.awaitStored(service, 1);
  }

  @Test
  void http_sameRequestInProgress_is409AndNotStored() {
    var service = Gateway.service("key-in-progress");
    var log = log(service, "b");
    var first = claim("http-json", log.getBytes(UTF_8));

    var second = post(log, KEY, key);

    assertThat(second.statusCode()).isEqualTo(409);
    assertThat(second.headers().firstValueAsLong("Retry-After").orElse(0)).isPositive();
    assertThat(Gateway.json(second).get("type").asString())
        .isEqualTo("/api/problems/request-in-progress");
    keys.release(first).toCompletableFuture().join();
    var third = post(log, KEY, key);
    assertThat(third.statusCode()).isEqualTo(202);
    assertThat(third.headers().firstValue(REPLAYED)).isEmpty();
    gateway.awaitStored(service, 1);
  }

  @Test
  void otlp_sameRequestInProgress_is409WithRetryAfter() {
    var client =
        ProtocolClients.http(gateway, Gateway.service("key-in-progress"), "b")
            .get("otlp-http-json");
    claim("otlp-http-json", client.body());

    var second = client.post(gateway, KEY, key);

    assertThat(second.statusCode()).isEqualTo(409);
    assertThat(second.headers().firstValueAsLong("Retry-After").orElse(0)).isPositive();
    assertThat(Gateway.json(second).get("code").asInt()).isEqualTo(10);
  }

  @Test
  void grpc_sameRequestInProgress_isAborted() throws Exception {
    var service = Gateway.service("key-in-progress");
    claim("otlp-grpc", Otlp.request(service, "b").toByteArray());
    var asking =
        ProtocolClients.withMetadata(channel, new AtomicReference<>(), "idempotency-key", key);

    var second =
        catchThrowableOfType(
            StatusRuntimeException.class, ProtocolClients.grpc(asking, service, "b").get(1)::run);

    assertThat(second.getStatus().getCode()).isEqualTo(Status.Code.ABORTED);
    var again = StatusProto.fromThrowable(second).getDetails(0).unpack(RetryInfo.class);
    assertThat(again.getRetryDelay().getSeconds()).isPositive();
  }

  /** Claims the key of a request, like a request on this protocol that is not appended yet. */
  private Claim claim(String protocol, byte[] body) {
    var request = RequestContext.of("default", null, protocol).toIdempotencyKey(key, body);
    var claimResult = keys.claim(request).toCompletableFuture().join();
    assertThat(claimResult).isInstanceOf(ClaimResult.Granted.class);
    return ((ClaimResult.Granted) claimResult).claim();
  }

  @Test
  void http_storedUnderAKey_isConfirmed() {
    var service = Gateway.service("key-stored");

    var response = post(log(service, "b"), KEY, key, "sluice-ack", "stored");

    assertThat(response.headers().firstValue("sluice-ack")).hasValue("stored");
    assertThat(gateway.count(service)).isEqualTo(1);
  }

  @Test
  void http_acceptedUnderAKey_isDurable() {
    var response = post(log("key-accepted", "b"), KEY, key, "sluice-ack", "accepted");

    assertThat(response.headers().firstValue("sluice-ack")).hasValue("durable");
  }

  @Test
  void http_redisDown_is503AndAcceptedAfterRecovery() {
    var alone = Gateway.isolated();
    var service = Gateway.service("key-away");
    alone.redis().stop();
    try {
      var refused = post(alone, log(service, "b"), KEY, key);
      assertThat(refused.statusCode()).isEqualTo(503);
      assertThat(refused.headers().firstValueAsLong("Retry-After").orElse(0)).isPositive();
    } finally {
      alone.redis().restart();
    }

    await().atMost(SOON).until(() -> post(alone, log(service, "b"), KEY, key).statusCode() == 202);
    assertThat(post(alone, log(service, "b"), KEY, key).headers().firstValue(REPLAYED))
        .hasValue("true");
    alone.awaitStored(service, 1);
  }

  @Test
  void grpc_anyProtocolRetry_isReplayedAndStoredOnce() {
    var service = Gateway.service("key-grpc");
    for (int i = 0; i < 3; i++) {
      var headers = new AtomicReference<Metadata>();
      var call =
          ProtocolClients.grpc(
                  ProtocolClients.withMetadata(channel, headers, "idempotency-key", key + i),
                  service,
                  "b")
              .get(i);

      call.run();
      assertThat(headers.get().get(ProtocolClients.key(REPLAYED))).isNull();
      call.run();

      assertThat(headers.get().get(ProtocolClients.key(REPLAYED))).isEqualTo("true");
      assertThat(headers.get().get(ProtocolClients.key("sluice-ack"))).isEqualTo("durable");
    }

    gateway.awaitStored(service, 3);
  }

  @Test
  void grpc_anotherBodyUnderTheKey_isFailedPrecondition() {
    var service = Gateway.service("key-grpc-reused");
    var asking =
        ProtocolClients.withMetadata(channel, new AtomicReference<>(), "idempotency-key", key);
    ProtocolClients.grpc(asking, service, "b").getFirst().run();

    for (var other : List.of(0, 1, 2)) {
      var call = ProtocolClients.grpc(asking, service, "other").get(other);
      assertThat(failure(call)).isEqualTo(Status.Code.FAILED_PRECONDITION);
    }
  }

  @Test
  void grpc_invalidKey_isInvalidArgument() {
    var asking =
        ProtocolClients.withMetadata(channel, new AtomicReference<>(), "idempotency-key", "a b");

    for (var call : ProtocolClients.grpc(asking, "key-bad", "b")) {
      assertThat(failure(call)).isEqualTo(Status.Code.INVALID_ARGUMENT);
    }
  }

  private static Status.Code failure(Runnable call) {
    var failure = catchThrowableOfType(StatusRuntimeException.class, call::run);
    return failure.getStatus().getCode();
  }

  @Test
  void stream_withAKey_isInvalidArgument() {
    var ended = new CompletableFuture<Status.Code>();
    var _ =
        LogServiceGrpc.newStub(
                ProtocolClients.withMetadata(
                    channel, new AtomicReference<>(), "idempotency-key", key))
            .ingestStream(
                new StreamObserver<>() {
                  @Override
                  public void onNext(IngestStreamResponse value) {}

                  @Override
                  public void onError(Throwable t) {
                    ended.complete(Status.fromThrowable(t).getCode());
                  }

                  @Override
                  public void onCompleted() {
                    ended.complete(Status.Code.OK);
                  }
                });

    assertThat(ended.orTimeout(30, TimeUnit.SECONDS).join())
        .isEqualTo(Status.Code.INVALID_ARGUMENT);
  }
}
