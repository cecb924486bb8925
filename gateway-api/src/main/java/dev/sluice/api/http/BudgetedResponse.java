package dev.sluice.api.http;

import dev.sluice.core.ingest.MemoryBudget;
import java.time.Duration;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.ResponseCookie;
import org.springframework.util.MultiValueMap;
import org.springframework.web.reactive.function.server.ServerResponse;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/**
 * A response whose bytes count against a memory budget until they are written to the network. It
 * protects the heap from clients that request many large pages and do not read them. Without enough
 * budget the response is 503 with Retry-After.
 */
record BudgetedResponse(ServerResponse response, int bytes, MemoryBudget budget)
    implements ServerResponse {
  private static final Duration BUSY_RETRY_AFTER = Duration.ofSeconds(1);

  @Override
  public HttpStatusCode statusCode() {
    return response.statusCode();
  }

  @Override
  public HttpHeaders headers() {
    return response.headers();
  }

  @Override
  public MultiValueMap<String, ResponseCookie> cookies() {
    return response.cookies();
  }

  @Override
  public Mono<Void> writeTo(ServerWebExchange exchange, Context context) {
    return Mono.defer(
        () ->
            budget.reserve(bytes)
                ? response.writeTo(exchange, context).doFinally(_ -> budget.release(bytes))
                : Problem.of(HttpProblemException.storeUnavailable(BUSY_RETRY_AFTER))
                    .flatMap(problem -> problem.writeTo(exchange, context)));
  }
}
