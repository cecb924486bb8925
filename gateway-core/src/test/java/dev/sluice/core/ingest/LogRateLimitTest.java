package dev.sluice.core.ingest;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class LogRateLimitTest {
  private long now = Long.MAX_VALUE - 5; // overflows, as System.nanoTime may

  @Test
  void tryAcquire_anyNumberOfCalls_isTrueOnceInAnInterval() {
    var limit = new LogRateLimit(Duration.ofNanos(10), () -> now);

    assertThat(limit.tryAcquire()).isTrue();
    assertThat(limit.tryAcquire()).isFalse();
    now += 9;
    assertThat(limit.tryAcquire()).isFalse();
    now += 1;
    assertThat(limit.tryAcquire()).isTrue();
    assertThat(limit.tryAcquire()).isFalse();
  }
}
