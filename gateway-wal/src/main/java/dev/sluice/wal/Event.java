package dev.sluice.wal;

import static java.util.Objects.requireNonNullElse;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDate;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** A line of the journal: something that has happened, whole. */
@JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "event")
@JsonSubTypes({
  @JsonSubTypes.Type(value = Event.Base.class, name = "base"),
  @JsonSubTypes.Type(value = Event.HandedOut.class, name = "handed-out"),
  @JsonSubTypes.Type(value = Event.Settled.class, name = "settled"),
  @JsonSubTypes.Type(value = Event.Aside.class, name = "aside"),
  @JsonSubTypes.Type(value = Event.Doubted.class, name = "doubted"),
  @JsonSubTypes.Type(value = Event.Quarantined.class, name = "quarantined"),
  @JsonSubTypes.Type(value = Event.Purged.class, name = "purged"),
  @JsonSubTypes.Type(value = Event.Replaying.class, name = "replaying"),
  @JsonSubTypes.Type(value = Event.Replayed.class, name = "replayed")
})
@JsonInclude(JsonInclude.Include.NON_EMPTY)
sealed interface Event {

  /**
   * What everything after it begins with.
   *
   * @param last that is settled; null when nothing is
   * @param counted the last frame that is in the counts; null when none is
   * @param records settled so far
   * @param letters number of the letter that came last
   * @param since the day (UTC) on which the journal was begun; null when that was not written down
   */
  record Base(
      int version,
      @Nullable Position last,
      @Nullable Position counted,
      long records,
      long letters,
      @Nullable LocalDate since)
      implements Event {}

  /**
   * A delivery is about to be handed out.
   *
   * @param certain whether all of it is certainly nowhere else
   * @param last frame of it. Behind the settled position: everything from there to it, but for what
   *     is aside or quarantined. Else it is one that was aside, alone.
   */
  record HandedOut(Position last, boolean certain) implements Event {}

  /**
   * A delivery is over, with all that came of it.
   *
   * @param last see {@link HandedOut}; null in what stands for many
   * @param records that were settled
   * @param replayed appends by which letters came back, as far as they were in it
   * @param accepted by day of receipt, all there ever were; days that have not changed are left out
   * @param counted the last frame that is in these numbers
   */
  @JsonInclude(JsonInclude.Include.NON_EMPTY)
  record Settled(
      @Nullable Position last,
      long records,
      List<Letter> letters,
      List<Taken> keys,
      List<UUID> replayed,
      Map<LocalDate, Long> accepted,
      @Nullable Position counted)
      implements Event {
    public Settled {
      letters = List.copyOf(requireNonNullElse(letters, List.of()));
      keys = List.copyOf(requireNonNullElse(keys, List.of()));
      replayed = List.copyOf(requireNonNullElse(replayed, List.of()));
      accepted = Map.copyOf(requireNonNullElse(accepted, Map.of()));
    }
  }

  /**
   * A frame is passed over and stays.
   *
   * @param append null when it cannot be told
   * @param why told by name, so that a line says what it means
   */
  record Aside(
      Position position,
      @Nullable UUID append,
      LocalDate day,
      long receivedNanos,
      int records,
      String reason,
      Why why)
      implements Event {

    /** Whether anybody will want it again. */
    enum Why {
      /** It can never be delivered. */
      UNDELIVERABLE,

      /** A newer release may be able to read it. */
      NEWER,

      /** Another spool may have it: it waits until it can be given back. */
      DOUBTFUL
    }

    boolean comesAgain() {
      return why != Why.UNDELIVERABLE;
    }
  }

  /**
   * Another spool may have some of a delivery that was handed out: it is none any more, and its
   * frames wait until they can be given back, one by one.
   *
   * @param last of it; see {@link HandedOut}
   * @param frames none when it was a frame that was aside, which stays there
   */
  record Doubted(Position last, List<Aside> frames) implements Event {
    public Doubted {
      frames = List.copyOf(requireNonNullElse(frames, List.of()));
    }
  }

  /** A damaged frame was put away. */
  record Quarantined(
      Position position, LocalDate day, int records, String copy, String reason, Instant at)
      implements Event {
    WalSpool.Quarantined seen() {
      return new WalSpool.Quarantined(position.toString(), Path.of(copy), records, reason, at);
    }
  }

  /**
   * Letters were thrown away.
   *
   * @param days of their receipt, with how many
   */
  record Purged(List<Long> letters, Map<LocalDate, Long> days) implements Event {
    public Purged {
      letters = List.copyOf(requireNonNullElse(letters, List.of()));
      days = Map.copyOf(requireNonNullElse(days, Map.of()));
    }
  }

  /** A letter is about to be appended again; it has been once there is a frame of that append. */
  record Replaying(long letter, UUID append) implements Event {}

  /** It was. */
  record Replayed(UUID append) implements Event {}

  /** An idempotency key that was taken, by its digest. */
  record Taken(UUID digest, UUID request, Instant at) {}

  /** A dead letter, its bytes as they were. */
  record Letter(
      long id,
      UUID append,
      String tenant,
      long receivedNanos,
      String first,
      int bytes,
      byte[] refused,
      byte[] otlp,
      String reason,
      Instant at) {

    static Letter of(long id, DeadLetter letter) {
      var log = letter.log();
      return new Letter(
          id,
          log.appendId(),
          log.tenant(),
          log.receivedNanos(),
          log.firstId().toHex(),
          log.expandedBytes(),
          log.excludedOrdinals().toByteArray(),
          log.otlp(),
          letter.reason(),
          letter.deadLetteredAt());
    }

    DeadLetter letter() {
      var log =
          new LogBatch(
              append,
              tenant,
              receivedNanos,
              LogId.ofHex(first),
              1,
              bytes,
              BitSet.valueOf(refused),
              otlp);
      return new DeadLetter(log, reason, at);
    }
  }
}
