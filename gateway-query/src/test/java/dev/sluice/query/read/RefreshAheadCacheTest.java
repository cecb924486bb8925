package dev.sluice.query.read;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class RefreshAheadCacheTest {
  private static final long SECOND = 1_000_000_000L;

  private final AtomicLong nanos = new AtomicLong(-5 * SECOND);
  private final AtomicInteger loads = new AtomicInteger();
  private long loadNanos;

  private final List<Runnable> background = new ArrayList<>();

  private final RefreshAheadCache<String, Integer> cache =
      new RefreshAheadCache<>(
          Duration.ofSeconds(1),
          nanos::get,
          background::add,
          _ -> {
            nanos.addAndGet(loadNanos);
            return loads.incrementAndGet();
          });

  @Test
  void get_fresh_isNotReloaded() throws Exception {
    assertThat(cache.get("a")).isEqualTo(1);
    nanos.addAndGet(SECOND - 1);
    assertThat(cache.get("a")).isEqualTo(1);
    assertThat(cache.get("b")).isEqualTo(2);
    assertThat(background).isEmpty();
  }

  @Test
  void get_stale_isRefreshedOnceInTheBackground() throws Exception {
    cache.get("a");
    nanos.addAndGet(SECOND);

    assertThat(cache.get("a")).isEqualTo(1);
    assertThat(cache.get("a")).isEqualTo(1);
    assertThat(background).hasSize(1);

    background.removeFirst().run();
    assertThat(cache.get("a")).isEqualTo(2);
    assertThat(background).isEmpty();

    nanos.addAndGet(SECOND);
    cache.get("a");
    assertThat(background).as("next refresh").hasSize(1);
  }

  @Test
  void get_expired_isLoadedByTheCaller() throws Exception {
    cache.get("a");
    nanos.addAndGet(2 * SECOND);

    assertThat(cache.get("a")).isEqualTo(2);
    assertThat(background).isEmpty();
  }

  @Test
  void get_slowToLoad_isCachedTwentyTimesAsLong() throws Exception {
    loadNanos = SECOND;
    assertThat(cache.get("a")).isEqualTo(1);
    nanos.addAndGet(20 * SECOND - 1);
    assertThat(cache.get("a")).isEqualTo(1);
    assertThat(background).isEmpty();
    nanos.addAndGet(20 * SECOND + 1);
    assertThat(cache.get("a")).isEqualTo(2);
  }

  @Test
  void get_backgroundRefreshFails_throwsOnceExpired() throws Exception {
    var failing =
        new RefreshAheadCache<String, Integer>(
            Duration.ofSeconds(1),
            nanos::get,
            background::add,
            _ -> {
              if (loads.incrementAndGet() > 1) {
                throw new IllegalStateException("no more");
              }
              return loads.get();
            });
    failing.get("a");
    nanos.addAndGet(SECOND);
    failing.get("a");
    background.removeFirst().run();

    assertThat(failing.get("a")).isEqualTo(1);
    assertThat(background).as("retry").hasSize(1);
    nanos.addAndGet(SECOND);
    assertThatThrownBy(() -> failing.get("a")).hasMessage("no more");
  }

  @Test
  void get_loadFails_isNotCached() throws Exception {
    var failing =
        new RefreshAheadCache<String, Integer>(
            Duration.ofSeconds(1),
            nanos::get,
            _ -> {
              if (loads.incrementAndGet() == 1) {
                throw new IllegalStateException("not now");
              }
              return loads.get();
            });

    assertThatThrownBy(() -> failing.get("a")).hasMessage("not now");
    assertThat(failing.get("a")).isEqualTo(2);
  }
}
