package dev.sluice.api.config;

import dev.sluice.api.grpc.InboundMemoryTracer;
import dev.sluice.api.grpc.MessageDecompressors;
import dev.sluice.api.net.ServerConnections;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.port.Scheduler;
import io.grpc.DecompressorRegistry;
import io.grpc.netty.NettyServerBuilder;
import io.netty.channel.socket.ServerSocketChannel;
import java.util.concurrent.TimeUnit;
import org.springframework.boot.grpc.server.autoconfigure.GrpcServerExecutorProvider;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.grpc.server.ServerBuilderCustomizer;
import reactor.netty.resources.LoopResources;

/** The wiring of the gRPC server. */
@Configuration(proxyBeanMethods = false)
class GrpcConfiguration {
  private static final int MAX_CALLS_PER_CONNECTION = 128;

  private static final int FLOW_CONTROL_WINDOW_BYTES = 1 << 20;
  private static final int RESET_WINDOW_SECONDS = 30;

  /** The event loops of gRPC, as many as gRPC would create. */
  @Bean(destroyMethod = "dispose")
  LoopResources grpcLoops() {
    return LoopResources.create("grpc", 1, Runtime.getRuntime().availableProcessors() * 2, true);
  }

  /**
   * The limits and timeouts of connections. gRPC has no hook for new connections, so the server
   * channel is created here, together with the event loops, which gRPC then requires.
   */
  @Bean
  ServerBuilderCustomizer<NettyServerBuilder> grpcConnections(
      LoopResources grpcLoops, ServerConnections connections, ConnectionProperties properties) {
    var limiter = connections.createLimiter("grpc", properties.limits());
    var acceptor = grpcLoops.onServerSelect(true);
    long headTimeout = properties.requestHeadTimeout().toNanos();
    long idleTimeout = properties.idleTimeout().toNanos();
    return server ->
        server
            .bossEventLoopGroup(acceptor)
            .workerEventLoopGroup(grpcLoops.onServer(true))
            .channelFactory(
                () -> {
                  var channel = grpcLoops.onChannel(ServerSocketChannel.class, acceptor);
                  channel.pipeline().addLast(limiter);
                  return channel;
                })
            .handshakeTimeout(headTimeout, TimeUnit.NANOSECONDS)
            .maxConnectionIdle(idleTimeout, TimeUnit.NANOSECONDS)
            .maxRstFramesPerWindow(properties.maxStreamResets(), RESET_WINDOW_SECONDS);
  }

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
