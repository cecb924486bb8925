package dev.sluice.core.ingest;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.IngestService.BatchLimits;
import dev.sluice.testkit.Threads;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.extension.ExtendWith;
import org.pastalab.fray.junit.junit5.FrayTestExtension;
import org.pastalab.fray.junit.junit5.annotations.FrayTest;

/** Concurrent requests, completions of appends and the linger, in many thread schedules. */
@ExtendWith(FrayTestExtension.class)
class RequestBatcherInterleavingTest {
  private static final Duration LINGER = Duration.ofMillis(5);

  private final ScriptedSpool spool = new ScriptedSpool();
  private final ManualScheduler time = new ManualScheduler();

  @FrayTest(iterations = 300, resetClassLoaderPerIteration = false)
  void accept_besideCompletionsAndLinger_appendsEachRequestOnceAndAnswersIt() throws Exception {
    var results = new ConcurrentLinkedQueue<CompletableFuture<IngestResult>>();
    var ingest = newIngestService();

    Threads.runAll(
        () -> {
          results.add(send(ingest, "a"));
          results.add(send(ingest, "b"));
        },
        () -> results.add(send(ingest, "c", "d")),
        () -> {
          acceptAppends();
          time.advance(LINGER);
        });
    for (int i = 0; i < results.size(); i++) {
      acceptAppends();
    }

    assertThat(appendedBodies()).containsExactlyInAnyOrder("a", "b", "c", "d");
    assertThat(results).hasSize(3).allMatch(CompletableFuture::isDone);
  }

  @FrayTest(iterations = 300, resetClassLoaderPerIteration = false)
  void close_besideRequests_leavesNoAcceptedRequestUnanswered() throws Exception {
    spool.completeImmediately();
    var results = new ConcurrentLinkedQueue<CompletableFuture<IngestResult>>();
    var ingest = newIngestService();

    Threads.runAll(
        () -> results.add(send(ingest, "a")),
        () -> results.add(send(ingest, "b")),
        () -> ingest.close(Duration.ZERO));

    assertThat(results).hasSize(2).allMatch(CompletableFuture::isDone);
    assertThat(appendedBodies()).doesNotHaveDuplicates();
    assertThat(results.stream().filter(r -> r.join() instanceof IngestResult.Accepted).count())
        .isEqualTo(appendedBodies().size());
  }

  private IngestService newIngestService() {
    return IngestFixtures.ingestService(
        spool,
        Limits.DEFAULT,
        new BatchLimits(3, 1 << 20, LINGER),
        time,
        time,
        new CountingMetrics());
  }

  private static CompletableFuture<IngestResult> send(IngestService ingest, String... bodies) {
    return IngestFixtures.submit(
            ingest, IngestFixtures.context("otlp"), OtlpPayload.of(IngestFixtures.request(bodies)))
        .result();
  }

  private void acceptAppends() {
    for (int i = 0; i < spool.batches().size(); i++) {
      spool.accept(i);
    }
  }

  private List<String> appendedBodies() {
    return spool.batches().stream()
        .flatMap(batch -> IngestFixtures.accepted(batch).stream())
        .toList();
  }
}
