package dev.sluice.wal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.otlp.RecordExtractor;
import dev.sluice.core.port.DailyCounts.RecordCounts;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.testkit.LogBatches;
import dev.sluice.testkit.SpoolContract;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Dead letters in a journal of an earlier release. */
@Timeout(60)
class OldDeadLettersTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(5);
  private static final Instant REJECTED_AT = Instant.parse("2026-03-04T05:06:07.089Z");

  @RegisterExtension final WalFixture wal;
  private final LogBatch first = LogBatches.of(1);
  private final LogBatch second = LogBatches.of(1);
  private final LogBatch third = LogBatches.of(1);

  OldDeadLettersTest() throws IOException {
    wal = new WalFixture(Compression.ZSTD);
  }

  /** Ten accepted records, of which three became dead letters: one of these was purged. */
  private void openOldJournal(String... more) throws Exception {
    append(LogBatches.of(10), AppendMode.SYNC);
    var consumer = wal.newConsumer();
    consumer.ack(consumer.poll(TIMEOUT, Duration.ZERO).orElseThrow());
    try (var journal = openJournal()) {
      journal.append(
          "{\"event\":\"settled\",\"records\":0,\"letters\":[%s,%s,%s]}"
              .formatted(letter(1, first), letter(2, second), letter(3, third)));
      journal.append(
          "{\"event\":\"purged\",\"letters\":[2],\"days\":{\"%s\":1}}".formatted(second.day()));
      for (var line : more) {
        journal.append(line);
      }
    }
    wal.reopen();
  }

  private static String letter(int id, LogBatch log) {
    return """
        {"id":%d,"append":"%s","tenant":"%s","receivedNanos":%d,"first":"%s","bytes":%d,\
        "refused":"","otlp":"%s","reason":"no %d","at":"%s"}"""
        .formatted(
            id,
            log.appendId(),
            log.tenant(),
            log.receivedNanos(),
            log.firstId().toHex(),
            log.expandedBytes(),
            Base64.getEncoder().encodeToString(log.otlp()),
            id,
            REJECTED_AT);
  }

  /** A release before the journal had single logs kept the bytes of the whole batch. */
  @Test
  void toDeadLetter_refusedRecords_areCut() {
    var three = LogBatches.of(3);
    var entry =
        new JournalEvent.DeadLetterEntry(
            1,
            three.appendId(),
            three.tenant(),
            three.receivedNanos(),
            three.firstId().toHex(),
            17,
            new byte[] {0b101},
            three.otlp(),
            "reason",
            REJECTED_AT);

    var log = entry.toDeadLetter().log();

    assertThat(log.otlp()).isEqualTo(RecordExtractor.extract(three, 1).otlp());
    assertThat(log.expandedBytes()).isEqualTo(17);
  }

  private void append(LogBatch batch, AppendMode mode) {
    wal.spool().append(batch, mode).toCompletableFuture().join();
  }

  @Test
  void recordCounts_notMoved_areInFlightWithoutThePurgedOnes() throws Exception {
    openOldJournal();

    assertSurvivesKill(new RecordCounts(9, 2, 0));
  }

  @Test
  void moveDeadLetters_written_movesEachOnceAndKeepsTheRest() throws Exception {
    openOldJournal();

    var moved = moved();

    SpoolContract.assertSameBatches(
        moved.stream().map(DeadLetter::log).toList(), List.of(first, third));
    assertThat(moved).extracting(DeadLetter::reason).containsExactly("no 1", "no 3");
    assertThat(moved).extracting(DeadLetter::deadLetteredAt).containsOnly(REJECTED_AT);
    assertSurvivesKill(new RecordCounts(9, 0, 0));
    assertThat(
            wal.spool()
                .moveDeadLetters(
                    _ -> {
                      throw new AssertionError("moved again");
                    }))
        .isTrue();
  }

  @Test
  void moveDeadLetters_notWritten_keepsThem() throws Exception {
    openOldJournal();

    assertThat(wal.spool().moveDeadLetters(_ -> false)).isFalse();

    assertSurvivesKill(new RecordCounts(9, 2, 0));
    assertThat(wal.spool().moveDeadLetters(_ -> true)).isTrue();
  }

  /** The earlier release was killed in a replay, before the append. */
  @Test
  void open_replayStartedWithoutItsFrame_isADeadLetter() throws Exception {
    openOldJournal(replayStarted(3, LogBatches.of(1)));

    assertSurvivesKill(new RecordCounts(9, 2, 0));
    assertThat(moved()).extracting(DeadLetter::reason).containsExactly("no 1", "no 3");
  }

  private List<DeadLetter> moved() {
    var moved = new ArrayList<DeadLetter>();
    assertThat(wal.spool().moveDeadLetters(moved::addAll)).isTrue();
    return moved;
  }

  private static String replayStarted(int letter, LogBatch log) {
    return "{\"event\":\"replaying\",\"letter\":%d,\"append\":\"%s\"}"
        .formatted(letter, log.appendId());
  }

  /** The earlier release was killed in a replay, after the append. */
  @Test
  void open_replayStartedWithItsFrame_isNoDeadLetterAndNotAcceptedASecondTime() throws Exception {
    openOldJournal();
    append(first, AppendMode.POSSIBLE_DUPLICATE);
    try (var journal = openJournal()) {
      journal.append(replayStarted(1, first));
    }
    wal.reopen();

    assertSurvivesKill(new RecordCounts(9, 2, 0)); // the replay and the third dead letter
    assertThat(moved()).extracting(DeadLetter::reason).containsExactly("no 3");
    assertSurvivesKill(new RecordCounts(9, 1, 0));
    var consumer = wal.newConsumer();
    var delivery = consumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
    assertThat(delivery.redelivered()).isTrue();
    consumer.ack(delivery);
    assertSurvivesKill(new RecordCounts(9, 0, 0));
  }

  /** Each compaction of the journal writes the old dead letters again. */
  @Test
  void compaction_large_keepsTheState() throws Exception {
    openOldJournal();
    try (var journal = openJournal()) {
      for (int i = 4; i < 50; i++) {
        journal.append(
            "{\"event\":\"settled\",\"records\":0,\"letters\":[%s]}"
                .formatted(letter(i, first).replace("\"no ", "\"" + "x".repeat(200_000))));
        journal.append("{\"event\":\"purged\",\"letters\":[%d]}".formatted(i));
      }
    }
    wal.reopen();
    append(LogBatches.of(1), AppendMode.SYNC);
    var consumer = wal.newConsumer();
    consumer.ack(consumer.poll(TIMEOUT, Duration.ZERO).orElseThrow());

    assertThat(Files.size(wal.node().resolve("journal"))).isLessThan(6 << 20);
    assertSurvivesKill(new RecordCounts(10, 2, 0));
  }

  private Journal openJournal() throws IOException {
    wal.spool().close();
    return Journal.open(wal.node().resolve("journal"), _ -> {});
  }

  private void assertSurvivesKill(RecordCounts counts) throws IOException {
    assertThat(wal.spool().recordCounts()).isEqualTo(counts);
    wal.kill();
    assertThat(wal.spool().recordCounts()).isEqualTo(counts);
    wal.reopen();
    assertThat(wal.spool().recordCounts()).isEqualTo(counts);
  }
}
