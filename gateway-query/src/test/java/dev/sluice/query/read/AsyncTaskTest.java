package dev.sluice.query.read;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(20)
class AsyncTaskTest {

  @Test
  void get_completed_returnsTheResult() throws Exception {
    try (var asyncTask = AsyncTask.start(() -> 7)) {
      assertThat(asyncTask.get()).isEqualTo(7);
    }
  }

  @Test
  void get_failed_rethrowsTheCause() {
    try (var asyncTask =
        AsyncTask.start(
            () -> {
              throw new IllegalArgumentException("no");
            })) {
      assertThatThrownBy(asyncTask::get).isExactlyInstanceOf(IllegalArgumentException.class);
    }
    try (var asyncTask =
        AsyncTask.start(
            () -> {
              throw new IOException("no");
            })) {
      assertThatThrownBy(asyncTask::get)
          .isInstanceOf(IllegalStateException.class)
          .hasCauseInstanceOf(IOException.class);
    }
  }

  @Test
  void close_whileRunning_interruptsTheTask() throws Exception {
    var started = new CountDownLatch(1);
    var ended = new CountDownLatch(1);
    try (var _ =
        AsyncTask.start(
            () -> {
              started.countDown();
              try {
                new CountDownLatch(1).await();
              } finally {
                ended.countDown();
              }
              return null;
            })) {
      started.await();
    }
    ended.await();
  }
}
