package dev.sluice.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.sluice.api.grpc.InboundMemoryTracer;
import dev.sluice.api.ops.MicrometerMetrics;
import dev.sluice.api.protocol.protobuf.ProtobufProtocol;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.ingest.IngestService;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.port.Spool;
import dev.sluice.proto.v1.IngestRequest;
import dev.sluice.proto.v1.IngestResponse;
import dev.sluice.proto.v1.IngestStreamRequest;
import dev.sluice.proto.v1.IngestStreamResponse;
import dev.sluice.proto.v1.LogRecord;
import dev.sluice.proto.v1.LogServiceGrpc;
import dev.sluice.proto.v1.QueryRequest;
import dev.sluice.proto.v1.Value;
import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.LogReader;
import dev.sluice.query.port.LogReader.LogPage;
import dev.sluice.query.port.LogReader.StoredLog;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.NettyServerBuilder;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Checks the memory that gRPC holds for clients that send without end, do not read or disconnect,
 * with a spool that completes appends on request.
 */
@Timeout(60)
class GrpcMemoryTest {
  private static final int BUDGET = 1 << 20;
  private static final int WINDOW = 4;
  private static final Duration MESSAGE_TIMEOUT = Duration.ofSeconds(30);

  private final ManualSpool spool = new ManualSpool();
  private final MemoryBudget budget = new MemoryBudget(BUDGET);
  private final IngestFixture fixture =
      IngestFixture.of(
          spool,
          Limits.DEFAULT,
          budget,
          new IngestService.BatchLimits(1, 1, Duration.ZERO),
          new MicrometerMetrics(new SimpleMeterRegistry()));
  private final FixedPageReader reader = new FixedPageReader(new LogPage(List.of(), null));
  private final ManualScheduler time = new ManualScheduler();
  private final InboundMemoryTracer inbound =
      new InboundMemoryTracer(budget, MESSAGE_TIMEOUT, time::nanoTime, time);
  private Server server;
  private ManagedChannel channel;

