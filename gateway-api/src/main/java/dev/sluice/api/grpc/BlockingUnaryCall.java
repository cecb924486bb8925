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
final class BlockingUnaryCall<T extends Message> {
  private static final Logger LOG = LoggerFactory.getLogger(BlockingUnaryCall.class);
  private static final String STORE_UNAVAILABLE = "logs cannot be read at the moment";
  private static final Duration BUSY_RETRY_AFTER = Duration.ofSeconds(1);
  private static final Duration OVER_BUDGET_RETRY_AFTER = Duration.ofSeconds(1);
  private static final Duration FAILURE_RETRY_AFTER = Duration.ofSeconds(5);

  private final MemoryBudget budget;
  private final ServerCallStreamObserver<T> call;
  private long reservedBytes;
  private boolean closed;

  private BlockingUnaryCall(MemoryBudget budget, ServerCallStreamObserver<T> call) {
    this.budget = budget;
    this.call = call;
  }

  /**
   * Answers the call, which has just begun.
   *
   * @param thread its name
   * @param query may block
   */
  static <T extends Message> void start(
      String thread, MemoryBudget budget, StreamObserver<T> responseObserver, Callable<T> query) {
    var call = (ServerCallStreamObserver<T>) responseObserver;
    var self = new BlockingUnaryCall<T>(budget, call);
    var worker = Thread.ofVirtual().name(thread).unstarted(() -> self.run(query));
    call.setOnCloseHandler(self::close);
    call.setOnCancelHandler(
        () -> {
          self.close();
          worker.interrupt();
        });
    worker.start();
  }

  private void run(Callable<T> query) {
    try {
      var response = query.call();
      if (reserve(response.getSerializedSize())) {
        call.onNext(response);
        call.onCompleted();
      } else {
        fail(GrpcIngestPipeline.unavailable(STORE_UNAVAILABLE, OVER_BUDGET_RETRY_AFTER));
      }
    } catch (InterruptedException _) {
      // the client is gone, or its deadline: there is nobody to tell
    } catch (LogReader.QueryTooExpensiveException e) {
      fail(Status.RESOURCE_EXHAUSTED.withDescription(String.valueOf(e.getMessage())).asException());
    } catch (ConcurrencyLimitedReader.TooManyQueriesException _) {
      fail(GrpcIngestPipeline.unavailable(STORE_UNAVAILABLE, BUSY_RETRY_AFTER));
    } catch (Exception e) {
      if (!isClosed()) {
        LOG.warn("question not answered: {}", e.toString());
        fail(GrpcIngestPipeline.unavailable(STORE_UNAVAILABLE, FAILURE_RETRY_AFTER));
      }
    } catch (Error e) { // such as no memory: a call that nobody ends has its client wait for ever
      try {
        fail(GrpcIngestPipeline.unavailable(STORE_UNAVAILABLE, FAILURE_RETRY_AFTER));
      } finally {
        LOG.error("question not answered", e);
      }
    }
  }

  private void fail(StatusException failure) {
    if (isClosed()) {
      return;
    }
    try {
      call.onError(failure);
    } catch (IllegalStateException _) {
      // what failed was to write the answer, and gRPC has closed the call itself
    }
  }

  /** Whether the answer may be written; what it takes is given back at the end of the call. */
  private synchronized boolean reserve(long bytes) {
    if (closed || !budget.reserve(bytes)) {
      return false;
    }
    reservedBytes = bytes;
    return true;
  }

  private synchronized boolean isClosed() {
    return closed;
  }

  /** The last byte is on its way, or nobody waits for it any more. */
  private synchronized void close() {
    closed = true;
    budget.release(reservedBytes);
    reservedBytes = 0;
  }
}
