package dev.sluice.wal;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.DailyCounts.RecordCounts;
import dev.sluice.core.port.DeliveryStatusReader.DeliveryStatus;
import dev.sluice.core.port.FallbackDuplicateCheck.DuplicateStatus;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.core.port.Spool.Receipt;
import dev.sluice.core.port.SpoolConsumer;
import dev.sluice.core.port.SpoolConsumer.Delivery;
import dev.sluice.testkit.LogBatches;
import dev.sluice.testkit.SpoolContract;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.LocalDate;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The state of the WAL after restarts, kills and damage. */
@Timeout(60)
class WalRecoveryTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(5);

  @RegisterExtension final WalFixture wal;

  WalRecoveryTest() throws IOException {
    wal = new WalFixture(Compression.ZSTD);
  }

  @Test
  void poll_deliveredBeforeAKill_isRedeliveredUnchanged() throws Exception {
    var batches = LogBatches.list(4, 10);
    append(batches);
    var first = poll(wal.newConsumer());
    append(LogBatches.list(1, 10));

    wal.kill();
    var consumer = wal.newConsumer();
    var second = poll(consumer);
    consumer.ack(second);
    var third = poll(consumer);

    assertThat(first.redelivered()).isFalse();
    assertThat(second.redelivered()).isTrue();
    assertThat(second.token()).isEqualTo(first.token());
    SpoolContract.assertSameBatches(second.batches(), batches);
    assertThat(third.redelivered()).isFalse();
  }

  @Test
  void append_sameBatchAfterAKill_isStoredOnce() throws Exception {
    var batch = LogBatches.of(7);
    var first = append(batch);

    wal.kill();

    assertThat(append(batch)).isEqualTo(first);
    assertThat(wal.spool().recordCounts()).isEqualTo(new RecordCounts(7, 7, 0));
  }

  @Test
  void append_lazy_isDurableOnceCompleted() throws Exception {
    var batch = LogBatches.of(7);
    var appendResult = wal.spool().append(batch, AppendMode.LAZY).toCompletableFuture();

    assertThat(appendResult.get(30, SECONDS)).isInstanceOf(AppendResult.Accepted.class);

    wal.kill();
    SpoolContract.assertSameBatches(poll(wal.newConsumer()).batches(), List.of(batch));
  }

  @Test
  void append_afterClose_isUnavailable() throws Exception {
    wal.spool().close();

    assertThat(append(LogBatches.of(1))).isInstanceOf(AppendResult.Unavailable.class);
  }

  @Test
  void open_twice_throwsNamingTheDirectory() {
    assertThatThrownBy(wal::openSecond)
        .isInstanceOf(IOException.class)
        .hasMessageContaining(wal.node().toString());
  }

  @Test
  void recordCounts_eachStep_survivesKills() throws Exception {
    append(List.of(LogBatches.of(600), LogBatches.of(300), LogBatches.of(400)));
    assertSurvivesKill(new RecordCounts(1_300, 1_300, 0));

    var consumer = wal.newConsumer();
    consumer.ack(poll(consumer));
    assertSurvivesKill(new RecordCounts(1_300, 400, 0));

    append(List.of(LogBatches.of(50)));
    assertSurvivesKill(new RecordCounts(1_350, 450, 0));

    consumer = wal.newConsumer();
    consumer.ack(poll(consumer));
    assertSurvivesKill(new RecordCounts(1_350, 0, 0));
    assertThat(wal.spool().status().toCompletableFuture().get().deliveredRecords())
        .isEqualTo(1_350);
  }

  private void assertSurvivesKill(RecordCounts recordCounts) throws IOException {
    assertThat(wal.spool().recordCounts()).isEqualTo(recordCounts);
    wal.kill();
    assertThat(wal.spool().recordCounts()).isEqualTo(recordCounts);
    wal.reopen();
    assertThat(wal.spool().recordCounts()).isEqualTo(recordCounts);
  }

  @Test
  void skip_thenKill_isStillSkippedAndCounted() throws Exception {
    var batches = LogBatches.list(3, 10);
    append(batches);
    var consumer = wal.newConsumer();
    var all = poll(consumer);
    consumer.skip(batches.get(1).appendId(), "undeliverable");

    wal.kill();
    consumer = wal.newConsumer();
    var rest = poll(consumer);

    assertThat(rest.token()).isNotEqualTo(all.token());
    SpoolContract.assertSameBatches(rest.batches(), List.of(batches.get(0), batches.get(2)));
    consumer.ack(rest);
    wal.kill();
    assertThat(wal.newConsumer().poll(Duration.ZERO, Duration.ZERO)).isEmpty();
    assertThat(wal.spool().skippedEntries()).isEqualTo(1);
    assertThat(wal.spool().recordCounts()).isEqualTo(new RecordCounts(30, 10, 0));
    assertThat(wal.spool().depth().entries()).isEqualTo(1);
    assertThat(statusOf(new FramePosition(day(), 1, 2))).isEqualTo(new DeliveryStatus.Pending());
  }

  @Test
  void skip_deferredDelivery_isNotRedelivered() throws Exception {
    var consumer = pollDeferred();
    var deferred = consumer.poll(Duration.ZERO, Duration.ZERO).orElseThrow();

    consumer.skip(deferred.batches().getFirst().appendId(), "undeliverable");

    assertThat(consumer.poll(Duration.ZERO, Duration.ZERO)).isEmpty();
    assertSurvivesKill(new RecordCounts(10, 10, 0));
    assertThat(wal.newConsumer().poll(Duration.ZERO, Duration.ZERO)).isEmpty();
    assertThat(wal.spool().skippedEntries()).isEqualTo(1);
  }

  /** Appends ten records that may be in another spool; returns a consumer that has skipped them. */
  private SpoolConsumer pollDeferred() throws Exception {
    var appended =
        wal.spool().append(LogBatches.of(10), AppendMode.POSSIBLE_DUPLICATE).toCompletableFuture();
    assertThat(appended.get(30, SECONDS)).isInstanceOf(AppendResult.Accepted.class);
    var consumer = wal.spool().newConsumer(_ -> DuplicateStatus.UNIQUE);
    assertThat(consumer.poll(Duration.ZERO, Duration.ZERO)).isEmpty();
    return consumer;
  }

  @Test
  void poll_deferredDeliveryOpenAtAKill_isRedeliveredOnce() throws Exception {
    assertThat(pollDeferred().poll(Duration.ZERO, Duration.ZERO)).isPresent();

    wal.kill();
    var consumer = wal.newConsumer();
    consumer.ack(consumer.poll(Duration.ZERO, Duration.ZERO).orElseThrow());

    assertThat(consumer.poll(Duration.ZERO, Duration.ZERO)).isEmpty();
    assertSurvivesKill(new RecordCounts(10, 0, 0));
  }

  @Test
  void poll_newerFrameOpenBeforeADowngrade_waitsForTheNewerRelease() throws Exception {
    var batch = LogBatches.of(10);
    append(batch);
    var readable = Files.readAllBytes(data());
    var newer = newer(readable);
    var journal = wal.node().resolve("journal");

    restart(newer);
    assertThat(wal.newConsumer().poll(Duration.ZERO, Duration.ZERO)).isEmpty();
    restart(readable);
    assertThat(poll(wal.newConsumer()).batches()).hasSize(1);
    assertThat(journal).content().contains("handed-out");
    restart(newer);

    assertThat(wal.newConsumer().poll(Duration.ZERO, Duration.ZERO)).isEmpty();
    assertThat(wal.spool().skippedEntries()).isEqualTo(1);
    assertSurvivesKill(new RecordCounts(10, 10, 0));
    restart(readable);
    SpoolContract.assertSameBatches(poll(wal.newConsumer()).batches(), List.of(batch));
  }

  private static byte[] newer(byte[] frame) throws UnreadableFrameException {
    try (var compressor = new ZstdFrameCompressor()) {
      var lines = new String(compressor.decompress(frame), UTF_8).replace("{\"v\":1,", "{\"v\":2,");
      var bytes = lines.getBytes(UTF_8);
      return compressor.compress(bytes, bytes.length);
    }
  }

  /** Restarts the spool after it has replaced its only frame. */
  private void restart(byte[] frame) throws IOException {
    var data = data();
    var index = index();
    wal.spool().close();
    Files.write(data, frame);
    Files.writeString(
        index,
        Files.readString(index).replaceFirst("(?<=\"len\":)[0-9]+", String.valueOf(frame.length)));
    wal.reopen();
  }

  @Test
  void poll_damagedFrame_losesExactlyItsRecords() throws Exception {
    var batches = List.of(LogBatches.of(10), LogBatches.of(7), LogBatches.of(5));
    append(batches);
    damage(2);
    var consumer = wal.newConsumer();

    var delivery = poll(consumer);

    SpoolContract.assertSameBatches(delivery.batches(), List.of(batches.get(0), batches.get(2)));
    assertSurvivesKill(new RecordCounts(22, 15, 7));
    consumer = wal.newConsumer();
    consumer.ack(poll(consumer));
    assertSurvivesKill(new RecordCounts(22, 0, 7));
    var quarantined = wal.spool().walStatus().quarantined();
    assertThat(quarantined).hasSize(1);
    assertThat(quarantined.getFirst().records()).isEqualTo(7);
    assertThat(quarantined.getFirst().frame()).isEqualTo(day() + "/seg-000001/2");
    assertThat(quarantined.getFirst().copy()).exists();
  }

  @Test
  void poll_damagedFrame_createsAllFilesForTheOwnerOnly() throws Exception {
    append(List.of(LogBatches.of(10), LogBatches.of(7)));
    damage(1);
    poll(wal.newConsumer());
    try (var files = Files.walk(wal.node())) {
      for (var index : files.filter(file -> file.toString().endsWith(".idx")).toList()) {
        Files.delete(index);
      }
    }

    wal.reopen();

    try (var files = Files.walk(wal.walDirectory().resolve("log.wal"))) {
      var paths = files.toList();
      assertThat(paths).contains(wal.node().resolve("quarantine"), wal.node().resolve("journal"));
      assertThat(paths)
          .allSatisfy(
              path ->
                  assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(path)))
                      .isEqualTo(Files.isDirectory(path) ? "rwx------" : "rw-------"));
    }
  }

  @Test
  void poll_damagedAfterDelivery_redeliversTheRest() throws Exception {
    var batches = List.of(LogBatches.of(10), LogBatches.of(7));
    append(batches);
    var all = poll(wal.newConsumer());

    damage(1);
    var rest = poll(wal.newConsumer());

    assertThat(rest.redelivered()).isTrue();
    assertThat(rest.token()).isNotEqualTo(all.token());
    SpoolContract.assertSameBatches(rest.batches(), batches.subList(1, 2));
  }

  @Test
  @Timeout(600)
  void poll_anyIndexByteFlipped_losesNothing() throws Exception {
    var batches = List.of(LogBatches.of(2), LogBatches.of(3));
    append(batches);
    var index = index();
    var lines = Files.readAllBytes(index);
    var journal = wal.node().resolve("journal");
    var initialJournal = Files.readAllBytes(journal);

    for (int i = 0; i < lines.length; i++) {
      var flipped = lines.clone();
      flipped[i] ^= (byte) (1 << i % 3);
      wal.spool().close();
      Files.write(index, flipped);
      Files.write(journal, initialJournal);
      wal.reopen();

      assertThat(wal.spool().recordCounts()).as("byte %d", i).isEqualTo(new RecordCounts(5, 5, 0));
      var consumer = wal.newConsumer();
      var delivery = consumer.poll(Duration.ZERO, Duration.ZERO).orElseThrow();
      assertThat(delivery.records()).as("byte %d", i).isEqualTo(5);
      SpoolContract.assertSameBatches(delivery.batches(), batches);
      consumer.ack(delivery);
      assertThat(wal.spool().recordCounts()).as("byte %d", i).isEqualTo(new RecordCounts(5, 0, 0));
    }
  }

  @Test
  void poll_wrongChecksumInIndex_isRepairedWhileRunning() throws Exception {
    var batches = LogBatches.list(3, 10);
    append(batches);
    var index = index();
    var lines = Files.readString(index);
    Files.writeString(index, lines.replaceFirst("(?<=\"crc32\":)[0-9]+", "7"));

    SpoolContract.assertSameBatches(poll(wal.newConsumer()).batches(), batches);

    assertThat(index).hasContent(lines);
  }

  @Test
  void verify_damagedFrame_isNamed() throws Exception {
    append(List.of(LogBatches.of(10), LogBatches.of(7)));
    assertThat(wal.spool().verify(day(), 1).faults()).isEmpty();

    damage(2);

    var verification = wal.spool().verify(day(), 1);
    assertThat(verification.frames()).isEqualTo(2);
    assertThat(verification.records()).isEqualTo(17);
    assertThat(verification.faults()).hasSize(1).first().asString().startsWith("frame 2: ");
    assertThatThrownBy(() -> wal.spool().verify(day(), 9)).isInstanceOf(NoSuchFileException.class);
  }

  @Test
  void status_someFrames_listsThem() throws Exception {
    append(LogBatches.list(3, 10));

    var status = wal.spool().walStatus();

    assertThat(status.unavailableReason()).isNull();
    assertThat(status.pendingRecords()).isEqualTo(30);
    assertThat(status.backlog().entries()).isEqualTo(3);
    assertThat(status.segments().getLast().frames()).isEqualTo(3);
    assertThat(status.segments().getLast().records()).isEqualTo(30);
  }

  @Test
  void ack_noSpaceForItsLine_throwsAndSucceedsOnceThereIs() throws Exception {
    append(LogBatches.list(3, 10));
    var disk = new SmallDisk(wal.node(), Long.MAX_VALUE / 2);
    wal.reopen(disk);
    var consumer = wal.newConsumer();
    var delivery = poll(consumer);
    Files.delete(wal.node().resolve("reserve"));
    disk.fill();

    assertThatThrownBy(() -> consumer.ack(delivery)).isInstanceOf(UncheckedIOException.class);
    assertThat(wal.spool().recordCounts()).isEqualTo(new RecordCounts(30, 30, 0));
    assertThat(poll(consumer).token()).isEqualTo(delivery.token());

    disk.free(1_000);
    consumer.ack(delivery);
    assertSurvivesKill(new RecordCounts(30, 0, 0));
  }

  @Test
  void open_segmentsRemoved_isAnImbalanceAndLosesNothingNew() throws Exception {
    append(LogBatches.list(3, 10));
    var consumer = wal.newConsumer();
    consumer.ack(poll(consumer));
    append(LogBatches.list(2, 10));
    consumer.ack(poll(consumer)); // its journal line contains 50 accepted records
    append(LogBatches.list(1, 10));
    wal.spool().close();
    deleteSegments();
    wal.reopen();

    assertThat(wal.spool().recordCounts().inFlight()).isZero();
    assertThat(wal.spool().recordCounts().accepted()).isEqualTo(50);
    var batch = LogBatches.of(4);
    append(batch);
    wal.kill();
    SpoolContract.assertSameBatches(poll(wal.newConsumer()).batches(), List.of(batch));
    assertThat(wal.spool().recordCounts()).isEqualTo(new RecordCounts(54, 4, 0));
  }

  @Test
  void open_ackedFramesLost_losesNothingAppendedLater() throws Exception {
    append(LogBatches.list(2, 10));
    var consumer = wal.newConsumer();
    consumer.ack(poll(consumer));
    var file = data();
    var index = index();
    wal.spool().close();
    var lines = Files.readAllLines(index);
    Files.writeString(index, lines.getFirst() + "\n");
    try (var bytes = new RandomAccessFile(file.toFile(), "rw")) {
      bytes.setLength(number(lines.getLast(), "off"));
    }

    wal.reopen();
    var batch = LogBatches.of(4);
    append(batch);
    wal.kill();

    SpoolContract.assertSameBatches(poll(wal.newConsumer()).batches(), List.of(batch));
    assertThat(wal.spool().recordCounts()).isEqualTo(new RecordCounts(24, 4, 0));
  }

  @Test
  void open_segmentsWithSkippedFramesRemoved_deliversWhatFollows() throws Exception {
    var lost = List.of(LogBatches.of(10), LogBatches.of(7));
    append(lost);
    damage(1);
    var consumer = wal.newConsumer();
    poll(consumer);
    consumer.skip(lost.get(1).appendId(), "undeliverable");
    wal.spool().close();
    deleteSegments();
    wal.reopen();

    var batches = LogBatches.list(3, 4);
    append(batches);
    wal.kill();

    SpoolContract.assertSameBatches(poll(wal.newConsumer()).batches(), batches);
    assertThat(wal.spool().recordCounts().inFlight()).isEqualTo(12);
    assertThat(wal.spool().recordCounts().quarantined()).isEqualTo(10);
  }

  @Test
  void append_allSegmentsPruned_isAfterTheAckedPosition() throws Exception {
    append(LogBatches.list(3, 10));
    var consumer = wal.newConsumer();
    consumer.ack(poll(consumer));
    wal.spool().close();
    deleteSegments();
    wal.reopen();

    var batch = LogBatches.of(4);

    assertThat(append(batch)).extracting("receipt.entryId").asString().endsWith("/seg-000002/1");
    assertSurvivesKill(new RecordCounts(34, 4, 0));
    SpoolContract.assertSameBatches(poll(wal.newConsumer()).batches(), List.of(batch));
  }

  private void deleteSegments() throws IOException {
    try (var files = Files.walk(wal.node())) {
      for (var file : files.filter(f -> f.getFileName().toString().startsWith("seg-")).toList()) {
        Files.delete(file);
      }
    }
  }

  @Test
  void depth_oldest_isAgedByReceiptTime() throws Exception {
    var batch = LogBatches.of(1);
    append(
        new LogBatch(
            batch.appendId(),
            batch.tenant(),
            batch.receivedNanos() - Duration.ofHours(5).toNanos(),
            batch.firstId(),
            1,
            batch.expandedBytes(),
            batch.otlp()));

    assertThat(wal.spool().depth())
        .extracting(Backlog.Depth::oldestAge)
        .satisfies(age -> assertThat(age).isBetween(Duration.ofHours(5), Duration.ofHours(6)));
  }

  private Delivery poll(SpoolConsumer consumer) throws InterruptedException {
    return consumer.poll(TIMEOUT, Duration.ZERO).orElseThrow();
  }

  private DeliveryStatus statusOf(FramePosition position) throws Exception {
    return wal.spool()
        .statusOf(new Receipt(0, position.toString()))
        .toCompletableFuture()
        .get(30, SECONDS);
  }

  private AppendResult append(LogBatch batch) throws Exception {
    return wal.spool().append(batch, AppendMode.SYNC).toCompletableFuture().get(30, SECONDS);
  }

  private void append(List<LogBatch> batches) throws Exception {
    for (var batch : batches) {
      assertThat(append(batch)).isInstanceOf(AppendResult.Accepted.class);
    }
  }

  private LocalDate day() throws IOException {
    return FramePosition.of(
            wal.spool().walStatus().segments().getLast().file().replaceAll("[.].*", "") + "/1")
        .day();
  }

  /** Returns the data file of the first segment. */
  private Path data() {
    return wal.node().resolve(wal.spool().walStatus().segments().getFirst().file());
  }

  private Path index() {
    return Path.of(data().toString().replaceAll("[.]wal[.].*", ".wal.idx"));
  }

  /** Flips a bit in the middle of a frame of the first segment. */
  private void damage(int frame) throws IOException {
    var file = data();
    var line = Files.readAllLines(index()).get(frame - 1);
    long middle = number(line, "off") + number(line, "len") / 2;
    try (var bytes = new RandomAccessFile(file.toFile(), "rw")) {
      bytes.seek(middle);
      int original = bytes.read();
      bytes.seek(middle);
      bytes.write(original ^ 8);
    }
  }

  /** The failure is an IOException with a message for the operator, not a programming error. */
  @ParameterizedTest
  @ValueSource(strings = {"\"version\":99", "\"version\":[]"})
  void open_unknownJournalVersion_throwsNamingTheFile(String version) throws Exception {
    wal.spool().close();
    var journal = wal.node().resolve("journal");
    var base = Files.readString(journal).lines().findFirst().orElseThrow().substring(9);
    Files.delete(journal);
    try (var other = Journal.open(journal, _ -> {})) {
      other.append(base.replaceFirst("\"version\":[0-9]+", version));
    }

    assertThatThrownBy(wal::openSecond)
        .isInstanceOf(IOException.class)
        .hasMessageContaining(journal.toString())
        .hasMessageContaining("this release");

    Files.delete(journal);
    wal.reopen();
  }

  private static long number(String line, String field) {
    var matcher = Pattern.compile("\"" + field + "\":([0-9]+)").matcher(line);
    assertThat(matcher.find()).isTrue();
    return Long.parseLong(matcher.group(1));
  }
}
