package dev.sluice.api.grpc;

import com.google.protobuf.Message;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.port.LogReader;
import dev.sluice.core.read.ConcurrencyLimitedReader;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One answer that has to be waited for, on a virtual thread of its own, which is interrupted when
 * the client is gone; that ends the search in the store, too.
 *
 * <p>What is written waits in the flow control of its call until the client takes it, for as long
 * as the client likes. So an answer counts against the {@link MemoryBudget} until its call is over.
 */
final class BlockingAnswer<T extends Message> {
  private static final Logger LOG = LoggerFactory.getLogger(BlockingAnswer.class);
  private static final String UNREADABLE = "logs cannot be read at the moment";
  private static final Duration BUSY = Duration.ofSeconds(1);
  private static final Duration OVER_BUDGET = Duration.ofSeconds(1);
  private static final Duration AFTER_FAILURE = Duration.ofSeconds(5);

  private final MemoryBudget budget;
  private final ServerCallStreamObserver<T> call;
  private long held;
  private boolean over;

  private BlockingAnswer(MemoryBudget budget, ServerCallStreamObserver<T> call) {
    this.budget = budget;
    this.call = call;
  }

  /**
   * Answers the call, which has just begun.
   *
   * @param thread its name
   * @param question may block
   */
  static <T extends Message> void of(
      String thread, MemoryBudget budget, StreamObserver<T> answer, Callable<T> question) {
    var call = (ServerCallStreamObserver<T>) answer;
    var self = new BlockingAnswer<T>(budget, call);
    var asking = Thread.ofVirtual().name(thread).unstarted(() -> self.answer(question));
    call.setOnCloseHandler(self::end);
    call.setOnCancelHandler(
        () -> {
          self.end();
          asking.interrupt();
        });
    asking.start();
  }

  private void answer(Callable<T> question) {
    try {
      var answer = question.call();
      if (hold(answer.getSerializedSize())) {
        call.onNext(answer);
        call.onCompleted();
      } else {
        fail(GrpcIntake.unavailable(UNREADABLE, OVER_BUDGET));
      }
    } catch (InterruptedException _) {
      // the client is gone, or its deadline: there is nobody to tell
    } catch (LogReader.QueryTooExpensiveException e) {
      fail(Status.RESOURCE_EXHAUSTED.withDescription(String.valueOf(e.getMessage())).asException());
    } catch (ConcurrencyLimitedReader.TooManyQueriesException _) {
      fail(GrpcIntake.unavailable(UNREADABLE, BUSY));
    } catch (Exception e) {
      if (!isOver()) {
        LOG.warn("question not answered: {}", e.toString());
        fail(GrpcIntake.unavailable(UNREADABLE, AFTER_FAILURE));
      }
    } catch (Error e) { // such as no memory: a call that nobody ends has its client wait for ever
      try {
        fail(GrpcIntake.unavailable(UNREADABLE, AFTER_FAILURE));
      } finally {
        LOG.error("question not answered", e);
      }
    }
  }

  private void fail(StatusException failure) {
    if (isOver()) {
      return;
    }
    try {
      call.onError(failure);
    } catch (IllegalStateException _) {
      // what failed was to write the answer, and gRPC has closed the call itself
    }
  }

  /** Whether the answer may be written; what it takes is given back at the end of the call. */
  private synchronized boolean hold(long bytes) {
    if (over || !budget.reserve(bytes)) {
      return false;
    }
    held = bytes;
    return true;
  }

  private synchronized boolean isOver() {
    return over;
  }

  /** The last byte is on its way, or nobody waits for it any more. */
  private synchronized void end() {
    over = true;
    budget.release(held);
    held = 0;
  }
}
