package dev.sluice.api.grpc;

import dev.sluice.core.ingest.BodyEncoding;
import dev.sluice.core.ingest.IngestPipeline;
import dev.sluice.core.ingest.IngestResult;
import dev.sluice.core.ingest.MemoryBudgetExceededException;
import dev.sluice.core.ingest.MemoryReservation;
import dev.sluice.core.ingest.PayloadDecoder;
import dev.sluice.core.ingest.RequestContext;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The hand-over of gRPC messages with logs to the {@link IngestPipeline}. Safe for use by many
 * threads; no method blocks.
 */
public final class GrpcIngest {
  private final IngestPipeline pipeline;

  public GrpcIngest(IngestPipeline pipeline) {
    this.pipeline = pipeline;
  }

  /**
   * Ingests one complete message of the current call. The future never fails: an error that the
   * client did not cause is {@link IngestResult.Unavailable}.
   */
  public CompletableFuture<IngestResult> ingest(RawMessage message, PayloadDecoder decoder) {
    var call = IngestServerCall.current();
    return process(RequestContextInterceptor.contextOfCall(), message, decoder)
        .thenApply(
            ingestResult -> {
              call.recordResult(ingestResult);
              return ingestResult;
            });
  }

  private CompletableFuture<IngestResult> process(
      RequestContext context, RawMessage message, PayloadDecoder decoder) {
    var memory = pipeline.newReservation(InboundMemoryTracer.takeOver());
    var rejection = check(context, message, memory);
    if (rejection != null) {
      memory.close();
      return CompletableFuture.completedFuture(rejection);
    }
    return pipeline.ingest(context, memory, message.bytes(), BodyEncoding.IDENTITY, decoder);
  }

  /** Returns the reason to reject the message; null when there is none. */
  private @Nullable IngestResult check(
      RequestContext context, RawMessage message, MemoryReservation memory) {
    var failure = message.failure();
    if (failure != null) {
      if (failure instanceof IngestResult.Unavailable) { // not an error of the client
        return pipeline.overBudget();
      }
      pipeline.recordMalformed(context.protocol());
      return failure;
    }
    // a stream is admitted message by message, not as a call
    var unavailable = pipeline.checkAdmission(context);
    if (unavailable != null) {
      return unavailable;
    }
    try {
      memory.resize(message.bytes().length);
      return null;
    } catch (MemoryBudgetExceededException _) {
      return pipeline.overBudget();
    }
  }
}
