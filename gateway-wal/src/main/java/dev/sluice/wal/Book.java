package dev.sluice.wal;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.DeadLetterQueue;
import dev.sluice.core.port.Spool.DeliveryStatus;
import dev.sluice.core.port.Spool.RecordCounts;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.LongFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What is known beside the frames themselves: what is settled, handed out, aside, quarantined,
 * dead, taken and counted. Everything of it that must survive is an {@link Event} first.
 *
 * <p>The counts of a day are each made where they live: accepted when a frame is there, in flight
 * from the frames behind the settled position, dead letters from the letters. None follows from the
 * others, so that what is lost is seen.
 *
 * <p>Safe for use by many threads; nothing blocks.
 */
final class Book {
  static final int VERSION = 1;

  /** In one line of what stands for many. */
  private static final int KEYS_IN_A_LINE = 1_000;

  private final Letters letters;
  private final Keys keys;

  private boolean begun;
  private @Nullable LocalDate since;
  private @Nullable Position settled;
  private Event.@Nullable HandedOut handedOut;
  private long settledRecords;

  /** Passed over; they stay. */
  private final TreeMap<Position, Event.Aside> aside = new TreeMap<>();

  private final TreeMap<Position, Event.Quarantined> quarantined = new TreeMap<>();

  /** Letters by the appends by which they came back, until those are settled. */
  private final Map<UUID, Long> replays = new HashMap<>();

  private final InFlight inFlight = new InFlight();
  private final TreeMap<LocalDate, Long> purged = new TreeMap<>();
  private final TreeMap<LocalDate, Long> accepted = new TreeMap<>();

  /** The last frame in {@link #accepted}. */
  private @Nullable Position counted;

  /** What the journal has of {@link #accepted}. */
  private Map<LocalDate, Long> written = Map.of();

  Book(Letters letters, Keys keys) {
    this.letters = letters;
    this.keys = keys;
  }

  /** It has happened, and is written down. */
  synchronized void apply(Event event) {
    switch (event) {
      case Event.Base base -> {
        begun = true;
        settled = base.last();
        counted = base.counted();
        settledRecords = base.records();
        since = base.since();
        letters.last(base.letters());
        handedOut = null;
      }
      case Event.HandedOut out -> handedOut = out;
      case Event.Settled over -> apply(over);
      case Event.Aside one -> {
        aside.put(one.position(), one);
        removeReplayed(one.append());
      }
      case Event.Doubted doubted -> {
        doubted.frames().forEach(this::apply);
        settled = isBehind(doubted.last(), settled) ? doubted.last() : settled;
        handedOut = null;
      }
      case Event.Quarantined one -> {
        quarantined.put(one.position(), one);
        aside.remove(one.position());
      }
      case Event.Purged gone -> {
        gone.letters().forEach(letters::remove);
        gone.days().forEach((day, count) -> purged.merge(day, count, Long::sum));
      }
      case Event.Replaying one -> replays.put(one.append(), one.letter());
      case Event.Replayed one -> removeReplayed(one.append());
    }
  }

  private void apply(Event.Settled over) {
    var last = over.last();
    if (last != null) {
      if (isBehind(last, settled)) {
        settled = last;
      } else {
        aside.remove(last);
      }
      handedOut = null;
    }
    settledRecords += over.records();
    over.letters().forEach(letters::put);
    over.keys().forEach(keys::take);
    for (var append : over.replayed()) {
      removeReplayed(append);
      replays.remove(append);
    }
  }

  private void removeReplayed(@Nullable UUID append) {
    var letter = append == null ? null : replays.get(append);
    if (letter != null) {
      letters.remove(letter);
    }
  }

  /** As {@link #apply}, from the journal: the counts of that time are taken over. */
  synchronized void restore(Event event) {
    apply(event);
    if (event instanceof Event.Settled over) {
      accepted.putAll(over.accepted());
      counted = over.counted() == null ? counted : over.counted();
      written = Map.copyOf(accepted);
    }
  }

  /** From where on {@link #count} has to be told of the frames that are there. */
  synchronized @Nullable Position beginning() {
    if (counted == null || settled == null) {
      return null;
    }
    return isBehind(settled, counted) ? counted : settled;
  }

  /** A frame is there; in the order of their positions. */
  synchronized void count(Position position, @Nullable UUID append, LocalDate day, int records) {
    boolean replayed = append != null && replays.containsKey(append);
    if (isBehind(position, counted)) {
      if (!replayed) {
        accepted.merge(day, (long) records, Long::sum);
      }
      counted = position;
    }
    removeReplayed(append);
    if (isBehind(position, settled)
        && !aside.containsKey(position)
        && !quarantined.containsKey(position)) {
      inFlight.add(position, day, records);
    }
  }

