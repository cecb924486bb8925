package dev.sluice.query.read;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.InetAddress;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class QueryPermitsTest {
  private static final Duration LONG = Duration.ofHours(1);

  private final QueryPermits permits = new QueryPermits(8);

  @Test
  void tryAcquire_oneClientTakesAllItCan_leavesAQuarterToOthers() throws Exception {
    int taken = 0;
    while (permits.tryAcquire("greedy", Duration.ZERO)) {
      taken++;
    }

    assertThat(taken).isEqualTo(6);
    assertThat(permits.tryAcquire("other", Duration.ZERO)).isTrue();
    assertThat(permits.tryAcquire("other", Duration.ZERO)).isFalse();
    assertThat(permits.tryAcquire("third", Duration.ZERO)).isTrue();
    assertThat(permits.tryAcquire("fourth", Duration.ZERO)).isFalse();
  }

  @Test
  void tryAcquire_fewPermits_reservesNone() throws Exception {
    var two = new QueryPermits(2);

    assertThat(two.tryAcquire("one", Duration.ZERO)).isTrue();
    assertThat(two.tryAcquire("one", Duration.ZERO)).isTrue();
    assertThat(two.tryAcquire("one", Duration.ZERO)).isFalse();
  }

  @Test
  void release_severalWait_servesTheClientWithTheFewestFirst() throws Exception {
    var served = new LinkedBlockingQueue<String>();
    for (int i = 0; i < 6; i++) {
      permits.tryAcquire("greedy", Duration.ZERO);
    }
    permits.tryAcquire("other", Duration.ZERO);
    permits.tryAcquire("third", Duration.ZERO);
    awaitPermit("greedy", served);
    awaitPermit("other", served);
    awaitPermit("fourth", served);

    permits.release("greedy");

    assertThat(served.take()).isEqualTo("fourth");
    permits.release("greedy");
    permits.release("greedy");
    permits.release("greedy");
    assertThat(served.take()).isEqualTo("other");
    permits.release("greedy");
    assertThat(served.take()).isEqualTo("greedy");
  }

  @Test
  void tryAcquire_interruptedWhileWaiting_losesNoPermit() throws Exception {
    var one = new QueryPermits(1);
    one.tryAcquire("a", Duration.ZERO);
    Thread.currentThread().interrupt();

    assertThatThrownBy(() -> one.tryAcquire("b", LONG)).isInstanceOf(InterruptedException.class);

    one.release("a");
    assertThat(one.tryAcquire("c", Duration.ZERO)).isTrue();
  }

  @Test
  void release_always_restoresEveryPermit() throws Exception {
    for (int i = 0; i < 100; i++) {
      for (int client = 0; client < 3; client++) {
        assertThat(permits.tryAcquire("client " + client, Duration.ZERO)).isTrue();
      }
      for (int client = 0; client < 3; client++) {
        permits.release("client " + client);
      }
    }
  }

  @Test
  void name_addressesOfOneIpv6Network_areOneClient() throws Exception {
    assertThat(QueryClient.name("t", InetAddress.getByName("2001:db8::1")))
        .isEqualTo(QueryClient.name("t", InetAddress.getByName("2001:db8::ffff:2")))
        .isNotEqualTo(QueryClient.name("t", InetAddress.getByName("2001:db8:0:1::1")))
        .isNotEqualTo(QueryClient.name("u", InetAddress.getByName("2001:db8::1")));
    assertThat(QueryClient.name("t", InetAddress.getByName("10.0.0.1")))
        .isNotEqualTo(QueryClient.name("t", InetAddress.getByName("10.0.0.2")));
    assertThat(QueryClient.name("t", null)).isEqualTo("t");
  }

  private void awaitPermit(String client, BlockingQueue<String> served)
      throws InterruptedException {
    var thread =
        Thread.ofPlatform()
            .daemon()
            .start(
                () -> {
                  try {
                    if (permits.tryAcquire(client, LONG)) {
                      served.add(client);
                    }
                  } catch (InterruptedException _) {
                    Thread.currentThread().interrupt();
                  }
                });
    while (thread.getState() != Thread.State.TIMED_WAITING) {
      Thread.onSpinWait();
    }
  }
}
