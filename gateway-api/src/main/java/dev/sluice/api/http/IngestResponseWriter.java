package dev.sluice.api.http;

import dev.sluice.core.ingest.IngestResult;
import java.time.Duration;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Mono;

/** The responses of a protocol to requests with logs. Thread-safe. */
public interface IngestResponseWriter {
  /**
   * Returns the response to a decoded request, of which possibly no record is accepted.
   *
   * @param took the time since the start of the request
   */
  Mono<ServerResponse> success(IngestResult.Accepted result, Duration took);

  /** Returns the response to a request that fails as a whole. */
  Mono<ServerResponse> error(HttpProblemException problem);
}
