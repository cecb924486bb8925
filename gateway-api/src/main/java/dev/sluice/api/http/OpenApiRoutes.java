package dev.sluice.api.http;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.domain.Limits;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.util.Map;
import java.util.Properties;
import org.springframework.core.io.ClassPathResource;
import org.springframework.http.MediaType;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerResponse;

/**
 * The routes of the OpenAPI document, {@code /api/openapi.yaml}, and of its page, {@code
 * /api/docs}. The document is not generated (ADR 0034); placeholders stand for the configured
 * limits.
 */
final class OpenApiRoutes {
  private final String document;
  private final String page;

  OpenApiRoutes(Limits limits) {
    var text = resource("openapi.yaml");
    for (var limit : placeholders(limits).entrySet()) {
      text = text.replace("${" + limit.getKey() + "}", limit.getValue().toString());
    }
    document = text;
    page = resource("api-docs.html").replace("SWAGGER_UI_VERSION", swaggerUiVersion());
  }

  RouterFunction<ServerResponse> routes() {
    var yaml = MediaType.parseMediaType("application/yaml;charset=UTF-8");
    return RouterFunctions.route()
        .GET(
            "/",
            RestrictedHandler.page(
                _ -> ServerResponse.permanentRedirect(URI.create("/api/docs")).build()))
        .GET(
            "/api/openapi.yaml",
            RestrictedHandler.page(_ -> ServerResponse.ok().contentType(yaml).bodyValue(document)))
        .GET(
            "/api/docs",
            RestrictedHandler.page(
                _ -> ServerResponse.ok().contentType(MediaType.TEXT_HTML).bodyValue(page)))
        .add(
            RestrictedHandler.pages(
                RouterFunctions.resources(
                    "/api/docs/assets/**", new ClassPathResource("META-INF/resources/webjars/"))))
        .build();
  }

  private static Map<String, Integer> placeholders(Limits limits) {
    return Map.of(
        "maxRequestBytes", limits.maxRequestBytes(),
        "maxRecords", limits.maxRecords(),
        "maxBodyBytes", limits.maxBodyBytes(),
        "maxAttributes", limits.maxAttributes(),
        "maxKeyBytes", limits.maxKeyBytes(),
        "maxValueBytes", limits.maxValueBytes(),
        "maxNameBytes", limits.maxNameBytes(),
        "maxNesting", limits.maxNesting());
  }

  /** Returns the version in the path of the web jar's resources, from its Maven properties. */
  private static String swaggerUiVersion() {
    var pom = new Properties();
    try (var in =
        new ClassPathResource("META-INF/maven/org.webjars/swagger-ui/pom.properties")
            .getInputStream()) {
      pom.load(in);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return pom.getProperty("version");
  }

  private static String resource(String name) {
    try {
      return new ClassPathResource("dev/sluice/api/http/" + name).getContentAsString(UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
