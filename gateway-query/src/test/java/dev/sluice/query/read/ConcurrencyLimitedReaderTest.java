package dev.sluice.query.read;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.LogReader;
import dev.sluice.query.port.LogReader.HistogramBucket;
import dev.sluice.query.port.LogReader.LogPage;
import dev.sluice.query.port.LogReader.Query;
import dev.sluice.query.port.LogReader.TimeExtent;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class ConcurrencyLimitedReaderTest {
  private static final LogFilter ALL = LogFilter.of("default").build();

  private final CountDownLatch started = new CountDownLatch(2);
  private final CountDownLatch released = new CountDownLatch(1);

  /**
   * A reader whose {@code read} calls wait for {@link #released} and whose {@code timeExtent} calls
   * fail.
   */
  private final LogReader logs =
      new LogReader() {
        @Override
        public LogPage read(Query query) throws InterruptedException {
          started.countDown();
          released.await();
          return new LogPage(List.of(), null);
        }

        @Override
        public TimeExtent timeExtent(LogFilter filter) {
          throw new IllegalStateException("unavailable");
        }

        @Override
        public List<HistogramBucket> histogram(LogFilter filter, long origin, long width) {
          return List.of();
        }
      };

  private final ConcurrencyLimitedReader reader = new ConcurrencyLimitedReader(logs, 2);

  @Test
  void read_maxConcurrentInFlight_isRejectedUntilOneEnds() throws Exception {
    var first = Thread.ofVirtual().start(this::read);
    var second = Thread.ofVirtual().start(this::read);
    started.await();

    for (var each : List.of(reader, reader.forReader(logs))) {
      assertThatThrownBy(() -> each.histogram(ALL, 0, 1))
          .isInstanceOf(ConcurrencyLimitedReader.TooManyQueriesException.class);
    }
    released.countDown();
    first.join();
    second.join();

    assertThat(reader.histogram(ALL, 0, 1)).isEmpty();
  }

  @Test
  void read_eightHeavyQueriesOfOneClient_leaveRoomForAnother() throws Exception {
    var eight = new ConcurrencyLimitedReader(logs, 8);
    var rejected = new CountDownLatch(2);
    for (int i = 0; i < 8; i++) {
      Thread.ofVirtual()
          .start(
              () -> {
                try {
                  QueryClient.call("heavy", () -> eight.read(new Query(ALL, 1, null)));
                } catch (ConcurrencyLimitedReader.TooManyQueriesException _) {
                  rejected.countDown();
                } catch (Exception e) {
                  throw new IllegalStateException(e);
                }
              });
    }
    rejected.await();

    assertThat(QueryClient.call("cheap", () -> eight.histogram(ALL, 0, 1))).isEmpty();
    released.countDown();
  }

  @Test
  void timeExtent_failed_releasesItsPermit() throws Exception {
    for (int i = 0; i < 3; i++) {
      assertThatThrownBy(() -> reader.timeExtent(ALL)).isInstanceOf(IllegalStateException.class);
    }

    assertThat(reader.histogram(ALL, 0, 1)).isEmpty();
  }

  private void read() {
    try {
      var _ = reader.read(new Query(ALL, 1, null));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
