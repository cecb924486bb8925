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
 * Keeps the {@link Book}: whatever happens is in the journal first.
 *
 * <p>Safe for use by many threads. What writes, blocks, one after the other; where it throws,
 * nothing has happened.
 */
final class Bookkeeper implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Bookkeeper.class);
  private static final JsonMapper JSON = JsonMapper.shared();
  private static final int PAGE = 1_000;

  private final Segments segments;
  private final Book book;
  private final InstantSource clock;
  private final Journal journal;
  private final Object writing = new Object();

  private Bookkeeper(Segments segments, Book book, Journal journal, InstantSource clock) {
    this.segments = segments;
    this.book = book;
    this.journal = journal;
    this.clock = clock;
  }

  /**
   * Reads the journal, and counts the frames behind it.
   *
   * @param seen is told each unsettled frame that can be read, without its logs
   */
  static Bookkeeper open(
      Path file,
      Segments segments,
      Book book,
      InstantSource clock,
      Journal.Disk disk,
      BiConsumer<Position, Entry> seen)
      throws IOException {
    var journal = Journal.open(file, line -> book.restore(read(file, line)), disk);
    try {
      var keeper = new Bookkeeper(segments, book, journal, clock);
      keeper.begin();
      keeper.count(seen);
      keeper.tellSegments();
      return keeper;
    } catch (IOException | RuntimeException e) {
      journal.close();
      throw e;
    }
  }

  private static Event read(Path file, String line) throws IOException {
    try {
      var event = JSON.readValue(line, Event.class);
      if (event instanceof Event.Base base && base.version() > Book.VERSION) {
        throw new IOException(
            "%s is of version %d, this release knows %d"
                .formatted(file, base.version(), Book.VERSION));
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
  private void begin() throws IOException {
    if (book.isNew()) {
      var today = LocalDate.ofInstant(clock.instant(), ZoneOffset.UTC);
      write(new Event.Base(Book.VERSION, null, null, 0, 0, today));
    }
    var known = book.known();
    if (known == null) {
      return;
    }
    segments.known(known);
    if (Book.isBehind(known, book.settled()) && Book.isBehind(known, segments.last())) {
      LOG.warn("frames up to {} are gone, the log ends with {}", known, segments.last());
    }
  }

  private void count(BiConsumer<Position, Entry> seen) throws IOException {
    var appends = new HashSet<UUID>();
    var from = book.beginning();
    for (var page = segments.after(from, PAGE); !page.isEmpty(); ) {
      for (var frame : page) {
        count(frame, appends, seen);
        from = frame.position();
      }
      page = segments.after(from, PAGE);
    }
    var missing = new HashSet<Position>();
    for (var one : book.aside()) {
      if (segments.find(one.position()) == null) {
        LOG.warn("frame {}, which was passed over, is gone", one.position());
        missing.add(one.position());
      }
    }
    book.counted(missing, appends);
  }

  private void count(Segments.Indexed frame, Set<UUID> appends, BiConsumer<Position, Entry> seen)
      throws IOException {
    var position = frame.position();
    try {
      var entry = FrameCodec.head(segments.read(frame));
      var append = entry.batch().appendId();
      book.count(position, append, entry.batch().day(), entry.batch().records());
      if (Book.isBehind(position, book.settled())) {
        if (book.isReplay(append)) {
          appends.add(append);
        }
        seen.accept(position, entry);
      }
    } catch (UnreadableFrame _) { // whoever comes to it says so
      book.count(position, null, position.day(), frame.records());
    }
  }

  /**
   * A delivery is about to be handed out.
   *
   * @param certain whether all of it is certainly nowhere else
   */
  void handOut(Position last, boolean certain) throws IOException {
    synchronized (writing) {
      write(new Event.HandedOut(last, certain));
    }
  }

  /**
   * A delivery is over.
   *
   * @param last as it was {@link #handOut handed out}
   * @param surrendered whether another spool has it all now
   * @return false when there is no room for the letters; then nothing has happened
   */
  boolean settle(Position last, List<Place> places, List<DeadLetter> dead, boolean surrendered)
      throws IOException {
    synchronized (writing) {
      var over = book.over(last, places, dead, surrendered);
      if (over == null) {
        return false;
      }
      journal.append(JSON.writeValueAsString(over));
      long missing = book.settle(over, places, surrendered);
      if (missing > 0) {
        LOG.error("{} records up to {} are gone with their segments", missing, last);
      }
      tellSegments();
      compact();
      return true;
    }
  }

  void setAside(Event.Aside one) throws IOException {
    synchronized (writing) {
      journal.append(JSON.writeValueAsString(one));
      book.setAside(one);
    }
  }

  void doubt(Event.Doubted doubted) throws IOException {
    synchronized (writing) {
      journal.append(JSON.writeValueAsString(doubted));
      book.doubt(doubted);
      tellSegments();
    }
  }

  /** A damaged frame goes where somebody can look at it, and is passed over. */
  void quarantine(Segments.Indexed frame, LocalDate day, String reason) throws IOException {
    synchronized (writing) {
      var copy = segments.quarantine(frame);
      var one =
          new Event.Quarantined(
              frame.position(), day, frame.records(), copy.toString(), reason, clock.instant());
      journal.append(JSON.writeValueAsString(one));
      book.quarantine(one);
      LOG.warn(
          "frame {} with {} records is damaged and in quarantine: {}",
          frame.position(),
          frame.records(),
          reason);
    }
  }

  /** Whether there was such a letter. */
  boolean purge(long id) throws IOException {
    synchronized (writing) {
      var letter = book.letter(id);
      if (letter == null) {
        return false;
      }
      write(new Event.Purged(List.of(id), Map.of(letter.log().day(), 1L)));
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
    synchronized (writing) {
      var letter = book.letter(id);
      if (letter == null) {
        return false;
      }
      if (!log.firstId().equals(letter.log().firstId()) || !log.day().equals(letter.log().day())) {
        throw new IllegalArgumentException(
            "dead letter %d is of another log than %s, or of another day"
                .formatted(id, log.firstId().toHex()));
      }
      write(new Event.Replaying(id, log.appendId()));
      var failure = append.get();
      if (failure != null) {
        book.forgetReplay(log.appendId());
        throw new IOException(failure);
      }
      try {
        write(new Event.Replayed(log.appendId()));
      } catch (IOException e) { // the frame says so too, and so will what settles it
        LOG.debug("the journal does not say yet that letter {} came back", id, e);
      }
      return true;
    }
  }

  private void write(Event event) throws IOException {
    journal.append(JSON.writeValueAsString(event));
    book.apply(event);
  }

  private void tellSegments() {
    var settled = book.settled();
    if (settled != null) {
      segments.settled(settled, book.needed());
    }
  }

  private void compact() {
    try {
      journal.compact(
          () -> {
            var events = book.summary();
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
