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
 * An answer whose bytes count until the network has taken them: a page is large, and whoever asks
 * for many and takes none would have the heap. What does not fit is answered with a time to come
 * again.
 */
record CountedAnswer(ServerResponse answer, int bytes, MemoryBudget budget)
    implements ServerResponse {
  private static final Duration BUSY = Duration.ofSeconds(1);

  @Override
  public HttpStatusCode statusCode() {
    return answer.statusCode();
  }

  @Override
  public HttpHeaders headers() {
    return answer.headers();
  }

  @Override
  public MultiValueMap<String, ResponseCookie> cookies() {
    return answer.cookies();
  }

  @Override
  public Mono<Void> writeTo(ServerWebExchange exchange, Context context) {
    return Mono.defer(
        () ->
            budget.reserve(bytes)
                ? answer.writeTo(exchange, context).doFinally(_ -> budget.release(bytes))
                : Problem.of(RequestRefused.unreadable(BUSY))
                    .flatMap(refusal -> refusal.writeTo(exchange, context)));
  }
}
