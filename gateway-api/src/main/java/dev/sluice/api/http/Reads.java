package dev.sluice.api.http;

import dev.sluice.core.port.LogReader.TooCostly;
import dev.sluice.core.read.BoundedReader;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.web.reactive.function.server.ServerResponse;
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

  private final Scheduler scheduler =
      Schedulers.fromExecutorService(Executors.newVirtualThreadPerTaskExecutor());

  Scheduler scheduler() {
    return scheduler;
  }

  /** Emits what the question gives; whatever goes wrong is a {@link RequestRefused}. */
  <T> Mono<T> ask(Callable<T> question) {
    return Mono.fromCallable(question).subscribeOn(scheduler).onErrorMap(Reads::refusal);
  }

  /** Whatever is not the client's mistake is answered 503. */
  static RequestRefused refusal(Throwable failure) {
    return switch (failure) {
      case RequestRefused refused -> refused;
      case TooCostly costly -> RequestRefused.tooCostly(String.valueOf(costly.getMessage()));
      case InterruptedException _ -> RequestRefused.unreadable(BUSY); // nobody is there to read it
      case BoundedReader.Busy _ -> RequestRefused.unreadable(BUSY);
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
