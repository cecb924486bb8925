package dev.sluice.api.config;

import dev.sluice.core.port.Scheduler;
import dev.sluice.core.port.TimeoutScheduler;
import io.netty.util.HashedWheelTimer;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.http.client.ReactorResourceFactory;
import reactor.netty.resources.LoopResources;

/** The event loops that read requests, and the threads of the timers. */
@Configuration(proxyBeanMethods = false)
class ThreadConfiguration {
  /**
   * One event loop per core. Reactor Netty's default is at least four: on two cores requests then
   * arrive in smaller batches, each of which wakes a thread.
   */
  @Bean
  ReactorResourceFactory reactorResources() {
    var resources = new ReactorResourceFactory();
    resources.setUseGlobalResources(false);
    resources.setLoopResourcesSupplier(
        () ->
            LoopResources.create("reactor-http", Runtime.getRuntime().availableProcessors(), true));
    return resources;
  }

  /** Decodes large and compressed requests, so that event loops stay free for other connections. */
  @Bean(destroyMethod = "shutdown")
  ExecutorService decodeExecutor() {
    return Executors.newFixedThreadPool(
        Runtime.getRuntime().availableProcessors(),
        Thread.ofPlatform().name("sluice-decode-", 0).daemon().factory());
  }

  @Bean(destroyMethod = "shutdownNow")
  ScheduledThreadPoolExecutor timerThread() {
    var executor =
        new ScheduledThreadPoolExecutor(
            1, Thread.ofPlatform().name("sluice-timer").daemon().factory());
    executor.setRemoveOnCancelPolicy(true);
    return executor;
  }

  @Bean
  Scheduler timer(ScheduledThreadPoolExecutor timerThread) {
    return (delay, task) -> {
      var _ = timerThread.schedule(task, delay.toNanos(), TimeUnit.NANOSECONDS);
    };
  }

  /** The timer of timeouts. Its precision of 100 ms is sufficient for all timeouts. */
  @Bean(destroyMethod = "stop")
  HashedWheelTimer wheel() {
    return new HashedWheelTimer(new DefaultThreadFactory("sluice-timeouts", true));
  }

  @Bean
  TimeoutScheduler deadlines(HashedWheelTimer wheel) {
    return (timeout, onTimeout) -> {
      var registered =
          wheel.newTimeout(_ -> onTimeout.run(), timeout.toNanos(), TimeUnit.NANOSECONDS);
      return registered::cancel;
    };
  }
}
