package dev.sluice.api.protocol.legacy;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import com.google.rpc.RetryInfo;
import dev.sluice.api.IngestFixture;
import dev.sluice.api.NoopIngestMetrics;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.ingest.IngestPipeline;
import dev.sluice.core.ingest.IngestService;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.proto.logs.GetLogsByAppIdRequest;
import dev.sluice.proto.logs.GetLogsByAppIdResponse;
import dev.sluice.proto.logs.HealthCheckRequest;
import dev.sluice.proto.logs.IngestLogsRequest;
import dev.sluice.proto.logs.LogEntryInput;
import dev.sluice.proto.logs.LogServiceGrpc;
import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.LogReader;
import dev.sluice.query.port.LogReader.LogPage;
import dev.sluice.query.port.LogReader.QueryTooExpensiveException;
import dev.sluice.query.port.LogReader.StoredLog;
import dev.sluice.query.read.ConcurrencyLimitedReader;
import dev.sluice.testkit.InMemorySpool;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.protobuf.StatusProto;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The errors of {@code logs.LogService}: unavailable dependencies, slow queries, limits. */
@Timeout(60)
class LegacyLogsServiceTest {
  private static final GetLogsByAppIdRequest REQUEST =
      GetLogsByAppIdRequest.newBuilder().setAppId("a").build();

  private final InMemorySpool spool = new InMemorySpool();
  private final BlockingLogReader reader = new BlockingLogReader();
  private final MemoryBudget budget = new MemoryBudget(1 << 20);
  private volatile Optional<String> storeUnavailable = Optional.empty();
  private volatile Instant now = Instant.parse("2026-01-02T12:00:00Z");
  private Server server;
  private ManagedChannel channel;

  @BeforeEach
  void start() throws IOException {
    var ingestFixture =
        IngestFixture.of(
            spool,
            Limits.DEFAULT,
            budget,
            new IngestService.BatchLimits(1000, 1 << 20, Duration.ofMillis(1)),
            new NoopIngestMetrics());
    serve(ingestFixture.pipeline(Duration.ofSeconds(10)));
  }

