package dev.sluice.api.grpc;

import com.google.protobuf.Message;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.query.port.LogReader;
import dev.sluice.query.read.ConcurrencyLimitedReader;
import dev.sluice.query.read.QueryClient;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A unary call with a blocking query. The query runs on its own virtual thread. A cancellation by
 * the client interrupts it, which also cancels the query in the store.
 *
 * <p>A written response stays in the flow-control buffer of its call until the client reads it, for
 * any time. So a response counts against the {@link MemoryBudget} until its call ends.
 */
public final class BlockingUnaryCall<T extends Message> {
  /** Maximum size of a page of logs, below the default limit of gRPC clients, 4 MiB. */
  public static final int MAX_PAGE_BYTES = 3 << 20;

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
   * Runs the query and responds to the call. Call it while gRPC opens the call.
   *
   * @param thread the name of the thread
   * @param query the query, which may block
   */
  public static <T extends Message> void start(
      String thread, MemoryBudget budget, StreamObserver<T> responseObserver, Callable<T> query) {
    var call = (ServerCallStreamObserver<T>) responseObserver;
    var self = new BlockingUnaryCall<T>(budget, call);
    var client = RequestContextInterceptor.queryClientOfCall();
    var worker =
        Thread.ofVirtual()
            .name(thread)
            .unstarted(() -> self.run(() -> QueryClient.call(client, query)));
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
        fail(GrpcStatuses.unavailable(STORE_UNAVAILABLE, OVER_BUDGET_RETRY_AFTER));
      }
    } catch (InterruptedException _) {
      // the client has cancelled or its deadline has expired, so there is no response
    } catch (LogReader.QueryTooExpensiveException e) {
      fail(Status.RESOURCE_EXHAUSTED.withDescription(String.valueOf(e.getMessage())).asException());
    } catch (ConcurrencyLimitedReader.TooManyQueriesException _) {
      fail(GrpcStatuses.unavailable(STORE_UNAVAILABLE, BUSY_RETRY_AFTER));
    } catch (Exception e) {
      if (!isClosed()) {
        LOG.warn("query failed, responding UNAVAILABLE: {}", e.toString());
        fail(GrpcStatuses.unavailable(STORE_UNAVAILABLE, FAILURE_RETRY_AFTER));
      }
    } catch (Error e) { // e.g. OutOfMemoryError: without an end of the call its client would hang
      try {
        fail(GrpcStatuses.unavailable(STORE_UNAVAILABLE, FAILURE_RETRY_AFTER));
      } finally {
        LOG.error("query failed, responding UNAVAILABLE", e);
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
      // the write of the response has failed, and gRPC has closed the call
    }
  }

  /** Reserves the memory of the response until the end of the call; false when it is too much. */
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

  /** Releases the memory when the call ends: after the last byte is sent, or on cancellation. */
  private synchronized void close() {
    closed = true;
    budget.release(reservedBytes);
    reservedBytes = 0;
  }
}
