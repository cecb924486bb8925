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
  @JsonSubTypes.Type(value = JournalEvent.Snapshot.class, name = "base"),
  @JsonSubTypes.Type(value = JournalEvent.DeliveryStarted.class, name = "handed-out"),
  @JsonSubTypes.Type(value = JournalEvent.DeliveryAcked.class, name = "settled"),
  @JsonSubTypes.Type(value = JournalEvent.FrameSkipped.class, name = "aside"),
  @JsonSubTypes.Type(value = JournalEvent.DeliverySuspended.class, name = "doubted"),
  @JsonSubTypes.Type(value = JournalEvent.FrameQuarantined.class, name = "quarantined"),
  @JsonSubTypes.Type(value = JournalEvent.DeadLettersPurged.class, name = "purged"),
  @JsonSubTypes.Type(value = JournalEvent.ReplayStarted.class, name = "replaying"),
  @JsonSubTypes.Type(value = JournalEvent.ReplayCompleted.class, name = "replayed")
})
@JsonInclude(JsonInclude.Include.NON_EMPTY)
sealed interface JournalEvent {

  /**
   * What everything after it begins with.
   *
   * @param last that is settled; null when nothing is
   * @param counted the last frame that is in the counts; null when none is
   * @param records settled so far
   * @param letters number of the letter that came last
   * @param since the day (UTC) on which the journal was begun; null when that was not written down
   */
  record Snapshot(
      int version,
      @Nullable FramePosition last,
      @Nullable FramePosition counted,
      long records,
      long letters,
      @Nullable LocalDate since)
      implements JournalEvent {}

  /**
   * A delivery is about to be handed out.
   *
   * @param certain whether all of it is certainly nowhere else
   * @param last frame of it. Behind the settled position: everything from there to it, but for what
   *     is aside or quarantined. Else it is one that was aside, alone.
   */
  record DeliveryStarted(FramePosition last, boolean certain) implements JournalEvent {}

  /**
   * A delivery is over, with all that came of it.
   *
   * @param last see {@link DeliveryStarted}; null in what stands for many
   * @param records that were settled
   * @param replayed appends by which letters came back, as far as they were in it
   * @param accepted by day of receipt, all there ever were; days that have not changed are left out
   * @param counted the last frame that is in these numbers
   */
  @JsonInclude(JsonInclude.Include.NON_EMPTY)
  record DeliveryAcked(
      @Nullable FramePosition last,
      long records,
      List<DeadLetterEntry> letters,
      List<CompletedKey> keys,
      List<UUID> replayed,
      Map<LocalDate, Long> accepted,
      @Nullable FramePosition counted)
      implements JournalEvent {
    public DeliveryAcked {
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
   * @param skipReason told by name, so that a line says what it means
   */
  record FrameSkipped(
      FramePosition position,
      @Nullable UUID append,
      LocalDate day,
      long receivedNanos,
      int records,
      String reason,
      SkipReason skipReason)
      implements JournalEvent {

    /** Whether anybody will want it again. */
    enum SkipReason {
      /** It can never be delivered. */
      UNDELIVERABLE,

      /** A newer release may be able to read it. */
      NEWER,

      /** Another spool may have it: it waits until it can be given back. */
      DOUBTFUL
    }

    boolean retryable() {
      return skipReason != SkipReason.UNDELIVERABLE;
    }
  }

  /**
   * Another spool may have some of a delivery that was handed out: it is none any more, and its
   * frames wait until they can be given back, one by one.
   *
   * @param last of it; see {@link DeliveryStarted}
   * @param frames none when it was a frame that was aside, which stays there
   */
  record DeliverySuspended(FramePosition last, List<FrameSkipped> frames) implements JournalEvent {
    public DeliverySuspended {
      frames = List.copyOf(requireNonNullElse(frames, List.of()));
    }
  }

  /** A damaged frame was put away. */
  record FrameQuarantined(
      FramePosition position, LocalDate day, int records, String copy, String reason, Instant at)
      implements JournalEvent {
    WalSpool.DamagedFrame toDamagedFrame() {
      return new WalSpool.DamagedFrame(position.toString(), Path.of(copy), records, reason, at);
    }
  }

  /**
   * Letters were thrown away.
   *
   * @param days of their receipt, with how many
   */
  record DeadLettersPurged(List<Long> letters, Map<LocalDate, Long> days) implements JournalEvent {
    public DeadLettersPurged {
      letters = List.copyOf(requireNonNullElse(letters, List.of()));
      days = Map.copyOf(requireNonNullElse(days, Map.of()));
    }
  }

  /** A letter is about to be appended again; it has been once there is a frame of that append. */
  record ReplayStarted(long letter, UUID append) implements JournalEvent {}

  /** It was. */
  record ReplayCompleted(UUID append) implements JournalEvent {}

  /** An idempotency key that was taken, by its digest. */
  record CompletedKey(UUID digest, UUID request, Instant at) {}

  /** A dead letter, its bytes as they were. */
  record DeadLetterEntry(
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

    static DeadLetterEntry of(long id, DeadLetter letter) {
      var log = letter.log();
      return new DeadLetterEntry(
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

    DeadLetter toDeadLetter() {
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