  /** All frames are counted: what is not there, is not. */
  synchronized void counted(Set<Position> missing, Set<UUID> appends) {
    missing.forEach(aside::remove);
    replays.keySet().retainAll(appends);
  }

  synchronized List<Event.Aside> aside() {
    return List.copyOf(aside.values());
  }

  /** Passed over for good, or until a newer release comes. */
  synchronized int unreadable() {
    return (int)
        aside.values().stream().filter(one -> one.why() != Event.Aside.Why.DOUBTFUL).count();
  }

  synchronized @Nullable Position settled() {
    return settled;
  }

  /** Nothing was ever written about it. */
  synchronized boolean isNew() {
    return !begun;
  }

  synchronized @Nullable Position counted() {
    return counted;
  }

  /** The last frame that anything was ever written about; null when nothing was. */
  synchronized @Nullable Position known() {
    var known = Stream.of(aside.navigableKeySet(), quarantined.navigableKeySet());
    var out = handedOut == null ? null : handedOut.last();
    return Stream.concat(known.flatMap(Set::stream), Stream.of(settled, counted, out))
        .filter(Objects::nonNull)
        .max(Comparator.naturalOrder())
        .orElse(null);
  }

  /** Whether a letter comes back by that append. */
  synchronized boolean isReplay(UUID append) {
    return replays.containsKey(append);
  }

  synchronized Event.@Nullable HandedOut handedOut() {
    return handedOut;
  }

  synchronized boolean isPassedOver(Position position) {
    return aside.containsKey(position) || quarantined.containsKey(position);
  }

  /** Whether it is passed over for the time being. */
  synchronized boolean comesAgain(Position position) {
    var one = aside.get(position);
    return one != null && one.comesAgain();
  }

  /** Of each segment with frames that were passed over, the first of these. */
  synchronized List<Position> needed() {
    var needed = new ArrayList<Position>();
    for (var first = aside.firstEntry(); first != null; ) {
      var position = first.getKey();
      needed.add(position);
      first =
          aside.higherEntry(new Position(position.day(), position.segment(), Integer.MAX_VALUE));
    }
    return needed;
  }

  /** The line for a delivery that is over; null when there is no room for its letters. */
  synchronized Event.@Nullable Settled over(
      Position last, List<Place> places, List<DeadLetter> dead, boolean surrendered) {
    if (!letters.haveRoom(dead)) {
      return null;
    }
    var taken = new ArrayList<Event.Taken>();
    var replayed = new ArrayList<UUID>();
    var totals = new TreeMap<>(accepted);
    long records = 0;
    for (var place : places) {
      var batch = place.entry().batch();
      if (place.entry().key() != null) {
        taken.add(Keys.taken(place.entry().key(), batch.receivedNanos()));
      }
      if (replays.containsKey(batch.appendId())) {
        replayed.add(batch.appendId());
      }
      if (surrendered) {
        totals.merge(batch.day(), (long) -batch.records(), Long::sum);
      } else {
        records += batch.records();
      }
    }
    totals.entrySet().removeIf(total -> total.getValue().equals(written.get(total.getKey())));
    return new Event.Settled(
        last, records, letters.numbered(dead), taken, replayed, totals, counted);
  }

  /**
   * That line is written.
   *
   * @return records that were in flight and never turned up
   */
  synchronized long settle(Event.Settled over, List<Place> places, boolean surrendered) {
    var now = new HashMap<>(written);
    now.putAll(over.accepted());
    written = now;
    for (var place : places) {
      var batch = place.entry().batch();
      if (surrendered) {
        accepted.merge(batch.day(), (long) -batch.records(), Long::sum);
      }
      if (!aside.containsKey(place.position())) {
        noLongerInFlight(place.position(), batch.day(), batch.records());
      }
    }
    apply(over);
    return settled == null ? 0 : inFlight.end(settled);
  }

  /** Of a frame that is counted later than it was read, {@link #count} takes no notice. */
  private void noLongerInFlight(Position position, LocalDate day, int records) {
    if (!isBehind(position, counted)) {
      inFlight.remove(position, day, records);
    }
  }

  synchronized void setAside(Event.Aside one) {
    boolean wasAside = aside.containsKey(one.position());
    apply(one);
    if (!wasAside) {
      noLongerInFlight(one.position(), one.day(), one.records());
    }
  }

  synchronized void doubt(Event.Doubted doubted) {
    for (var one : doubted.frames()) {
      if (!aside.containsKey(one.position())) {
        noLongerInFlight(one.position(), one.day(), one.records());
      }
    }
    apply(doubted);
  }

