package dev.sluice.api.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.api.ManualScheduler;
import dev.sluice.api.ops.DictionaryEndpoint.SyncStatus;
import dev.sluice.core.port.WriteResult;
import dev.sluice.templates.MinerSettings;
import dev.sluice.templates.TemplateRegistry;
import dev.sluice.templates.dictionary.Dictionary;
import dev.sluice.templates.dictionary.SharedDictionaryCache;
import dev.sluice.testkit.LogBatches;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.parallel.Isolated;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

@Timeout(60)
@Isolated("reads the output of the process")
@ExtendWith(OutputCaptureExtension.class)
class TemplatesLifecycleTest {
  private static final Duration INTERVAL = Duration.ofSeconds(10);
  private static final Instant NOW = Instant.parse("2026-11-22T10:00:00Z");

  private final ManualScheduler timer = new ManualScheduler();
  private final BlockingDictionary dictionary = new BlockingDictionary();
  private final TemplateRegistry templateRegistry =
      new TemplateRegistry(MinerSettings.defaults(), dictionary);
  private final TemplatesLifecycle lifecycle =
      new TemplatesLifecycle(templateRegistry, INTERVAL, timer, () -> NOW);

  /** The registry syncs only tenants that it has seen. */
  @BeforeEach
  void registerTenant() throws InterruptedException {
    var texts = new SharedDictionaryCache(SharedDictionaryCache.CacheSettings.DEFAULT, dictionary);
    templateRegistry.newResolver(texts.newWorkerCache()).beginBatch(LogBatches.of(1));
    dictionary.reads = 0;
  }

  @AfterEach
  void end() {
    dictionary.unblock();
    lifecycle.stop();
  }

  /** Waits for the end of a sync, which schedules the next. */
  private void awaitReads(int reads) {
    await().until(() -> dictionary.reads() == reads && timer.pendingTasks() == 1);
  }

  @Test
  void start_afterAnInterval_syncsAndThenEachInterval() {
    lifecycle.start();
    timer.advance(INTERVAL.minusNanos(1));
    assertThat(dictionary.reads()).isZero();
    assertThat(lifecycle.lastStatus()).isEqualTo(new SyncStatus(null, null));

    timer.advance(Duration.ofNanos(1));
    awaitReads(1);
    assertThat(lifecycle.lastStatus()).isEqualTo(new SyncStatus(NOW, null));

    timer.advance(INTERVAL);
    awaitReads(2);
  }

  @Test
  void start_twice_syncsOnce() {
    lifecycle.start();
    lifecycle.start();

    assertThat(timer.pendingTasks()).isEqualTo(1);
  }

  @Test
  void sync_fails_warnsOnceAndRetries(CapturedOutput output) {
    lifecycle.start();
    timer.advance(INTERVAL);
    awaitReads(1);

    dictionary.failing = true;
    for (int i = 2; i <= 3; i++) {
      timer.advance(INTERVAL);
      awaitReads(i);
    }
    assertThat(lifecycle.lastStatus()).isEqualTo(new SyncStatus(NOW, "unavailable"));
    assertThat(output.getOut())
        .containsOnlyOnce("template sync failed, retrying every PT10S: unavailable");

    dictionary.failing = false;
    timer.advance(INTERVAL);
    awaitReads(4);
    assertThat(lifecycle.lastStatus()).isEqualTo(new SyncStatus(NOW, null));

    dictionary.failing = true;
    timer.advance(INTERVAL);
    awaitReads(5);
    assertThat(output.getOut().split("template sync failed", -1)).hasSize(3);
  }

  @Test
  void sync_longerThanTheInterval_doesNotOverlap() {
    dictionary.block();
    lifecycle.start();
    timer.advance(INTERVAL);
    await().until(() -> dictionary.reads() == 1);

    timer.advance(INTERVAL.multipliedBy(5));

    assertThat(timer.pendingTasks()).isZero();
    assertThat(dictionary.reads()).isEqualTo(1);
    dictionary.unblock();
    awaitReads(1);
  }

  @Test
  void stop_duringSync_interruptsIt(CapturedOutput output) {
    dictionary.block();
    lifecycle.start();
    timer.advance(INTERVAL);
    await().until(() -> dictionary.reads() == 1);

    lifecycle.stop();

    assertThat(lifecycle.isRunning()).isFalse();
    assertThat(dictionary.interruptions()).isEqualTo(1);
    assertThat(timer.pendingTasks()).isZero();
    assertThat(output.getOut()).doesNotContain("template sync failed");
  }

  @Test
  void start_afterStop_syncsOncePerInterval() {
    lifecycle.start();
    lifecycle.stop();
    lifecycle.start();
    assertThat(timer.pendingTasks()).as("one of each start").isEqualTo(2);

    timer.advance(INTERVAL);
    awaitReads(1);

    lifecycle.stop();
    timer.advance(INTERVAL);
    assertThat(timer.pendingTasks()).isZero();
    assertThat(dictionary.reads()).isEqualTo(1);
  }

  /** An empty dictionary whose reads can block or fail. */
  private static final class BlockingDictionary implements Dictionary {
    private volatile int reads;
    private volatile boolean failing;
    private volatile int interruptions;
    private volatile CountDownLatch gate = new CountDownLatch(0);

    int reads() {
      return reads;
    }

    int interruptions() {
      return interruptions;
    }

    /** Blocks all further reads until {@link #unblock}. */
    void block() {
      gate = new CountDownLatch(1);
    }

    void unblock() {
      gate.countDown();
    }

    @Override
    public EntryPage changesSince(String tenant, EntryKind kind, @Nullable String after, int limit)
        throws InterruptedException {
      reads++; // not atomic: reads must not overlap, which this class tests
      try {
        gate.await();
      } catch (InterruptedException e) {
        interruptions++;
        throw e;
      }
      if (failing) {
        throw new IllegalStateException("unavailable");
      }
      return new EntryPage(List.of(), null, true);
    }

    @Override
    public WriteResult write(List<DictionaryEntry> entries) {
      return new WriteResult.Written();
    }

    @Override
    public List<DictionaryEntry> find(String tenant, EntryKind kind, Collection<UUID> ids) {
      return List.of();
    }
  }
}
