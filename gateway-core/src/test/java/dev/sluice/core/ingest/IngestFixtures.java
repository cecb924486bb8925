package dev.sluice.core.ingest;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.Rejection;
import dev.sluice.core.port.DeliveryStatusReader;
import dev.sluice.core.port.DeliveryStatusReader.DeliveryStatus;
import dev.sluice.core.port.IngestMetrics;
import dev.sluice.core.port.Scheduler;
import dev.sluice.core.port.Spool;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.logs.v1.LogRecord;
import io.opentelemetry.proto.logs.v1.ResourceLogs;
import io.opentelemetry.proto.logs.v1.ScopeLogs;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Test requests whose records are identified by their bodies, and the bodies of a batch. */
final class IngestFixtures {
  private IngestFixtures() {}

  /** Creates an ingest service without jitter and with a timeout of ten seconds for the store. */
  static IngestService ingestService(
      Spool spool,
      Limits limits,
      IngestService.BatchLimits batchLimits,
      InstantSource clock,
      Scheduler scheduler,
      IngestMetrics meter) {
    return ingestService(
        spool, limits, IngestService.RecordPolicy.ACCEPT_ALL, batchLimits, clock, scheduler, meter);
  }

  static IngestService ingestService(
      Spool spool,
      Limits limits,
      IngestService.RecordPolicy recordPolicy,
      IngestService.BatchLimits batchLimits,
      InstantSource clock,
      Scheduler scheduler,
      IngestMetrics meter) {
    return ingestService(
        spool,
        (_, _) -> CompletableFuture.completedStage(List.of()),
        limits,
        recordPolicy,
        batchLimits,
        clock,
        scheduler,
        meter);
  }

  static IngestService ingestService(
      Spool spool,
      DeadLetterLookup deadLetterLookup,
      Limits limits,
      IngestService.RecordPolicy recordPolicy,
      IngestService.BatchLimits batchLimits,
      InstantSource clock,
      Scheduler scheduler,
      IngestMetrics meter) {
    return new IngestService(
        spool,
        spool instanceof DeliveryStatusReader reader
            ? reader
            : _ -> CompletableFuture.completedStage(new DeliveryStatus.Pending()),
        new FakeIdempotencyStore(spool),
        deadLetterLookup,
        new AdmissionController(spool, new MemoryBudget(1 << 20), 0, clock, scheduler, () -> 0),
        limits,
        recordPolicy,
        batchLimits,
        Duration.ofSeconds(10),
        clock,
        scheduler,
        meter);
  }

  /**
   * A submitted request.
   *
   * @param result completes with the result for the client
   * @param released completes when the memory of the request is no longer used
   */
  record Submission(CompletableFuture<IngestResult> result, CompletableFuture<Void> released) {}

  static RequestContext context(String protocol) {
    return RequestContext.of("default", null, protocol);
  }

  /** Creates the context of a request with these headers; null for a missing header. */
  static RequestContext context(String protocol, @Nullable String ack, @Nullable String key) {
    return RequestContext.of("default", null, protocol, ack, key);
  }

  static Submission submit(IngestService ingest, RequestContext context, OtlpPayload payload) {
    var released = new CompletableFuture<Void>();
    var key = PayloadDecoder.OTLP.idempotencyKey(context, payload.bytes());
    var memory = new MemoryReservation(new MemoryBudget(Long.MAX_VALUE), 0);
    return new Submission(
        ingest.accept(context, key, payload, memory, () -> released.complete(null)), released);
  }

  /** Returns a durable result with these rejections, and filtered records at these positions. */
  static IngestResult partial(int accepted, List<Rejection> rejections, int... filtered) {
    var rejected = new BitSet();
    rejections.forEach(rejection -> rejected.set(rejection.index()));
    var filteredItems = new BitSet();
    IntStream.of(filtered).forEach(filteredItems::set);
    return new IngestResult.Accepted(
        accepted,
        rejections,
        rejections.size(),
        filtered.length,
        new ItemStatuses(rejected, filteredItems),
        AckLevel.DURABLE,
        0,
        false);
  }

  /** Creates a request with a record for each body; a body that begins with "bad" is invalid. */
  static byte[] request(String... bodies) {
    var scope = ScopeLogs.newBuilder();
    for (var body : bodies) {
      scope.addLogRecords(
          LogRecord.newBuilder()
              .setBody(AnyValue.newBuilder().setStringValue(body))
              .setSeverityNumberValue(body.startsWith("bad") ? 99 : 9));
    }
    return ExportLogsServiceRequest.newBuilder()
        .addResourceLogs(ResourceLogs.newBuilder().addScopeLogs(scope))
        .build()
        .toByteArray();
  }

  /** Returns the bodies of the records of the batch. */
  static List<String> accepted(LogBatch batch) {
    try {
      var bodies = new ArrayList<String>();
      for (var resource : ExportLogsServiceRequest.parseFrom(batch.otlp()).getResourceLogsList()) {
        for (var scope : resource.getScopeLogsList()) {
          for (var log : scope.getLogRecordsList()) {
            bodies.add(log.getBody().getStringValue());
          }
        }
      }
      return bodies;
    } catch (InvalidProtocolBufferException e) {
      throw new AssertionError(e);
    }
  }
}