  @BeforeEach
  void start() throws IOException {
    var builder =
        NettyServerBuilder.forPort(0)
            .executor(Runnable::run)
            .maxInboundMessageSize(64 << 20)
            .flowControlWindow(1 << 20)
            .addStreamTracerFactory(inbound);
    IngestFixture.addServices(
        builder,
        new ProtobufProtocol(reader, IngestFixture.queryDependencies(reader).search(), budget),
        fixture.pipeline(Duration.ofMinutes(1)));
    server = builder.build().start();
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

  @Test
  void message_incomplete_isReservedWhileArrivingAndReleasedOnDisconnect() throws IOException {
    try (var client = new Http2Socket(server.getPort())) {
      client.begin("sluice.v1.LogService/Ingest", 60_000_000, 10_000);

      await().untilAsserted(() -> assertThat(budget.used()).isEqualTo(10_000));
    }
    await().until(() -> budget.used() == 0);
  }

  @Test
  void message_timesOut_closesItsCallAndReleasesMemory() throws IOException {
    try (var client = new Http2Socket(server.getPort())) {
      client.begin("sluice.v1.LogService/Ingest", 60_000_000, 10_000);
      await().untilAsserted(() -> assertThat(budget.used()).isEqualTo(10_000));
      time.advance(MESSAGE_TIMEOUT);
      assertThat(budget.used()).isEqualTo(10_000);

      time.advance(Duration.ofSeconds(1));

      await().until(() -> budget.used() == 0);
    }
  }

  @Test
  void message_ofAStreamTimesOut_closesTheStream() throws IOException {
    try (var client = new Http2Socket(server.getPort())) {
      client.begin("sluice.v1.LogService/IngestStream", 60_000_000, 10_000);
      await().untilAsserted(() -> assertThat(budget.used()).isEqualTo(10_000));

      time.advance(MESSAGE_TIMEOUT.plusSeconds(1));

      await().until(() -> budget.used() == 0);
    }
  }

  /** A stream may be idle between messages without a time limit. */
  @Test
  void message_complete_isNotTimed() {
    spool.completeImmediately();
    var client = new StreamClient(Long.MAX_VALUE);
    client.call.sendMessage(message(1, "b"));
    await().until(() -> client.answers.size() == 1);

    time.advance(MESSAGE_TIMEOUT.multipliedBy(10));
    client.call.sendMessage(message(2, "b"));

    await().until(() -> client.answers.size() == 2);
  }

  @Test
  void message_largerThanRemainingBudget_isUnavailableBeforeComplete() {
    var logs = LogServiceGrpc.newBlockingStub(channel);

    var failure =
        catchThrowableOfType(
            StatusRuntimeException.class, () -> logs.ingest(request("x".repeat(8 << 20))));

    assertThat(failure.getStatus().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
    assertThat(failure.getStatus().getDescription())
        .isEqualTo("logs cannot be accepted at the moment");
    await().until(() -> budget.used() == 0);
    assertThat(spool.appendCount()).isZero();
    spool.completeImmediately();
    assertThat(logs.ingest(request("small")).getAccepted()).isEqualTo(1);
  }

  @Test
  void message_completeButCallOpen_staysReserved() {
    var request = request("x".repeat(100_000));
    var call = call();
    call.sendMessage(request);
    call.request(1);

    await().untilAsserted(() -> assertThat(budget.used()).isEqualTo(request.getSerializedSize()));

    call.cancel("gone", null);
    await().until(() -> budget.used() == 0);
  }

  @Test
  void message_compressed_reservesDecompressedSize() {
    var request = request("x".repeat(500_000));
    var packed =
        channel.newCall(
            LogServiceGrpc.getIngestMethod(), CallOptions.DEFAULT.withCompression("gzip"));
    packed.start(new ClientCall.Listener<>() {}, new Metadata());
    packed.sendMessage(request);
    packed.request(1);

    await().untilAsserted(() -> assertThat(budget.used()).isEqualTo(request.getSerializedSize()));

    packed.cancel("gone", null);
    await().until(() -> budget.used() == 0);
  }

  @Test
  void message_decompressedOverBudget_isUnavailable() {
    var logs = LogServiceGrpc.newBlockingStub(channel).withCompression("gzip");

    var failure =
        catchThrowableOfType(
            StatusRuntimeException.class, () -> logs.ingest(request("x".repeat(2 * BUDGET))));

    assertThat(failure.getStatus().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
    await().until(() -> budget.used() == 0);
  }

  @Test
  void message_inFlight_isReservedOnceAsMessageAndOnceAsOtlp() {
    var request = request("x".repeat(100_000));
    var response = LogServiceGrpc.newFutureStub(channel).ingest(request);

    await().until(() -> spool.appendCount() == 1);

    assertThat(budget.used())
        .isBetween(2L * request.getSerializedSize(), 5L * request.getSerializedSize() / 2);
    spool.completeImmediately();
    await().until(response::isDone);
    await().until(() -> budget.used() == 0);
  }

  @Test
  void stream_spoolBlocked_readsOnlyTheWindowThenAllInOrder() {
    var client = new StreamClient(Long.MAX_VALUE);
    for (int i = 1; i <= 20; i++) {
      client.call.sendMessage(message(i, "b"));
    }
    client.call.halfClose();

    await().during(Duration.ofMillis(200)).until(() -> appendCount() == WINDOW);
    spool.completeImmediately();

    await().until(() -> client.status != null);
    assertThat(client.status.isOk()).isTrue();
    assertThat(client.answers)
        .extracting(IngestStreamResponse::getSequence)
        .containsExactlyElementsOf(LongStream.rangeClosed(1, 20).boxed().toList());
    await().until(() -> budget.used() == 0);
  }

  @Test
  void stream_appendsCompleteOutOfOrder_responsesKeepMessageOrder() {
    var client = new StreamClient(Long.MAX_VALUE);
    for (int i = 1; i <= 3; i++) {
      client.call.sendMessage(message(i, "b"));
    }
    await().until(() -> spool.appendCount() == 3);

    spool.complete(2);
    spool.complete(1);
    await().during(Duration.ofMillis(100)).until(client.answers::isEmpty);
    spool.complete(0);

    await().until(() -> client.answers.size() == 3);
    assertThat(client.answers)
        .extracting(IngestStreamResponse::getSequence)
        .containsExactly(1L, 2L, 3L);
  }

  @Test
  void stream_clientReadsNoResponses_isBackpressured() {
    spool.completeImmediately();
    var client = new StreamClient(0);
    // each response has some kilobytes, so that a few of them fill the window of the client
    var message =
        IngestStreamRequest.newBuilder()
            .addAllLogs(
                IntStream.range(0, 201)
                    .mapToObj(i -> log("b").toBuilder().setSeverityNumber(i == 0 ? 0 : 99).build())
                    .toList())
            .build();
    int sent = 0;
    while (sent < 100_000 && client.readyWithin(Duration.ofSeconds(2))) {
      client.call.sendMessage(message);
      sent++;
    }

    assertThat(sent).as("messages sent until backpressure").isBetween(200, 99_999);
    assertThat(appendCount()).as("messages read by the gateway").isLessThan(100);
    assertThat(budget.used()).isLessThan(BUDGET);
    client.call.cancel("gone", null);
    await().until(() -> budget.used() == 0);
  }

  @Test
  void stream_clientDisconnectsWithMessagesInFlight_releasesAllMemory() {
    var client = new StreamClient(Long.MAX_VALUE);
    for (int i = 1; i <= 20; i++) {
      client.call.sendMessage(message(i, "x".repeat(1000)));
    }
    await().until(() -> spool.appendCount() == WINDOW);

    client.call.cancel("gone", null);
    await().until(() -> budget.used() < 20_000);
    spool.completeImmediately();

    await().until(() -> budget.used() == 0);
    assertThat(appendCount()).isEqualTo(WINDOW);
  }

  @Test
  void stream_malformedMessage_isRejectedAndTheStreamContinues() {
    spool.completeImmediately();
    var client = new StreamClient(Long.MAX_VALUE);
    client.call.sendMessage(IngestStreamRequest.newBuilder().setSequence(1).build());
    client.call.sendMessage(
        IngestStreamRequest.newBuilder()
            .setSequence(2)
            .addLogs(log("b").toBuilder().setTraceId(ByteString.copyFrom(new byte[3])))
            .build());
    client.call.sendMessage(message(3, "good"));
    client.call.halfClose();

    await().until(() -> client.status != null);
    assertThat(client.status.isOk()).isTrue();
    assertThat(client.answers).hasSize(3);
    assertThat(client.answers.get(0).getRefused().getCode()).isEqualTo(3);
    assertThat(client.answers.get(0).getRefused().getMessage()).isEqualTo("no logs in the request");
    assertThat(client.answers.get(1).getRefused().getRejected(0).getField()).isEqualTo("trace_id");
    assertThat(client.answers.get(2).getAccepted().getAccepted()).isEqualTo(1);
  }

  @Test
  void stream_spoolUnavailable_isRejectedWithRetryAfterAndTheStreamContinues() {
    spool.rejectImmediately();
    var client = new StreamClient(Long.MAX_VALUE);
    client.call.sendMessage(message(7, "b"));

    await().until(() -> client.answers.size() == 1);

    var refused = client.answers.getFirst();
    assertThat(refused.getSequence()).isEqualTo(7);
    assertThat(refused.getRefused().getCode()).isEqualTo(14);
    assertThat(refused.getRefused().getRetryAfter().getSeconds()).isEqualTo(3);
    assertThat(client.status).isNull();
  }

  @Test
  void query_unreadResponses_countAgainstBudgetUntilDisconnect() {
    reader.page = new LogPage(List.of(stored("x".repeat(600_000))), null);
    var untaken = channel.newCall(LogServiceGrpc.getQueryMethod(), CallOptions.DEFAULT);
    untaken.start(new ClientCall.Listener<>() {}, new Metadata());
    untaken.sendMessage(QueryRequest.getDefaultInstance());
    untaken.halfClose();
    await().until(() -> budget.used() > 600_000);
    var logs = LogServiceGrpc.newBlockingStub(channel);

    var failure =
        catchThrowableOfType(
            StatusRuntimeException.class, () -> logs.query(QueryRequest.getDefaultInstance()));

    assertThat(failure.getStatus().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
    untaken.cancel("gone", null);
    await().until(() -> budget.used() == 0);
    assertThat(logs.query(QueryRequest.getDefaultInstance()).getLogsCount()).isEqualTo(1);
    await().until(() -> budget.used() == 0);
  }

  private static StoredLog stored(String body) {
    return new StoredLog(
        new LogId(1, 2),
        1,
        1,
        1,
        9,
        "INFO",
        "s",
        body,
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

  /** A reader that returns the same page for each query. */
  private static final class FixedPageReader implements LogReader {
    private volatile LogPage page;

    private FixedPageReader(LogPage page) {
      this.page = page;
    }

    @Override
    public LogPage read(Query query) {
      return page;
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

  private int appendCount() {
    return spool.appendCount();
  }

  private ClientCall<IngestRequest, IngestResponse> call() {
    var call = channel.newCall(LogServiceGrpc.getIngestMethod(), CallOptions.DEFAULT);
    call.start(new ClientCall.Listener<>() {}, new Metadata());
    return call;
  }

  private static LogRecord log(String body) {
    return LogRecord.newBuilder().setBody(Value.newBuilder().setStringValue(body)).build();
  }

  private static IngestRequest request(String body) {
    return IngestRequest.newBuilder().addLogs(log(body)).build();
  }

  private static IngestStreamRequest message(long sequence, String body) {
    return IngestStreamRequest.newBuilder().setSequence(sequence).addLogs(log(body)).build();
  }

  /** A call of IngestStream that requests a given number of responses. */
  private final class StreamClient extends ClientCall.Listener<IngestStreamResponse> {
    private final ClientCall<IngestStreamRequest, IngestStreamResponse> call =
        channel.newCall(LogServiceGrpc.getIngestStreamMethod(), CallOptions.DEFAULT);
    private final List<IngestStreamResponse> answers = new CopyOnWriteArrayList<>();
    private volatile Status status;

    private StreamClient(long answers) {
      call.start(this, new Metadata());
      if (answers > 0) {
        call.request(Integer.MAX_VALUE);
      }
    }

    private boolean readyWithin(Duration time) {
      long end = System.nanoTime() + time.toNanos();
      while (!call.isReady() && System.nanoTime() < end) {
        Thread.onSpinWait();
      }
      return call.isReady();
    }

    @Override
    public void onMessage(IngestStreamResponse response) {
      answers.add(response);
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      this.status = status;
    }
  }

  /** A spool that completes each append on request of the test. */
  private static final class ManualSpool implements Spool {
    private final List<CompletableFuture<AppendResult>> appends = new ArrayList<>();
    private AppendResult immediateResult;

    @Override
    public synchronized CompletionStage<AppendResult> append(
        LogBatch batch, AppendMode appendMode) {
      var result = new CompletableFuture<AppendResult>();
      appends.add(result);
      if (immediateResult != null) {
        result.complete(immediateResult);
      }
      return result;
    }

    synchronized int appendCount() {
      return appends.size();
    }

    void complete(int append) {
      appends.get(append).complete(new AppendResult.Accepted(new Spool.Receipt(0, "1")));
    }

    void completeImmediately() {
      completeAllWith(new AppendResult.Accepted(new Spool.Receipt(0, "1")));
    }

    void rejectImmediately() {
      completeAllWith(new AppendResult.Unavailable(Duration.ofSeconds(3), "full"));
    }

    private void completeAllWith(AppendResult result) {
      List<CompletableFuture<AppendResult>> before;
      synchronized (this) {
        immediateResult = result;
        before = List.copyOf(appends);
      }
      before.forEach(append -> append.complete(result));
    }

    @Override
    public CompletionStage<SpoolStatus> status() {
      return CompletableFuture.completedFuture(new SpoolStatus(null, null, 0, 0));
    }
  }
}
