package dev.sluice.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import com.google.rpc.RetryInfo;
import dev.sluice.api.protocol.protobuf.ProtobufProtocol;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.proto.v1.IngestRequest;
import dev.sluice.proto.v1.LogServiceGrpc;
import dev.sluice.proto.v1.QueryRequest;
import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.LogReader;
import dev.sluice.query.read.ConcurrencyLimitedReader;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.StatusProto;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Checks queries that take too long, with a store that never responds by itself. */
@Timeout(60)
class NativeQueryTest {
  private final BlockingLogReader reader = new BlockingLogReader();
  private Server server;
  private ManagedChannel channel;

  @BeforeEach
  void start() throws IOException {
    var builder = NettyServerBuilder.forPort(0).executor(Runnable::run);
    IngestFixture.addServices(
        builder,
        new ProtobufProtocol(
            new ConcurrencyLimitedReader(reader, 1),
            IngestFixture.queryDependencies(reader).search(),
            new MemoryBudget(1 << 20)),
        null);
    server = builder.build().start();
    channel =
        ManagedChannelBuilder.forAddress("127.0.0.1", server.getPort()).usePlaintext().build();
  }

  @AfterEach
  void stop() {
    channel.shutdownNow();
    server.shutdownNow();
  }

  @Test
  void query_clientCancels_isInterruptedInTheStore() {
    var response = LogServiceGrpc.newFutureStub(channel).query(QueryRequest.getDefaultInstance());
    await().until(() -> reader.asked.getCount() == 0);

    response.cancel(true);

    await().until(() -> reader.interrupted.getCount() == 0);
    assertNextQueryStarts();
  }

  @Test
  void query_deadlineExceeded_isInterruptedInTheStore() {
    var logs =
        LogServiceGrpc.newBlockingStub(channel).withDeadlineAfter(200, TimeUnit.MILLISECONDS);

    var failure =
        catchThrowableOfType(
            StatusRuntimeException.class, () -> logs.query(QueryRequest.getDefaultInstance()));

    assertThat(failure.getStatus().getCode()).isEqualTo(Status.Code.DEADLINE_EXCEEDED);
    await().until(() -> reader.interrupted.getCount() == 0);
    assertNextQueryStarts();
  }

  @Test
  void query_tooManyConcurrent_isUnavailableWithRetryInfo() throws Exception {
    var first = LogServiceGrpc.newFutureStub(channel).query(QueryRequest.getDefaultInstance());
    await().until(() -> reader.asked.getCount() == 0);

    assertUnavailable(1);

    first.cancel(true);
  }

  @Test
  void query_storeFails_isUnavailableWithRetryInfo() throws Exception {
    reader.failing = true;

    assertUnavailable(5);
    assertUnavailable(5);
  }

  /**
   * Asserts that the permit of the previous query is free: the next query reaches the store and
   * fails there.
   */
  private void assertNextQueryStarts() {
    reader.failing = true;
    await().untilAsserted(() -> assertUnavailable(5));
  }

  private void assertUnavailable(int retryAfter) throws Exception {
    var logs = LogServiceGrpc.newBlockingStub(channel);
    var failure =
        catchThrowableOfType(
            StatusRuntimeException.class, () -> logs.query(QueryRequest.getDefaultInstance()));
    assertThat(failure.getStatus().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
    assertThat(failure.getStatus().getDescription()).isEqualTo("logs cannot be read at the moment");
    assertThat(
            StatusProto.fromThrowable(failure)
                .getDetails(0)
                .unpack(RetryInfo.class)
                .getRetryDelay()
                .getSeconds())
        .isEqualTo(retryAfter);
  }

  @Test
  void query_tooExpensive_isResourceExhaustedWithoutRetryInfo() {
    reader.tooExpensive = true;
    var logs = LogServiceGrpc.newBlockingStub(channel);

    var failure =
        catchThrowableOfType(
            StatusRuntimeException.class, () -> logs.query(QueryRequest.getDefaultInstance()));

    assertThat(failure.getStatus().getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    assertThat(StatusProto.fromThrowable(failure).getDetailsList()).isEmpty();
  }

  @Test
  void query_errorInTheStore_isUnavailableWithRetryInfo() throws Exception {
    reader.outOfMemory = true;

    assertUnavailable(5);
  }

  @Test
  void query_largeRequest_isResourceExhaustedBeforeParsing() {
    // each condition takes twenty times its two bytes when parsed
    var conditions = new byte[300 << 10];
    for (int i = 0; i < conditions.length; i += 2) {
      conditions[i] = 0x4A;
    }
    var question =
        QueryRequest.newBuilder()
            .setUnknownFields(
                UnknownFieldSet.newBuilder()
                    .addField(
                        1,
                        UnknownFieldSet.Field.newBuilder()
                            .addLengthDelimited(ByteString.copyFrom(conditions))
                            .build())
                    .build())
            .build();
    var logs = LogServiceGrpc.newBlockingStub(channel);

    var status =
        catchThrowableOfType(StatusRuntimeException.class, () -> logs.query(question)).getStatus();

    assertThat(status.getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    assertThat(status.getDescription())
        .isEqualTo("query has 307204 bytes, must have at most 262144");
  }

  @Test
  void ingest_withoutIngestRole_isUnimplemented() {
    var logs = LogServiceGrpc.newBlockingStub(channel);

    var failure =
        catchThrowableOfType(
            StatusRuntimeException.class, () -> logs.ingest(IngestRequest.getDefaultInstance()));

    assertThat(failure.getStatus().getCode()).isEqualTo(Status.Code.UNIMPLEMENTED);
  }

  /** A reader whose queries run until they are interrupted. */
  private static final class BlockingLogReader implements LogReader {
    private final CountDownLatch asked = new CountDownLatch(1);
    private final CountDownLatch interrupted = new CountDownLatch(1);
    private volatile boolean failing;
    private volatile boolean tooExpensive;
    private volatile boolean outOfMemory;

    @Override
    public LogPage read(Query query) throws InterruptedException {
      if (tooExpensive) {
        throw new QueryTooExpensiveException("too much", new IllegalStateException());
      }
      if (outOfMemory) {
        throw new OutOfMemoryError("simulated");
      }
      if (failing) {
        throw new IllegalStateException("away");
      }
      asked.countDown();
      try {
        new CountDownLatch(1).await();
        throw new AssertionError();
      } catch (InterruptedException e) {
        interrupted.countDown();
        throw e;
      }
    }

    @Override
    public TimeExtent timeExtent(LogFilter filter) {
      throw new UnsupportedOperationException();
    }

    @Override
    public List<HistogramBucket> histogram(LogFilter filter, long originNanos, long widthNanos) {
      throw new UnsupportedOperationException();
    }
  }
}
