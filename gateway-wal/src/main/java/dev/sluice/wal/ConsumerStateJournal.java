package dev.sluice.wal;

import dev.sluice.core.domain.DeadLetter;
import java.io.IOException;
import java.nio.file.Path;
import java.time.InstantSource;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.function.BiConsumer;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/**
 * Makes the {@link ConsumerState} durable: writes each change to the journal before it applies the
 * change.
 *
 * <p>Safe for use by many threads. Methods that write block, and run one after the other. A method
 * that throws has changed nothing.
 */
final class ConsumerStateJournal implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ConsumerStateJournal.class);
  private static final JsonMapper JSON = JsonMapper.shared();
  private static final int PAGE_SIZE = 1_000;

  /** Number of dead letters that are moved together: one dead letter can be a large log. */
  private static final int MOVE_PAGE_SIZE = 64;

  private final SegmentLog segmentLog;
  private final ConsumerState consumerState;
  private final InstantSource clock;
  private final Journal journal;
  private final Object writeLock = new Object();

  private ConsumerStateJournal(
      SegmentLog segmentLog, ConsumerState consumerState, Journal journal, InstantSource clock) {
    this.segmentLog = segmentLog;
    this.consumerState = consumerState;
    this.journal = journal;
    this.clock = clock;
  }

  /**
   * Opens the journal: restores the state from it, then counts the frames of the log that the
   * journal does not cover.
   *
   * @param onUnacked the callback for each unacknowledged frame that can be decoded; its batch has
   *     no records
   */
  static ConsumerStateJournal open(
      Path file,
      SegmentLog segmentLog,
      ConsumerState consumerState,
      InstantSource clock,
      Journal.WriteFunction writeFunction,
      BiConsumer<FramePosition, WalEntry> onUnacked)
      throws IOException {
    var journal =
        Journal.open(file, line -> consumerState.restore(parse(file, line)), writeFunction);
    try {
      var stateJournal = new ConsumerStateJournal(segmentLog, consumerState, journal, clock);
      stateJournal.initialize();
      stateJournal.countFrames(onUnacked);
      stateJournal.publishAcked();
      return stateJournal;
    } catch (IOException | RuntimeException e) {
      journal.close();
      throw e;
    }
  }

  private static JournalEvent parse(Path file, String line) throws IOException {
    try {
      var event = JSON.readValue(line, JournalEvent.class);
      if (event instanceof JournalEvent.Snapshot snapshot
          && snapshot.version() > ConsumerState.VERSION) {
        throw new IOException(
            "%s has version %d, this release reads versions up to %d"
                .formatted(file, snapshot.version(), ConsumerState.VERSION));
      }
      return event;
    } catch (JacksonException e) {
      throw new IOException(
          file + " has a line that this release cannot parse: " + e.getOriginalMessage(), e);
    }
  }

  /**
   * Initializes an empty journal, and makes new frames follow every position in the journal. The
   * journal may contain positions without a frame: the frame is pruned, was not synced before a
   * power failure, or an operator removed its segment. Statements about such a position stay true,
   * because positions are never reused.
   */
  private void initialize() throws IOException {
    if (consumerState.isNew()) {
      var today = LocalDate.ofInstant(clock.instant(), ZoneOffset.UTC);
      write(new JournalEvent.Snapshot(ConsumerState.VERSION, null, null, 0, 0, today));
    }
    var known = consumerState.lastKnownPosition();
    if (known == null) {
      return;
    }
    segmentLog.advancePast(known);
    if (ConsumerState.isAfter(known, consumerState.ackedPosition())
        && ConsumerState.isAfter(known, segmentLog.lastPosition())) {
      LOG.warn(
          "frames are missing: the journal covers frames up to {}, the log ends with {}",
          known,
          segmentLog.lastPosition());
    }
  }

  private void countFrames(BiConsumer<FramePosition, WalEntry> onUnacked) throws IOException {
    var replayAppends = new HashSet<UUID>();
    var from = consumerState.countStart();
    for (var page = segmentLog.entriesAfter(from, PAGE_SIZE); !page.isEmpty(); ) {
      for (var frame : page) {
        countFrame(frame, replayAppends, onUnacked);
        from = frame.position();
      }
      page = segmentLog.entriesAfter(from, PAGE_SIZE);
    }
    var missing = new HashSet<FramePosition>();
    for (var skipped : consumerState.skippedFrames()) {
      if (segmentLog.find(skipped.position()) == null) {
        LOG.warn("skipped frame {} is missing from the log", skipped.position());
        missing.add(skipped.position());
      }
    }
    consumerState.dropMissing(missing, replayAppends);
  }

  private void countFrame(
      SegmentLog.IndexEntry frame,
      Set<UUID> replayAppends,
      BiConsumer<FramePosition, WalEntry> onUnacked)
      throws IOException {
    var position = frame.position();
    try {
      var entry = FrameCodec.decodeHeader(segmentLog.read(frame));
      var append = entry.batch().appendId();
      consumerState.count(position, append, entry.batch().day(), entry.batch().records());
      if (ConsumerState.isAfter(position, consumerState.ackedPosition())) {
        if (consumerState.isOldReplay(append)) {
          replayAppends.add(append);
        }
        onUnacked.accept(position, entry);
      }
    } catch (UnreadableFrameException _) { // the delivery of the frame logs it
      consumerState.count(position, null, position.day(), frame.records());
    }
  }

  /**
   * Records a delivery before it is returned.
   *
   * @param last the last frame of the delivery
   */
  void startDelivery(FramePosition last) throws IOException {
    synchronized (writeLock) {
      write(new JournalEvent.DeliveryStarted(last, true));
    }
  }

  /**
   * Acknowledges a delivery, or drops the copy of one skipped frame.
   *
   * @param last the last frame of the delivery
   * @param entries the entries of the delivery
   * @param dropped whether another spool has delivered its entries
   */
  void ack(FramePosition last, List<PositionedEntry> entries, boolean dropped) throws IOException {
    synchronized (writeLock) {
      var acked = consumerState.ackEvent(last, entries, dropped);
      journal.append(JSON.writeValueAsString(acked));
      long missing = consumerState.ack(acked, entries, dropped);
      if (missing > 0) {
        LOG.error("{} undelivered records up to {} are lost: segments are missing", missing, last);
      }
      publishAcked();
      compact();
    }
  }

  void skip(JournalEvent.FrameSkipped frame) throws IOException {
    synchronized (writeLock) {
      journal.append(JSON.writeValueAsString(frame));
      consumerState.skip(frame);
    }
  }

  /**
   * Ends a delivery of one skipped frame, which stays skipped.
   *
   * @param last the frame
   */
  void suspendDelivery(FramePosition last) throws IOException {
    synchronized (writeLock) {
      write(new JournalEvent.DeliverySuspended(last, List.of()));
    }
  }

  /** Copies a damaged frame into the quarantine for inspection, and skips it. */
  void quarantine(SegmentLog.IndexEntry frame, LocalDate day, String reason) throws IOException {
    synchronized (writeLock) {
      var copy = segmentLog.quarantine(frame);
      var quarantined =
          new JournalEvent.FrameQuarantined(
              frame.position(), day, frame.records(), copy.toString(), reason, clock.instant());
      journal.append(JSON.writeValueAsString(quarantined));
      consumerState.quarantine(quarantined);
      LOG.warn(
          "skipping damaged frame {} with {} records, copied to the quarantine: {}",
          frame.position(),
          frame.records(),
          reason);
    }
  }

  /** Moves the dead letters of an earlier release, see {@link WalSpool#moveDeadLetters}. */
  boolean moveDeadLetters(Predicate<List<DeadLetter>> writer) throws IOException {
    for (var page = consumerState.oldDeadLetters(MOVE_PAGE_SIZE);
        !page.isEmpty();
        page = consumerState.oldDeadLetters(MOVE_PAGE_SIZE)) {
      if (!writer.test(page.stream().map(JournalEvent.DeadLetterEntry::toDeadLetter).toList())) {
        return false;
      }
      var ids = page.stream().map(JournalEvent.DeadLetterEntry::id).toList();
      synchronized (writeLock) {
        write(new JournalEvent.DeadLettersPurged(ids, Map.of()));
        compact();
      }
      LOG.info("{} dead letters of the write-ahead log moved to the table", ids.size());
    }
    return true;
  }

  private void write(JournalEvent event) throws IOException {
    journal.append(JSON.writeValueAsString(event));
    consumerState.apply(event);
  }

  private void publishAcked() {
    var acked = consumerState.ackedPosition();
    if (acked != null) {
      segmentLog.markAcked(acked, consumerState.firstSkippedPerSegment());
    }
  }

  private void compact() {
    try {
      journal.compact(
          () -> {
            var events = consumerState.snapshot();
            return () -> events.stream().map(JSON::writeValueAsString).iterator();
          });
    } catch (IOException e) { // the journal stays valid, and grows until the next attempt
      LOG.warn("cannot compact the journal, retrying later: {}", e.toString());
    }
  }

  @Override
  public void close() {
    journal.close();
  }
}
