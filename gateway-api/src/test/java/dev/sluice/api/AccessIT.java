package dev.sluice.api;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.api.http.RestrictedHandler;
import io.grpc.CallOptions;
import io.grpc.ClientInterceptors;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.springframework.boot.actuate.endpoint.web.WebEndpointsSupplier;
import org.springframework.core.io.Resource;
import org.springframework.grpc.server.service.GrpcServiceDiscoverer;
import org.springframework.web.reactive.function.server.HandlerFunction;
import org.springframework.web.reactive.function.server.RequestPredicate;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerRequest;
import reactor.core.publisher.Mono;

/**
 * Checks who may use each route and each method of the running gateway, and that a tenant reads
 * nothing of another. A route or method without a row in the tables of this class fails.
 */
class AccessIT {
  private static final String INGEST_A = secret('a');
  private static final String READ_A = secret('b');
  private static final String INGEST_B = secret('c');
  private static final String READ_B = secret('d');
  private static final String OPERATOR = secret('e');
  private static final String EXPIRED = secret('f');
  private static final String UNKNOWN = secret('z');

  private static final Gateway GATEWAY =
      Gateway.ingestOnly("access", "--sluice.security.keys-file=" + keysFile());
  private static final ManagedChannel CHANNEL =
      ManagedChannelBuilder.forAddress("127.0.0.1", GATEWAY.grpcPort()).usePlaintext().build();

  /** The rules of all HTTP routes; the paths of other methods and unknown paths are pages. */
  private static final Map<String, String> HTTP_ROUTES =
      Map.ofEntries(
          Map.entry("(POST && /api/v1/logs)", "INGEST"),
          Map.entry("(POST && /v1/logs)", "INGEST"),
          Map.entry("(POST && /api/logs)", "INGEST"),
          Map.entry("(POST && /v1/ingest/wal-frames)", "INGEST"),
          Map.entry("(GET && /api/v1/logs)", "READ"),
          Map.entry("(POST && /api/v1/logs/search)", "READ"),
          Map.entry("(GET && /api/v1/logs/histogram)", "READ"),
          Map.entry("(GET && /api/v1/templates)", "READ"),
          Map.entry("(GET && /api/v1/templates/{id})", "READ"),
          Map.entry("(GET && /api/v1/templates/{id}/logs)", "READ"),
          Map.entry("(POST && /api/logs/search)", "READ"),
          Map.entry("(GET && /api/logs/{app_id})", "READ"));