  private void serve(@Nullable IngestPipeline pipeline) throws IOException {
    var builder = Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create());
    IngestFixture.addServices(
        builder,
        new LegacyProtocol(
            IngestFixture.queryDependencies(new ConcurrencyLimitedReader(reader, 2)),
            budget,
            spool,
            () -> storeUnavailable,
            "1.2",
            () -> now),
        pipeline);
    server = builder.directExecutor().build().start();
    channel =
        NettyChannelBuilder.forAddress("127.0.0.1", server.getPort())
            .usePlaintext()
            .flowControlWindow(1 << 16)
            .build();
  }

  @AfterEach
  void stop() {
    channel.shutdownNow();
    server.shutdownNow();
  }

  private LogServiceGrpc.LogServiceBlockingStub logs() {
    return LogServiceGrpc.newBlockingStub(channel);
  }

  private static void assertRetryableUnavailable(StatusRuntimeException failure) throws Exception {
    assertThat(failure.getStatus().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
    var details =
        requireNonNull(StatusProto.fromThrowable(failure)).getDetails(0).unpack(RetryInfo.class);
    assertThat(details.getRetryDelay().getSeconds()).isPositive();
  }

  @Test
  void ingestLogs_spoolFull_isRetryableUnavailable() throws Exception {
    spool.setUnavailable(new AppendResult.Unavailable(Duration.ofSeconds(3), "full"));
    var log =
        LogEntryInput.newBuilder().setAppId("a").setLevel("INFO").setMessage("m").setSource("s");

    var failure =
        catchThrowableOfType(
            StatusRuntimeException.class,
            () -> logs().ingestLogs(IngestLogsRequest.newBuilder().addLogs(log).build()));

    assertRetryableUnavailable(failure);
  }

  @Test
  void getLogsByAppId_storeFails_isRetryableUnavailableWithoutStoreMessage() throws Exception {
    reader.failure = new IllegalStateException("SELECT secret");

    var failure =
        catchThrowableOfType(StatusRuntimeException.class, () -> logs().getLogsByAppId(REQUEST));

    assertRetryableUnavailable(failure);
    assertThat(failure.getStatus().getDescription()).doesNotContain("SELECT");
  }

  @Test
  void getLogsByAppId_tooExpensive_isResourceExhaustedAndNamesTheLimit() {
    reader.failure =
        new QueryTooExpensiveException("more time than a query may take", new IOException());

    var status =
        catchThrowableOfType(StatusRuntimeException.class, () -> logs().getLogsByAppId(REQUEST))
            .getStatus();

    assertThat(status.getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    assertThat(status.getDescription()).isEqualTo("more time than a query may take");
  }

  @Test
  void getLogsByAppId_appIdTooLong_isInvalidArgument() {
    var request = GetLogsByAppIdRequest.newBuilder().setAppId("a".repeat(40_000)).build();

    var status =
        catchThrowableOfType(StatusRuntimeException.class, () -> logs().getLogsByAppId(request))
            .getStatus();

    assertThat(status.getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
    assertThat(status.getDescription()).contains("app_id");
  }

  @Test
  void getLogsByAppId_clientDisconnects_cancelsTheQuery() throws Exception {
    var pending = LogServiceGrpc.newFutureStub(channel).getLogsByAppId(REQUEST);
    reader.started.await();

    pending.cancel(true);

    reader.interrupted.await();
  }

  @Test
  void getLogsByAppId_tooManyConcurrent_isRetryableUnavailableAndRecovers() throws Exception {
    var pending = new ArrayList<Future<GetLogsByAppIdResponse>>();
    for (int i = 0; i < 2; i++) {
      pending.add(LogServiceGrpc.newFutureStub(channel).getLogsByAppId(REQUEST));
    }
    await().until(() -> reader.activeReads() == 2);

    var failure =
        catchThrowableOfType(StatusRuntimeException.class, () -> logs().getLogsByAppId(REQUEST));

    assertRetryableUnavailable(failure);
    pending.forEach(call -> call.cancel(true));
    await().until(() -> reader.activeReads() == 0);
    reader.page = new LogPage(List.of(), null);
    await()
        .ignoreExceptionsInstanceOf(StatusRuntimeException.class)
        .until(() -> logs().getLogsByAppId(REQUEST).getSuccess());
  }

  @Test
  void getLogsByAppId_errorInTheStore_isRetryableUnavailable() throws Exception {
    reader.error = new OutOfMemoryError("simulated");

    var failure =
        catchThrowableOfType(StatusRuntimeException.class, () -> logs().getLogsByAppId(REQUEST));

    assertRetryableUnavailable(failure);
  }

  @Test
  void getLogsByAppId_largeRequest_isResourceExhaustedBeforeParsing() {
    reader.page = new LogPage(List.of(), null);
    var request = REQUEST.toBuilder().setAppId("a".repeat(300 << 10)).build();

    var status =
        catchThrowableOfType(StatusRuntimeException.class, () -> logs().getLogsByAppId(request))
            .getStatus();

    assertThat(status.getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    assertThat(status.getDescription())
        .isEqualTo("query has 307204 bytes, must have at most 262144");
  }

  private static StoredLog log(int bytes) {
    return new StoredLog(
        new LogId(1, 2),
        1_700_000_000_123_456_789L,
        0,
        0,
        9,
        "INFO",
        "a",
        "m".repeat(bytes),
        "",
        "",
        0,
        "",
        Map.of(),
        0,
        Map.of(),
        "",
        "",
        "",
        Map.of(),
        "",
        null,
        null);
  }

  @Test
  void getLogsByAppId_largeLogs_pageFitsClientMessageLimit() {
    budget.release(8 << 20); // raises the budget by as much
    reader.page = new LogPage(Collections.nCopies(5, log(1_000_000)), null);

    var response = logs().getLogsByAppId(REQUEST);

    assertThat(response.getLogsCount()).isEqualTo(3);
    assertThat(response.getCount()).isEqualTo(3);
    assertThat(response.getHasMore()).isTrue();
  }

  @Test
  void getLogsByAppId_logLargerThanAPage_isReturnedAlone() {
    budget.release(8 << 20);
    reader.page = new LogPage(List.of(log(3_500_000)), null);

    var response = logs().getLogsByAppId(REQUEST);

    assertThat(response.getCount()).isEqualTo(1);
    assertThat(response.getHasMore()).isFalse();
  }

  @Test
  void getLogsByAppId_unreadResponses_countAgainstBudgetUntilDisconnect() throws Exception {
    reader.page = new LogPage(List.of(log(600_000)), null);
    var unread = channel.newCall(LogServiceGrpc.getGetLogsByAppIdMethod(), CallOptions.DEFAULT);
    unread.start(new ClientCall.Listener<>() {}, new Metadata());
    unread.sendMessage(REQUEST);
    unread.halfClose();
    await().until(() -> budget.used() > 600_000);

    assertRetryableUnavailable(
        catchThrowableOfType(StatusRuntimeException.class, () -> logs().getLogsByAppId(REQUEST)));

    unread.cancel("client disconnected", null);
    await().until(() -> budget.used() == 0);
    assertThat(logs().getLogsByAppId(REQUEST).getCount()).isEqualTo(1);
    await().until(() -> budget.used() == 0);
  }

  @Test
  void ingestLogs_withoutIngestRole_isUnimplementedAndOtherMethodsRespond() throws IOException {
    stop();
    serve(null);
    reader.page = new LogPage(List.of(), null);

    var failure =
        catchThrowableOfType(
            StatusRuntimeException.class,
            () -> logs().ingestLogs(IngestLogsRequest.getDefaultInstance()));

    assertThat(failure.getStatus().getCode()).isEqualTo(Status.Code.UNIMPLEMENTED);
    assertThat(logs().getLogsByAppId(REQUEST).getSuccess()).isTrue();
    assertThat(health()).isEqualTo("true ");
  }

  @Test
  void healthCheck_dependencyDown_namesTheDependency() {
    storeUnavailable = Optional.of("gone");
    assertThat(health()).isEqualTo("false logs cannot be read: gone");
    spool.setUnavailable(new AppendResult.Unavailable(Duration.ofSeconds(3), "full"));
    assertThat(health())
        .isEqualTo("false logs cannot be accepted: full; logs cannot be read: gone");
    storeUnavailable = Optional.empty();
    assertThat(health()).isEqualTo("false logs cannot be accepted: full");
    spool.setUnavailable(null);
    assertThat(health()).isEqualTo("true ");
  }

  private String health() {
    now = now.plusSeconds(1); // the cache TTL of a check
    var health = logs().healthCheck(HealthCheckRequest.getDefaultInstance());
    assertThat(health.getVersion()).isEqualTo("1.2");
    return health.getHealthy() + " " + health.getError();
  }

  /** A reader that blocks until it is interrupted, unless the test sets a result. */
  private static final class BlockingLogReader implements LogReader {
    private final CountDownLatch started = new CountDownLatch(1);
    private final CountDownLatch interrupted = new CountDownLatch(1);
    private final CountDownLatch never = new CountDownLatch(1);
    private int activeReads;
    private volatile @Nullable LogPage page;
    private volatile @Nullable Error error;
    private volatile @Nullable RuntimeException failure;

    private synchronized int activeReads() {
      return activeReads;
    }

    private synchronized void count(int change) {
      activeReads += change;
    }

    @Override
    public LogPage read(Query query) throws InterruptedException {
      var thrown = failure;
      if (thrown != null) {
        throw thrown;
      }
      var fatal = error;
      if (fatal != null) {
        throw fatal;
      }
      var response = page;
      if (response != null) {
        return response;
      }
      count(1);
      started.countDown();
      try {
        never.await();
        throw new IllegalStateException("never");
      } catch (InterruptedException e) {
        interrupted.countDown();
        throw e;
      } finally {
        count(-1);
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
