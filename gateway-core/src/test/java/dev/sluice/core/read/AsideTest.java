package dev.sluice.core.read;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(20)
class AsideTest {

  @Test
  void get_foundOut_isThat() throws Exception {
    try (var aside = Aside.start(() -> 7)) {
      assertThat(aside.get()).isEqualTo(7);
    }
  }

  @Test
  void get_wentWrong_isThrownAsItIs() {
    try (var aside =
        Aside.start(
            () -> {
              throw new IllegalArgumentException("no");
            })) {
      assertThatThrownBy(aside::get).isExactlyInstanceOf(IllegalArgumentException.class);
    }
    try (var aside =
        Aside.start(
            () -> {
              throw new IOException("no");
            })) {
      assertThatThrownBy(aside::get)
          .isInstanceOf(IllegalStateException.class)
          .hasCauseInstanceOf(IOException.class);
    }
  }

  @Test
  void close_whileItWorks_endsIt() throws Exception {
    var begun = new CountDownLatch(1);
    var ended = new CountDownLatch(1);
    try (var _ =
        Aside.start(
            () -> {
              begun.countDown();
              try {
                new CountDownLatch(1).await();
              } finally {
                ended.countDown();
              }
              return null;
            })) {
      begun.await();
    }
    ended.await();
  }
}