  private static final Map<String, String> GRPC_METHODS =
      Map.of(
          "opentelemetry.proto.collector.logs.v1.LogsService/Export", "INGEST",
          "sluice.v1.LogService/Ingest", "INGEST",
          "sluice.v1.LogService/IngestStream", "INGEST",
          "sluice.v1.LogService/Query", "READ",
          "sluice.v1.LogService/Search", "READ",
          "logs.LogService/IngestLogs", "INGEST",
          "logs.LogService/GetLogsByAppId", "READ",
          "logs.LogService/HealthCheck", "PUBLIC",
          "grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "AUTHENTICATED");

  private static final List<String> ENDPOINTS =
      List.of("deadletters", "dictionary", "health", "info", "keys", "ledger", "prometheus", "wal");

  @AfterAll
  static void closeChannel() {
    CHANNEL.shutdownNow();
  }

  private static String secret(char letter) {
    return "sluice_" + String.valueOf(letter).repeat(43);
  }

  private static String entry(String secret, String tenant, String scope, String more) {
    try {
      var hash =
          HexFormat.of()
              .formatHex(MessageDigest.getInstance("SHA-256").digest(secret.getBytes(US_ASCII)));
      return "  - hash: sha256:%s\n    tenant: '%s'\n    scopes: [%s]\n%s"
          .formatted(hash, tenant, scope, more);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }

  private static Path keysFile() {
    try {
      return Files.writeString(
          Files.createTempFile("sluice-keys", ".yaml"),
          "keys:\n"
              + entry(INGEST_A, "access-a", "ingest", "")
              + entry(READ_A, "access-a", "read", "")
              + entry(INGEST_B, "access-b", "ingest", "")
              + entry(READ_B, "access-b", "read", "")
              + entry(OPERATOR, "*", "admin", "")
              + entry(EXPIRED, "access-a", "ingest, read", "    expires: 2020-01-01T00:00:00Z\n"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  // ---- HTTP

  private static HttpResponse<String> send(
      String method, URI uri, @Nullable String authorization, String body, String contentType) {
    var request =
        HttpRequest.newBuilder(uri)
            .header("Content-Type", contentType)
            .method(method, BodyPublishers.ofString(body));
    if (authorization != null) {
      request.header("Authorization", authorization);
    }
    return Gateway.send(request.build(), BodyHandlers.ofString());
  }

  private static int status(String method, URI uri, @Nullable String key) {
    return send(method, uri, key == null ? null : "Bearer " + key, "", "application/json")
        .statusCode();
  }

  @Test
  void httpRoutes_each_hasARule() {
    var routes = new RouteCollector();
    GATEWAY.bean(RouterFunction.class).accept(routes);

    assertThat(routes.withoutRule).isEmpty();
    routes.rules.entrySet().removeIf(route -> route.getValue().equals("AUTHENTICATED"));
    assertThat(routes.rules).isEqualTo(new TreeMap<>(HTTP_ROUTES));
  }

  @Test
  void httpRoutes_each_needsItsScope() {
    HTTP_ROUTES.forEach(
        (route, rule) -> {
          var parts = route.substring(1, route.length() - 1).split(" && ");
          var uri = GATEWAY.http(parts[1].replaceAll("\\{\\w+}", "any"));
          boolean ingest = rule.equals("INGEST");

          for (var invalid : new String[] {null, UNKNOWN, EXPIRED, "x", "sluice_"}) {
            // 429: the other tests share the address
            assertThat(status(parts[0], uri, invalid)).as(route).isIn(401, 429);
          }
          for (var wrong : List.of(ingest ? READ_A : INGEST_A, OPERATOR)) {
            assertThat(status(parts[0], uri, wrong)).as(route).isEqualTo(403);
          }
          assertThat(status(parts[0], uri, ingest ? INGEST_A : READ_A))
              .as(route)
              .isNotIn(401, 403, 429, 500);
        });
  }

  @Test
  void otlpPort_each_needsItsScope() {
    assertThat(status("POST", GATEWAY.otlp("/v1/logs"), null)).isIn(401, 429);
    assertThat(status("POST", GATEWAY.otlp("/v1/logs"), READ_A)).isEqualTo(403);
    assertThat(status("GET", GATEWAY.otlp("/any"), null)).isIn(401, 429);
    assertThat(status("GET", GATEWAY.otlp("/any"), READ_A)).isEqualTo(404);
  }

  @Test
  void pages_each_needAnyKey() {
    for (var path :
        List.of("/", "/api/docs", "/api/openapi.yaml", "/api/problems/malformed", "/any")) {
      assertThat(status("GET", GATEWAY.http(path), null)).as(path).isIn(401, 429);
      assertThat(status("GET", GATEWAY.http(path), READ_A)).as(path).isNotIn(401, 403, 429);
    }
    assertThat(status("GET", GATEWAY.http("/api/docs/assets/swagger-ui/any"), null)).isIn(401, 429);
    assertThat(status("PUT", GATEWAY.http("/v1/logs"), null)).isIn(401, 429);
  }

  @Test
  void denial_http_hasTheErrorFormatOfTheProtocol() {
    var otlp = send("POST", GATEWAY.http("/v1/logs"), "Bearer " + READ_A, "{}", "application/json");
    var nativeLogs =
        send("POST", GATEWAY.http("/api/v1/logs"), "Bearer " + READ_A, "{}", "application/json");
    var legacy =
        send("POST", GATEWAY.http("/api/logs"), "Bearer " + READ_A, "{}", "application/json");
    var legacyQuery = send("GET", GATEWAY.http("/api/logs/a"), "Bearer " + INGEST_A, "", "a/b");

    assertThat(Gateway.json(otlp).get("code").asInt()).isEqualTo(7);
    assertThat(Gateway.json(nativeLogs).get("type").asString()).endsWith("/forbidden");
    assertThat(Gateway.json(legacy).get("success").asBoolean()).isFalse();
    assertThat(Gateway.json(legacyQuery).get("success").asBoolean()).isFalse();
  }

  // ---- management

  @Test
  void managementEndpoints_each_needTheScopeAdminExceptHealth() {
    var endpoints = GATEWAY.bean(WebEndpointsSupplier.class).getEndpoints();

    assertThat(endpoints.stream().map(each -> each.getEndpointId().toString()).sorted())
        .containsExactlyElementsOf(ENDPOINTS);
    for (var endpoint : endpoints) {
      for (var operation : endpoint.getOperations()) {
        var predicate = operation.getRequestPredicate();
        var path = predicate.getPath().replaceAll("\\{[^}]*}", "any");
        var uri = GATEWAY.management("/actuator/" + path);
        var method = predicate.getHttpMethod().name();
        boolean open = endpoint.getEndpointId().toString().equals("health");

        if (open) {
          assertThat(status(method, uri, null)).as(uri.getPath()).isNotIn(401, 403, 429);
        } else {
          assertThat(status(method, uri, null)).as(uri.getPath()).isIn(401, 429);
          assertThat(status(method, uri, INGEST_A)).as(uri.getPath()).isEqualTo(403);
          assertThat(status(method, uri, READ_A)).as(uri.getPath()).isEqualTo(403);
          assertThat(status(method, uri, OPERATOR)).as(uri.getPath()).isNotIn(401, 403, 429);
        }
      }
    }
  }

  @Test
  void managementPort_otherPaths_needTheScopeAdmin() {
    for (var path :
        List.of(
            "/",
            "/any",
            "/actuator",
            "/actuator/healthy",
            "/actuator//keys",
            "/actuator/keys/",
            "/actuator/health%2f..%2fkeys",
            "/actuator/health/../keys")) {
      assertThat(status("GET", GATEWAY.management(path), null)).as(path).isIn(400, 401, 404, 429);
    }
    assertThat(status("GET", GATEWAY.management("/any"), null)).isIn(401, 429);
  }

  @Test
  void keys_endpoint_showsUseAndNoHash() {
    var _ = status("GET", GATEWAY.http("/api/v1/logs"), READ_A);

    var response =
        send("GET", GATEWAY.management("/actuator/keys"), "Bearer " + OPERATOR, "", "a/b");

    assertThat(Gateway.json(response).get("keys")).hasSize(6);
    assertThat(response.body()).contains("\"lastUsed\":\"20").doesNotContain("sha256", "sluice_");
  }

  // ---- gRPC

  private static Status.Code call(String method, @Nullable String key, byte[] message) {
    var descriptor =
        MethodDescriptor.newBuilder(new RawBytesMarshaller(), new RawBytesMarshaller())
            .setType(MethodDescriptor.MethodType.UNARY)
            .setFullMethodName(method)
            .build();
    var headers = new Metadata();
    if (key != null) {
      headers.put(
          Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), "Bearer " + key);
    }
    try {
      ClientCalls.blockingUnaryCall(
          ClientInterceptors.intercept(CHANNEL, MetadataUtils.newAttachHeadersInterceptor(headers)),
          descriptor,
          CallOptions.DEFAULT.withDeadlineAfter(20, TimeUnit.SECONDS),
          message);
      return Status.Code.OK;
    } catch (StatusRuntimeException e) {
      return e.getStatus().getCode();
    }
  }

  @Test
  void grpcMethods_each_needsItsScope() {
    var expected = new TreeMap<>(GRPC_METHODS);
    expected.put("grpc.health.v1.Health/Check", "PUBLIC");
    expected.put("grpc.health.v1.Health/Watch", "PUBLIC");
    expected.put("grpc.health.v1.Health/List", "NONE");
    var methods =
        GATEWAY.bean(GrpcServiceDiscoverer.class).findServices().stream()
            .flatMap(spec -> spec.service().bindService().getMethods().stream())
            .map(method -> method.getMethodDescriptor().getFullMethodName())
            .toList();

    assertThat(expected.keySet()).containsAll(methods);
    for (var method : methods) {
      var rule = expected.get(method);
      if (rule.equals("PUBLIC")) {
        if (!method.endsWith("Watch")) { // it never ends
          assertThat(call(method, null, new byte[0])).as(method).isEqualTo(Status.Code.OK);
        }
        continue;
      }
      if (rule.equals("NONE")) {
        assertThat(call(method, OPERATOR, new byte[0]))
            .as(method)
            .isEqualTo(Status.Code.PERMISSION_DENIED);
        continue;
      }
      for (var invalid : new String[] {null, UNKNOWN, EXPIRED}) {
        assertThat(call(method, invalid, new byte[0]))
            .as(method)
            .isIn(Status.Code.UNAUTHENTICATED, Status.Code.RESOURCE_EXHAUSTED);
      }
      if (rule.equals("AUTHENTICATED")) {
        continue;
      }
      boolean ingest = rule.equals("INGEST");
      assertThat(call(method, ingest ? READ_A : INGEST_A, new byte[0]))
          .as(method)
          .isEqualTo(Status.Code.PERMISSION_DENIED);
      assertThat(call(method, ingest ? INGEST_A : READ_A, new byte[0]))
          .as(method)
          .isNotIn(Status.Code.PERMISSION_DENIED, Status.Code.UNAUTHENTICATED);
    }
  }

  // ---- tenants

  private static HttpResponse<String> read(String path, String key) {
    return send("GET", GATEWAY.http(path), "Bearer " + key, "", "application/json");
  }

  @Test
  void tenants_everyRead_showsOnlyItsOwnLogs() {
    var service = Gateway.service("tenants");
    ingest(INGEST_A, service, "alpha payment accepted", "one-key", 202);
    // the same idempotency key and the same body belong to another request for another tenant
    var own = ingest(INGEST_B, service, "bravo shipment delayed by hexagon", "one-key", 202);
    assertThat(own.headers().firstValue("idempotency-replayed")).isEmpty();
    var rows = GATEWAY.awaitStored(service, 2);
    assertThat(rows)
        .extracting(row -> row.get("Tenant").asString())
        .containsExactly("access-a", "access-b");
    var templateOfB = rows.getLast().get("TemplateId").asString();
    var window = "?service=" + service;

    Function<String, List<HttpResponse<String>>> everyRead =
        key ->
            List.of(
                read("/api/v1/logs" + window, key),
                read("/api/v1/logs?text=bravo", key),
                read("/api/v1/logs/histogram" + window, key),
                read("/api/v1/templates" + window, key),
                read("/api/v1/templates/" + templateOfB, key),
                read("/api/v1/templates/" + templateOfB + "/logs", key),
                read("/api/logs/" + service, key),
                send(
                    "POST",
                    GATEWAY.http("/api/v1/logs/search"),
                    "Bearer " + key,
                    "{\"query\":\"bravo shipment delayed\"}",
                    "application/json"),
                send(
                    "POST",
                    GATEWAY.http("/api/logs/search"),
                    "Bearer " + key,
                    "{\"query\":\"bravo shipment delayed\"}",
                    "application/json"));

    assertThat(everyRead.apply(READ_A))
        .allSatisfy(response -> assertThat(response.body()).doesNotContain("hexagon"));
    assertThat(everyRead.apply(READ_B))
        .allSatisfy(response -> assertThat(response.statusCode()).isEqualTo(200))
        .filteredOn(response -> response.body().contains("hexagon"))
        .hasSizeGreaterThanOrEqualTo(5);
    assertThat(read("/api/v1/templates/" + templateOfB, READ_A).statusCode()).isEqualTo(404);
    assertThat(read("/api/v1/logs" + window, READ_A).body()).contains("alpha");
  }

  private static HttpResponse<String> ingest(
      String key, String service, String body, String idempotencyKey, int status) {
    var request =
        Gateway.postRequest(
            GATEWAY.http("/api/v1/logs"),
            "application/json",
            "{\"service\":\"%s\",\"body\":\"%s\"}".formatted(service, body).getBytes(UTF_8),
            "Authorization",
            "Splunk " + key,
            "Idempotency-Key",
            idempotencyKey + service);
    var response = Gateway.send(request, BodyHandlers.ofString());
    assertThat(response.statusCode()).as(response.body()).isEqualTo(status);
    return response;
  }

  /** Collects the rules of all routes by their predicates. */
  private static final class RouteCollector implements RouterFunctions.Visitor {
    private final Map<String, String> rules = new TreeMap<>();
    private final List<String> withoutRule = new ArrayList<>();

    @Override
    public void route(RequestPredicate predicate, HandlerFunction<?> handler) {
      if (handler instanceof RestrictedHandler restricted) {
        rules.put(predicate.toString(), restricted.rule().name());
      } else {
        withoutRule.add(predicate.toString());
      }
    }

    @Override
    public void startNested(RequestPredicate predicate) {}

    @Override
    public void endNested(RequestPredicate predicate) {}

    @Override
    public void resources(Function<ServerRequest, Mono<Resource>> lookup) {
      withoutRule.add("resources");
    }

    @Override
    public void attributes(Map<String, Object> attributes) {}

    @Override
    public void unknown(RouterFunction<?> route) {} // the assets, see pages_each_needAnyKey
  }
}
