package dev.sluice.api.http;

import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.port.LogReader.QueryTooExpensiveException;
import dev.sluice.core.read.ConcurrencyLimitedReader;
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
 * Runs what reads and blocks: each on a virtual thread of its own, which is interrupted when the
 * client goes away.
 */
final class Reads {
  private static final Logger LOG = LoggerFactory.getLogger(Reads.class);
  private static final Duration BUSY = Duration.ofSeconds(1);
  private static final Duration AFTER_FAILURE = Duration.ofSeconds(5);

  /** What all answers that are being written may hold; a page of large logs is up to 96 MiB. */
  private static final long BEING_WRITTEN = 128L << 20;

  private static final int PIECE = 64 * 1024;

  private final MemoryBudget beingWritten = new MemoryBudget(BEING_WRITTEN);
  private final Scheduler scheduler =
      Schedulers.fromExecutorService(Executors.newVirtualThreadPerTaskExecutor());

  Scheduler scheduler() {
    return scheduler;
  }

  /** Emits what the question gives; whatever goes wrong is a {@link RequestRefused}. */
  <T> Mono<T> ask(Callable<T> question) {
    return Mono.fromCallable(question).subscribeOn(scheduler).onErrorMap(Reads::refusal);
  }

  /**
   * The answer with this body, which counts until the network has taken it. It goes in pieces: of a
   * body in one piece reactor-netty tells nobody when it is gone.
   */
  Mono<ServerResponse> json(ServerResponse.BodyBuilder answer, byte[] body) {
    var typed = answer.contentType(MediaType.APPLICATION_JSON);
    if (body.length <= PIECE) {
      return typed.bodyValue(body);
    }
    var pieces =
        Flux.range(0, (body.length + PIECE - 1) / PIECE)
            .<DataBuffer>map(i -> piece(body, i * PIECE));
    return typed
        .body(BodyInserters.fromDataBuffers(pieces))
        .map(response -> new CountedAnswer(response, body.length, beingWritten));
  }

  private static DataBuffer piece(byte[] body, int from) {
    var rest = ByteBuffer.wrap(body, from, Math.min(PIECE, body.length - from));
    return DefaultDataBufferFactory.sharedInstance.wrap(rest);
  }

  /** Whatever is not the client's mistake is answered 503. */
  static RequestRefused refusal(Throwable failure) {
    return switch (failure) {
      case RequestRefused refused -> refused;
      case QueryTooExpensiveException costly ->
          RequestRefused.tooCostly(String.valueOf(costly.getMessage()));
      case InterruptedException _ -> RequestRefused.unreadable(BUSY); // nobody is there to read it
      case ConcurrencyLimitedReader.TooManyQueriesException _ -> RequestRefused.unreadable(BUSY);
      default -> {
        LOG.warn("query failed: {}", failure.toString());
        yield RequestRefused.unreadable(AFTER_FAILURE);
      }
    };
  }

  /** For the end of a handler: the refusal as a problem. */
  static Mono<ServerResponse> problem(Throwable failure) {
    return Problem.of(refusal(failure));
  }
}
