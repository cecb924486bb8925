package dev.sluice.api.config;

import dev.sluice.api.grpc.InboundMemoryTracer;
import dev.sluice.api.grpc.MessageDecompressors;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.port.Scheduler;
import io.grpc.DecompressorRegistry;
import io.grpc.netty.NettyServerBuilder;
import org.springframework.boot.grpc.server.autoconfigure.GrpcServerExecutorProvider;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.grpc.server.ServerBuilderCustomizer;

/** The wiring of the gRPC server. */
@Configuration(proxyBeanMethods = false)
class GrpcConfiguration {
  private static final int MAX_CALLS_PER_CONNECTION = 128;

  private static final int FLOW_CONTROL_WINDOW_BYTES = 1 << 20;

  /**
   * The limits of a gRPC connection. Bytes in the flow-control windows of its calls are outside the
   * memory budget; a fixed window size and a maximum number of calls bound them.
   */
  @Bean
  ServerBuilderCustomizer<NettyServerBuilder> grpcServerLimits(
      MemoryBudget budget, IngestProperties properties, Scheduler scheduler) {
    return server ->
        server
            .addStreamTracerFactory(
                new InboundMemoryTracer(
                    budget, properties.requestBodyTimeout(), System::nanoTime, scheduler))
            .maxConcurrentCallsPerConnection(MAX_CALLS_PER_CONNECTION)
            .flowControlWindow(FLOW_CONTROL_WINDOW_BYTES);
  }

  /** Calls run on the event loop: to validate a message costs less than a thread switch. */
  @Bean
  GrpcServerExecutorProvider grpcExecutor() {
    return () -> Runnable::run;
  }

  @Bean
  DecompressorRegistry grpcDecompressors() {
    return MessageDecompressors.registry();
  }
}
