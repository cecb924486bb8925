package dev.sluice.api.boot;

import dev.sluice.core.port.Scheduler;
import dev.sluice.core.port.TimeoutScheduler;
import io.netty.util.HashedWheelTimer;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.http.client.ReactorResourceFactory;
import reactor.netty.resources.LoopResources;

/** The threads that requests are read by, and those that wait for others. */
@Configuration(proxyBeanMethods = false)
class ThreadConfiguration {
  /**
   * One event loop for each core. Reactor Netty has four at least: on two cores the same requests
   * then come in smaller bunches, and each bunch wakes a thread.
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

  /** Notices what is missed a tenth of a second late at most, which no time limit of ours feels. */
  @Bean(destroyMethod = "stop")
  HashedWheelTimer wheel() {
    return new HashedWheelTimer(new DefaultThreadFactory("sluice-deadlines", true));
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
