package dev.sluice.api;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.testkit.InMemoryLogStore;
import java.io.IOException;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.springframework.core.io.Resource;
import org.springframework.http.HttpMethod;
import org.springframework.web.reactive.function.server.HandlerFunction;
import org.springframework.web.reactive.function.server.RequestPredicate;
import org.springframework.web.reactive.function.server.RequestPredicates;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.yaml.snakeyaml.Yaml;
import reactor.core.publisher.Mono;

/** Checks that the OpenAPI document describes exactly the API of the gateway. */
class OpenApiIT {
  private static final Set<String> METHODS =
      Set.of("get", "put", "post", "delete", "options", "head", "patch", "trace");

  private final Gateway gateway = Gateway.shared();
  private final String text = gateway.get(gateway.http("/api/openapi.yaml")).body();
  private final Map<String, Object> document = new Yaml().load(text);

  @SuppressWarnings("unchecked")
  private static Map<String, Object> map(Object value) {
    return (Map<String, Object>) value;
  }

  private Set<String> described() {
    var described = new TreeSet<String>();
    map(document.get("paths"))
        .forEach(
            (path, operations) ->
                map(operations).keySet().stream()
                    .filter(METHODS::contains)
                    .forEach(
                        method -> described.add(method.toUpperCase(Locale.ROOT) + " " + path)));
    return described;
  }

  @Test
  void document_asServed_isValidOpenApiWithoutPlaceholders() {
    var response = gateway.get(gateway.http("/api/openapi.yaml"));

    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(response.headers().firstValue("Content-Type").orElseThrow())
        .startsWith("application/yaml");
    assertThat(document.get("openapi")).isEqualTo("3.1.0");
    assertThat(text).doesNotContain("${");
  }

  @Test
  void document_references_allResolve() {
    var references = Pattern.compile("#/components/schemas/(\\w+)").matcher(text);
    var schemas = map(map(document.get("components")).get("schemas"));

    assertThat(references.results().map(found -> found.group(1)))
        .isNotEmpty()
        .allSatisfy(name -> assertThat(schemas).containsKey(name));
  }

  @Test
  void document_operations_areComplete() {
    for (var operation : described()) {
      var parts = operation.split(" ", 2);
      var request =
          HttpRequest.newBuilder(gateway.http(parts[1].replaceAll("\\{\\w+}", "any")))
              .method(parts[0], BodyPublishers.noBody())
              .build();

      int status = Gateway.send(request, BodyHandlers.ofString()).statusCode();

      assertThat(status).as(operation).isNotIn(404, 405, 500, 501);
    }
  }

  @Test
  void routes_everyOperation_isInTheDocument() {
    var routeCollector = new RouteCollector();
    gateway.bean(RouterFunction.class).accept(routeCollector);

    assertThat(routeCollector.found)
        .contains("POST /v1/logs", "POST /api/v1/logs", "GET /api/v1/logs", "POST /api/logs")
        .isNotEmpty();
    routeCollector.found.removeIf(
        route -> route.matches("GET (/|/api/docs|/api/openapi.yaml|/api/problems/.*)"));
    assertThat(routeCollector.found).isEqualTo(described());
  }

  @Test
  void document_everyIngestRoute_hasItsContentType() {
    for (var route : Registrations.ingestRoutes()) {
      var post = map(map(map(document.get("paths")).get(route.path())).get("post"));

      assertThat(map(map(post.get("requestBody")).get("content")))
          .as(route.path())
          .containsKey(route.mediaTypes().getFirst());
    }
  }

  @Test
  void registrations_everyProtocol_hasADocumentedNameAndAClient() throws IOException {
    var documented = Files.readString(Path.of("../docs/operations.md"));
    var clients = new TreeSet<>(ProtocolClients.http(gateway, "s", "b").keySet());
    clients.addAll(ProtocolClients.GRPC);
    clients.add("wal-frames"); // WalFramesIT

    assertThat(gateway.bean("protocols", List.class))
        .extracting(Object::getClass)
        .isEqualTo(
            Registrations.all(
                    IngestFixture.queryDependencies(new InMemoryLogStore()), new MemoryBudget(1))
                .stream()
                .map(Object::getClass)
                .toList());
    assertThat(clients).containsExactlyElementsOf(new TreeSet<>(Registrations.names()));
    assertThat(clients).allMatch(name -> documented.contains("`" + name + "`"));
  }

