package dev.sluice.wal;

import static java.util.Objects.requireNonNullElse;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.otlp.RecordExtractor;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDate;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** An event of the journal, one line of JSON. */
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
   * The initial state, to which the following events apply.
   *
   * @param version the version of the journal format
   * @param last the acknowledged position; null when nothing is acknowledged
   * @param counted the last frame included in the counts; null when none is
   * @param records number of records acknowledged so far
   * @param letters the id of the latest dead letter, which may no longer exist
   * @param since the day (UTC) on which the journal started; null when an older release started it
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
   * A delivery started; written before the delivery is returned.
   *
   * @param last the last frame of the delivery. After the acknowledged position, the delivery
   *     contains all frames from there to {@code last}, except skipped and quarantined frames. Else
   *     the delivery contains only {@code last}, a skipped frame.
   * @param certain whether no other spool has any of its entries; false only when an earlier
   *     release has written the event
   */
  record DeliveryStarted(FramePosition last, boolean certain) implements JournalEvent {}

  /**
   * A delivery is acknowledged, with its results.
   *
   * @param last the last frame, see {@link DeliveryStarted}; null in a snapshot
   * @param records number of acknowledged records
   * @param letters dead letters of an earlier release; a new event has none
   * @param keys the idempotency keys of the entries
   * @param replayed append ids of the replays of an earlier release in the delivery
   * @param accepted total number of accepted records by receive day; unchanged days are omitted
   * @param counted the last frame included in {@code accepted}
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
   * A frame is skipped and stays in the spool.
   *
   * @param position the position of the frame
   * @param append its append id; null when the frame cannot be decoded
   * @param day the receive day of its records; the day of its segment when that is unknown
   * @param receivedNanos the receive time in nanoseconds since 1970; the time of its earliest
   *     record when that is unknown
   * @param records number of its records
   * @param reason the reason for the operator
   * @param skipReason the category of the reason
   */
  record FrameSkipped(
      FramePosition position,
      @Nullable UUID append,
      LocalDate day,
      long receivedNanos,
      int records,
      String reason,
      @JsonProperty("why") SkipReason skipReason)
      implements JournalEvent {

    /** The category of a skip reason; the journal contains the names. */
    enum SkipReason {
      /** The frame can never be delivered. */
      UNDELIVERABLE,

      /** A later release may be able to decode the frame. */
      NEWER,

      /** Another spool may have the frame: it stays until that is known. */
      DOUBTFUL
    }

    boolean retryable() {
      return skipReason != SkipReason.UNDELIVERABLE;
    }
  }

  /**
   * A delivery ends without an acknowledgement.
   *
   * @param last the last frame of the delivery, see {@link DeliveryStarted}
   * @param frames the frames, which become skipped frames, when an earlier release has written the
   *     event; empty when the delivery was one skipped frame, which stays skipped
   */
  record DeliverySuspended(FramePosition last, List<FrameSkipped> frames) implements JournalEvent {
    public DeliverySuspended {
      frames = List.copyOf(requireNonNullElse(frames, List.of()));
    }
  }

  /**
   * A damaged frame is quarantined.
   *
   * @param position the position of the frame
   * @param day the receive day of its records; the day of its segment when that is unknown
   * @param records number of its records
   * @param copy the file with a copy of its bytes
   * @param reason the damage
   * @param at the time of the quarantine
   */
  record FrameQuarantined(
      FramePosition position, LocalDate day, int records, String copy, String reason, Instant at)
      implements JournalEvent {
    WalSpool.DamagedFrame toDamagedFrame() {
      return new WalSpool.DamagedFrame(position.toString(), Path.of(copy), records, reason, at);
    }
  }

  /**
   * Dead letters of an earlier release are purged, or moved to the dead letter store.
   *
   * @param letters their ids
   * @param days number of purged dead letters by receive day, from an earlier release
   */
  record DeadLettersPurged(List<Long> letters, Map<LocalDate, Long> days) implements JournalEvent {
    public DeadLettersPurged {
      letters = List.copyOf(requireNonNullElse(letters, List.of()));
      days = Map.copyOf(requireNonNullElse(days, Map.of()));
    }
  }

  /**
   * The replay of a dead letter starts, written by an earlier release. The replay is complete when
   * the log contains a frame with the append id.
   *
   * @param letter the id of the dead letter
   * @param append the append id of the replay
   */
  record ReplayStarted(long letter, UUID append) implements JournalEvent {}

  /**
   * The replay of a dead letter is complete, written by an earlier release.
   *
   * @param append the append id of the replay
   */
  record ReplayCompleted(UUID append) implements JournalEvent {}

  /**
   * A used idempotency key.
   *
   * @param digest the digest of tenant and key
   * @param request the digest of the request
   * @param at the receive time of the request
   */
  record CompletedKey(UUID digest, UUID request, Instant at) {}

  /**
   * A dead letter with its unchanged bytes, written by an earlier release.
   *
   * @param id the id of the dead letter
   * @param append the append id of its batch
   * @param tenant the tenant of its batch
   * @param receivedNanos the receive time in nanoseconds since 1970
   * @param first the id of the log, in hexadecimal
   * @param bytes expanded size of the log in bytes
   * @param refused the ordinals of records in {@code otlp} that are not part of the dead letter, as
   *     a bit set
   * @param otlp the log in OTLP protobuf
   * @param reason the reason of the store for the rejection
   * @param at the time when it became a dead letter
   */
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

    DeadLetter toDeadLetter() {
      var excluded = BitSet.valueOf(refused);
      var letter =
          excluded.isEmpty()
              ? otlp
              : RecordExtractor.extract(otlp, otlp.length, ordinal -> !excluded.get(ordinal));
      var log = new LogBatch(append, tenant, receivedNanos, LogId.ofHex(first), 1, bytes, letter);
      return new DeadLetter(log, reason, 0, at);
    }
  }
}