  synchronized void quarantine(Event.Quarantined one) {
    boolean wasAside = aside.containsKey(one.position());
    apply(one);
    if (!wasAside) {
      noLongerInFlight(one.position(), one.day(), one.records());
    }
  }

  synchronized DeliveryStatus fate(Position position, LogId first, int records) {
    if (isBehind(position, counted)) {
      return new DeliveryStatus.Unknown("never appended here");
    }
    if (quarantined.containsKey(position)) {
      return new DeliveryStatus.Unknown("its frame was damaged and is in quarantine");
    }
    return isBehind(position, settled) || aside.containsKey(position)
        ? new DeliveryStatus.Pending()
        : new DeliveryStatus.Delivered(letters.countBetween(first, first.plus(records)));
  }

  synchronized long waitingFrames() {
    return inFlight.frames() + aside.size();
  }

  synchronized long waitingRecords() {
    return inFlight.records() + aside.values().stream().mapToLong(Event.Aside::records).sum();
  }

  synchronized long settledRecords() {
    return settledRecords;
  }

  synchronized List<WalSpool.Quarantined> quarantined() {
    return quarantined.values().stream().map(Event.Quarantined::seen).toList();
  }

  /**
   * The first day from which on everything was counted; null when that cannot be told and nothing
   * was.
   */
  synchronized @Nullable LocalDate since() {
    return since != null || accepted.isEmpty() ? since : accepted.firstKey();
  }

  synchronized SortedMap<LocalDate, RecordCounts> tally(LocalDate from) {
    var days = new TreeMap<LocalDate, RecordCounts>();
    add(days, accepted, count -> new RecordCounts(count, 0, 0, 0, 0));
    add(days, inFlight.byDay(), count -> new RecordCounts(0, count, 0, 0, 0));
    add(days, letters.byDay(), count -> new RecordCounts(0, 0, count, 0, 0));
    add(days, purged, count -> new RecordCounts(0, 0, 0, count, 0));
    for (var one : aside.values()) {
      days.merge(one.day(), new RecordCounts(0, one.records(), 0, 0, 0), RecordCounts::plus);
    }
    for (var one : quarantined.values()) {
      days.merge(one.day(), new RecordCounts(0, 0, 0, 0, one.records()), RecordCounts::plus);
    }
    return new TreeMap<>(days.tailMap(from));
  }

  private static void add(
      Map<LocalDate, RecordCounts> days,
      Map<LocalDate, Long> counts,
      LongFunction<RecordCounts> tally) {
    counts.forEach((day, count) -> days.merge(day, tally.apply(count), RecordCounts::plus));
  }

  synchronized @Nullable DeadLetter letter(long id) {
    return letters.find(id);
  }

  /** Oldest first, behind that number. */
  synchronized List<DeadLetterQueue.DeadLetterItem> letters(long after, int limit) {
    return letters.after(after).entrySet().stream()
        .limit(limit)
        .map(
            letter ->
                new DeadLetterQueue.DeadLetterItem(
                    Long.toString(letter.getKey()), letter.getValue()))
        .toList();
  }

  synchronized DeadLetterQueue.Capacity room() {
    return new DeadLetterQueue.Capacity(letters.size(), letters.capacity());
  }

  /** An append by which a letter was to come back has failed. */
  synchronized void forgetReplay(UUID append) {
    replays.remove(append);
  }

  /**
   * Everything, in as few lines as need be. They may come to be the journal or not: the next line
   * of {@link #over} has every total.
   */
  synchronized List<Event> summary() {
    written = Map.of();
    var lines = new ArrayList<Event>();
    lines.add(new Event.Base(VERSION, settled, counted, settledRecords, letters.last(), since));
    lines.add(new Event.Settled(null, 0, List.of(), List.of(), List.of(), accepted, counted));
    letters
        .after(0)
        .forEach((id, letter) -> lines.add(piece(List.of(Event.Letter.of(id, letter)), List.of())));
    var all = keys.all();
    for (int i = 0; i < all.size(); i += KEYS_IN_A_LINE) {
      lines.add(piece(List.of(), all.subList(i, Math.min(i + KEYS_IN_A_LINE, all.size()))));
    }
    replays.forEach((append, letter) -> lines.add(new Event.Replaying(letter, append)));
    lines.addAll(aside.values());
    lines.addAll(quarantined.values());
    lines.add(new Event.Purged(List.of(), purged));
    if (handedOut != null) {
      lines.add(handedOut);
    }
    return lines;
  }

  private static Event.Settled piece(List<Event.Letter> letters, List<Event.Taken> keys) {
    return new Event.Settled(null, 0, letters, keys, List.of(), Map.of(), null);
  }

  static boolean isBehind(Position position, @Nullable Position other) {
    return other == null || position.compareTo(other) > 0;
  }
}
