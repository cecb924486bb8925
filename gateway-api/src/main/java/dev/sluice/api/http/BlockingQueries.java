package dev.sluice.api.http;

import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.query.port.LogReader.QueryTooExpensiveException;
import dev.sluice.query.read.ConcurrencyLimitedReader;
import dev.sluice.query.read.QueryClient;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DefaultDataBufferFactory;
import org.springframework.http.MediaType;
import org.springframework.web.reactive.function.BodyInserters;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/**
 * An executor of blocking queries: each runs on its own virtual thread, which is interrupted when
 * the client disconnects.
 */
public final class BlockingQueries {
  private static final Logger LOG = LoggerFactory.getLogger(BlockingQueries.class);
  private static final Duration BUSY_RETRY_AFTER = Duration.ofSeconds(1);
  private static final Duration FAILURE_RETRY_AFTER = Duration.ofSeconds(5);

  /** The memory of all responses that are being written; a page of large logs has up to 96 MiB. */
  private static final long MAX_UNSENT_RESPONSE_BYTES = 128L << 20;

  private static final int CHUNK_BYTES = 64 * 1024;

  private final MemoryBudget responseBudget = new MemoryBudget(MAX_UNSENT_RESPONSE_BYTES);
  private final Scheduler scheduler =
      Schedulers.fromExecutorService(Executors.newVirtualThreadPerTaskExecutor());

  Scheduler scheduler() {
    return scheduler;
  }

  /**
   * Emits the result of the query, which runs for the client of the request; every error becomes a
   * {@link HttpProblemException}.
   */
  public <T> Mono<T> submit(Callable<T> query) {
    return Mono.deferContextual(
            context -> {
              var client = RequestContextFilter.queryClientOf(context);
              return Mono.fromCallable(() -> QueryClient.call(client, query))
                  .subscribeOn(scheduler);
            })
        .onErrorMap(BlockingQueries::toHttpProblem);
  }

  /**
   * Returns the response with this body, whose memory counts until it is written to the network.
   * The body is sent in chunks, because reactor-netty does not signal the end of the write of a
   * body in one buffer.
   */
  public Mono<ServerResponse> json(ServerResponse.BodyBuilder builder, byte[] body) {
    var typed = builder.contentType(MediaType.APPLICATION_JSON);
    if (body.length <= CHUNK_BYTES) {
      return typed.bodyValue(body);
    }
    var chunks =
        Flux.range(0, (body.length + CHUNK_BYTES - 1) / CHUNK_BYTES)
            .<DataBuffer>map(i -> chunk(body, i * CHUNK_BYTES));
    return typed
        .body(BodyInserters.fromDataBuffers(chunks))
        .map(response -> new BudgetedResponse(response, body.length, responseBudget));
  }

  private static DataBuffer chunk(byte[] body, int from) {
    var rest = ByteBuffer.wrap(body, from, Math.min(CHUNK_BYTES, body.length - from));
    return DefaultDataBufferFactory.sharedInstance.wrap(rest);
  }

  /** Maps an error to a problem: every error that the client did not cause becomes 503. */
  public static HttpProblemException toHttpProblem(Throwable failure) {
    return switch (failure) {
      case HttpProblemException problem -> problem;
      case QueryTooExpensiveException e ->
          HttpProblemException.queryTooExpensive(String.valueOf(e.getMessage()));
      case InterruptedException _ ->
          HttpProblemException.storeUnavailable(BUSY_RETRY_AFTER); // the client has disconnected
      case ConcurrencyLimitedReader.TooManyQueriesException _ ->
          HttpProblemException.storeUnavailable(BUSY_RETRY_AFTER);
      default -> {
        LOG.warn("query failed, responding 503: {}", failure.toString());
        yield HttpProblemException.storeUnavailable(FAILURE_RETRY_AFTER);
      }
    };
  }

  /** Maps an error to a problem response, at the end of a handler. */
  static Mono<ServerResponse> toProblemResponse(Throwable failure) {
    return Problem.of(toHttpProblem(failure));
  }
}
