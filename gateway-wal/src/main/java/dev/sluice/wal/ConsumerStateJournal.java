package dev.sluice.wal;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogBatch;
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
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/**
 * Keeps the {@link ConsumerState}: whatever happens is in the journal first.
 *
 * <p>Safe for use by many threads. What writes, blocks, one after the other; where it throws,
 * nothing has happened.
 */
final class ConsumerStateJournal implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ConsumerStateJournal.class);
  private static final JsonMapper JSON = JsonMapper.shared();
  private static final int PAGE_SIZE = 1_000;

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
   * Reads the journal, and counts the frames behind it.
   *
   * @param onUnacked is told each unsettled frame that can be read, without its logs
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
      stateJournal.count(onUnacked);
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
            "%s is of version %d, this release knows %d"
                .formatted(file, snapshot.version(), ConsumerState.VERSION));
      }
      return event;
    } catch (JacksonException e) {
      throw new IOException(
          file + " has a line that this release cannot read: " + e.getOriginalMessage(), e);
    }
  }

  /**
   * A journal may know of more frames than there are: they were pruned, were not forced to the
   * disk, or somebody took them away. What it says of their places stays true, for no other frame
   * ever comes there.
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
      LOG.warn("frames up to {} are gone, the log ends with {}", known, segmentLog.lastPosition());
    }
  }

  private void count(BiConsumer<FramePosition, WalEntry> onUnacked) throws IOException {
    var appends = new HashSet<UUID>();
    var from = consumerState.countStart();
    for (var page = segmentLog.entriesAfter(from, PAGE_SIZE); !page.isEmpty(); ) {
      for (var frame : page) {
        count(frame, appends, onUnacked);
        from = frame.position();
      }
      page = segmentLog.entriesAfter(from, PAGE_SIZE);
    }
    var missing = new HashSet<FramePosition>();
    for (var one : consumerState.skippedFrames()) {
      if (segmentLog.find(one.position()) == null) {
        LOG.warn("frame {}, which was passed over, is gone", one.position());
        missing.add(one.position());
      }
    }
    consumerState.dropMissing(missing, appends);
  }

  private void count(
      SegmentLog.IndexEntry frame, Set<UUID> appends, BiConsumer<FramePosition, WalEntry> onUnacked)
      throws IOException {
    var position = frame.position();
    try {
      var entry = FrameCodec.decodeHeader(segmentLog.read(frame));
      var append = entry.batch().appendId();
      consumerState.count(position, append, entry.batch().day(), entry.batch().records());
      if (ConsumerState.isAfter(position, consumerState.ackedPosition())) {
        if (consumerState.isReplay(append)) {
          appends.add(append);
        }
        onUnacked.accept(position, entry);
      }
    } catch (UnreadableFrameException _) { // whoever comes to it says so
      consumerState.count(position, null, position.day(), frame.records());
    }
  }

  /**
   * A delivery is about to be handed out.
   *
   * @param certain whether all of it is certainly nowhere else
   */
  void startDelivery(FramePosition last, boolean certain) throws IOException {
    synchronized (writeLock) {
      write(new JournalEvent.DeliveryStarted(last, certain));
    }
  }

  /**
   * A delivery is over.
   *
   * @param last as it was {@link #startDelivery handed out}
   * @param drained whether another spool has it all now
   * @return false when there is no room for the letters; then nothing has happened
   */
  boolean ack(
      FramePosition last,
      List<PositionedEntry> entries,
      List<DeadLetter> deadLetters,
      boolean drained)
      throws IOException {
    synchronized (writeLock) {
      var acked = consumerState.ackEvent(last, entries, deadLetters, drained);
      if (acked == null) {
        return false;
      }
      journal.append(JSON.writeValueAsString(acked));
      long missing = consumerState.ack(acked, entries, drained);
      if (missing > 0) {
        LOG.error("{} records up to {} are gone with their segments", missing, last);
      }
      publishAcked();
      compact();
      return true;
    }
  }

  void skip(JournalEvent.FrameSkipped frame) throws IOException {
    synchronized (writeLock) {
      journal.append(JSON.writeValueAsString(frame));
      consumerState.skip(frame);
    }
  }

  void suspendDelivery(JournalEvent.DeliverySuspended suspended) throws IOException {
    synchronized (writeLock) {
      journal.append(JSON.writeValueAsString(suspended));
      consumerState.suspendDelivery(suspended);
      publishAcked();
    }
  }

  /** A damaged frame goes where somebody can look at it, and is passed over. */
  void quarantine(SegmentLog.IndexEntry frame, LocalDate day, String reason) throws IOException {
    synchronized (writeLock) {
      var copy = segmentLog.quarantine(frame);
      var quarantined =
          new JournalEvent.FrameQuarantined(
              frame.position(), day, frame.records(), copy.toString(), reason, clock.instant());
      journal.append(JSON.writeValueAsString(quarantined));
      consumerState.quarantine(quarantined);
      LOG.warn(
          "frame {} with {} records is damaged and in quarantine: {}",
          frame.position(),
          frame.records(),
          reason);
    }
  }

  /** Whether there was such a letter. */
  boolean purge(long id) throws IOException {
    synchronized (writeLock) {
      var letter = consumerState.letter(id);
      if (letter == null) {
        return false;
      }
      write(new JournalEvent.DeadLettersPurged(List.of(id), Map.of(letter.log().day(), 1L)));
      return true;
    }
  }

  /**
   * A letter comes back by an append, which is waited for: no delivery of it is over before.
   *
   * @param append why it failed; null when it did not
   * @return whether there was such a letter
   */
  boolean replay(long id, LogBatch log, Supplier<@Nullable String> append) throws IOException {
    synchronized (writeLock) {
      var letter = consumerState.letter(id);
      if (letter == null) {
        return false;
      }
      if (!log.firstId().equals(letter.log().firstId()) || !log.day().equals(letter.log().day())) {
        throw new IllegalArgumentException(
            "dead letter %d is of another log than %s, or of another day"
                .formatted(id, log.firstId().toHex()));
      }
      write(new JournalEvent.ReplayStarted(id, log.appendId()));
      var failure = append.get();
      if (failure != null) {
        consumerState.forgetReplay(log.appendId());
        throw new IOException(failure);
      }
      try {
        write(new JournalEvent.ReplayCompleted(log.appendId()));
      } catch (IOException e) { // the frame says so too, and so will what settles it
        LOG.debug("the journal does not say yet that letter {} came back", id, e);
      }
      return true;
    }
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
    } catch (IOException e) { // it only grows meanwhile
      LOG.warn("the journal could not be made smaller: {}", e.toString());
    }
  }

  @Override
  public void close() {
    journal.close();
  }
}