  @Test
  void document_limits_matchTheConfiguredLimits() {
    var limits = gateway.bean(Limits.class);
    var log = map(map(map(document.get("components")).get("schemas")).get("Log"));
    var properties = map(log.get("properties"));

    assertThat(map(properties.get("attributes")).get("maxProperties"))
        .isEqualTo(limits.maxAttributes());
    assertThat(map(properties.get("body")).get("description").toString())
        .contains(limits.maxNesting() + " levels", limits.maxBodyBytes() + " bytes");
    assertThat(map(properties.get("attributes")).get("description").toString())
        .contains(
            "keys of " + limits.maxKeyBytes() + " bytes",
            "values of " + limits.maxValueBytes() + " bytes");
    assertThat(map(properties.get("event_name")).get("description").toString())
        .contains(limits.maxNameBytes() + " bytes");
    assertThat(text).contains(limits.maxRequestBytes() + " bytes", limits.maxRecords() + " logs");
  }

  /**
   * Checks that each problem type is in the document and on the documentation page, and has its own
   * page.
   */
  @Test
  void problems_everyType_isDocumentedAtItsUri() throws IOException {
    var routeCollector = new RouteCollector();
    gateway.bean(RouterFunction.class).accept(routeCollector);
    var kinds =
        routeCollector.found.stream()
            .filter(route -> route.startsWith("GET /api/problems/"))
            .map(route -> route.substring("GET ".length()))
            .toList();
    var words = Files.readString(Path.of("../docs/api.md"));
    var problem = map(map(map(document.get("components")).get("schemas")).get("Problem"));

    assertThat(kinds).hasSizeGreaterThan(5);
    assertThat(map(map(problem.get("properties")).get("type")).get("enum")).isEqualTo(kinds);
    for (var kind : kinds) {
      assertThat(words).contains("`" + kind + "`");
      var page = gateway.get(gateway.http(kind));
      assertThat(page.statusCode()).as(kind).isEqualTo(200);
      assertThat(page.body()).contains("Example:\n{", "\"type\":\"" + kind + "\"");
    }
  }

  @Test
  void docs_page_isServedWithAllItsAssets() {
    var page = gateway.get(gateway.http("/api/docs"));

    assertThat(page.statusCode()).isEqualTo(200);
    assertThat(page.headers().firstValue("Content-Type").orElseThrow()).startsWith("text/html");
    var assets = Pattern.compile("(?:href|src)=\"([^\"]+)\"").matcher(page.body());
    assertThat(assets.results().map(found -> found.group(1)).toList())
        .hasSize(2)
        .allSatisfy(
            asset -> {
              var response = gateway.get(gateway.http(asset));
              assertThat(response.statusCode()).as(asset).isEqualTo(200);
              assertThat(response.body()).isNotEmpty();
            });
    assertThat(page.body()).contains("\"/api/openapi.yaml\"");
  }

  @Test
  void root_browser_isRedirectedToTheDocs() {
    var response = gateway.get(gateway.http("/"));

    assertThat(response.statusCode()).isEqualTo(308);
    assertThat(response.headers().firstValue("Location")).hasValue("/api/docs");
  }

  /** Collects the routes that have one method and one path. */
  private static final class RouteCollector implements RouterFunctions.Visitor {
    private final Set<String> found = new TreeSet<>();

    @Override
    public void route(RequestPredicate predicate, HandlerFunction<?> handler) {
      var predicateCollector = new PredicateCollector();
      predicate.accept(predicateCollector);
      if (predicateCollector.method != null && predicateCollector.path != null) {
        found.add(predicateCollector.method + " " + predicateCollector.path);
      }
    }

    @Override
    public void startNested(RequestPredicate predicate) {}

    @Override
    public void endNested(RequestPredicate predicate) {}

    @Override
    public void resources(Function<ServerRequest, Mono<Resource>> lookup) {}

    @Override
    public void attributes(Map<String, Object> attributes) {}

    @Override
    public void unknown(RouterFunction<?> route) {}
  }

  private static final class PredicateCollector implements RequestPredicates.Visitor {
    private String method;
    private String path;

    @Override
    public void method(Set<HttpMethod> methods) {
      method = methods.iterator().next().name();
    }

    @Override
    public void path(String pattern) {
      path = pattern;
    }

    @Override
    @SuppressWarnings("removal")
    public void pathExtension(String extension) {}

    @Override
    public void header(String name, String value) {}

    @Override
    public void queryParam(String name, String value) {}

    @Override
    public void version(String version) {}

    @Override
    public void startAnd() {}

    @Override
    public void and() {}

    @Override
    public void endAnd() {}

    @Override
    public void startOr() {}

    @Override
    public void or() {}

    @Override
    public void endOr() {}

    @Override
    public void startNegate() {}

    @Override
    public void endNegate() {}

    @Override
    public void unknown(RequestPredicate predicate) {}
  }
}
