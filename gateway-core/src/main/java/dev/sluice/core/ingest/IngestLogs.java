package dev.sluice.core.ingest;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.LogIds;
import dev.sluice.core.ingest.Coalescer.Landed;
import dev.sluice.core.ingest.Coalescer.Part;
import dev.sluice.core.otlp.MalformedOtlp;
import dev.sluice.core.otlp.OtlpWalker;
import dev.sluice.core.port.IdempotencyKeys;
import dev.sluice.core.port.IdempotencyKeys.Claim;
import dev.sluice.core.port.IdempotencyKeys.Claimed;
import dev.sluice.core.port.IngestMeter;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.Appended;
import dev.sluice.core.port.Timer;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.OptionalInt;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The only way in: every entrance ends here, none reaches past it, every record is judged and
 * counted once.
 *
 * <p>Safe for use by many threads; nothing blocks.
 */
public final class IngestLogs {

  /** Verdicts given in detail for one request; further rejected records are only counted. */
  public static final int MAX_VERDICTS = 10_000;

  /**
   * Bytes that a request of level {@link AckLevel#ACCEPTED} takes beside its logs: it may lie here
   * for long, and many small ones must not come to more than they count for.
   */
  public static final int OVERHEAD = 1024;

  /** Whose logs these are until there are keys that say so. */
  public static final String DEFAULT_TENANT = "default";

  private static final System.Logger LOG = System.getLogger(IngestLogs.class.getName());

  /**
   * When an entry is full.
   *
   * @param maxRecords records in a spool entry of several requests
   * @param maxBytes OTLP bytes in a spool entry of several requests
   * @param maxWait how long a request may wait for company
   */
  public record Coalescing(int maxRecords, int maxBytes, Duration maxWait) {
    public Coalescing {
      if (maxRecords <= 0 || maxBytes <= 0 || maxWait.isNegative()) {
        throw new IllegalArgumentException(
            "coalescing needs positive bounds, has %d records, %d bytes, %s"
                .formatted(maxRecords, maxBytes, maxWait));
      }
    }
  }

  /**
   * @param entrance by which way it came, for the meters
   * @param level at which it is answered
   * @param key under which it is taken once; null when it has none. Then the level is {@link
   *     AckLevel#DURABLE} at least
   */
  public record Request(String entrance, AckLevel level, IdempotencyKeys.@Nullable Key key) {

    // spelled out: of a compact constructor's parameters, javac tells other modules no nullness
    public Request(String entrance, AckLevel level, IdempotencyKeys.@Nullable Key key) {
      if (key != null && level == AckLevel.ACCEPTED) {
        throw new IllegalArgumentException("a key is remembered where the logs are");
      }
      this.entrance = entrance;
      this.level = level;
      this.key = key;
    }
  }

  /**
   * What is done with logs beside taking them.
   *
   * @param allowed which are taken, asked once for each request
   * @param mirror where those that were taken are shown
   */
  public record Choice(Supplier<AllowList> allowed, Mirror mirror) {
    /** Every log is taken, and none is shown. */
    public static final Choice NONE = new Choice(() -> AllowList.EVERYTHING, Mirror.OFF);
  }

  private final Limits limits;
  private final Choice choice;
  private final InstantSource clock;
  private final IngestMeter meter;
  private final Coalescer coalescer;
  private final IdempotencyKeys keys;
  private final Admission admission;
  private final Confirmations confirmations;
  private final LongAdder lost = new LongAdder();
  private final Queue<OtlpWalker> walkers = new ConcurrentLinkedQueue<>();

  /**
   * @param admission says when those who are turned away should come again
   * @param choice which of the good ones are taken
   * @param storedWithin how long the answer to a request of level {@link AckLevel#STORED} waits for
   *     the store, after its logs are durable
   */
  public IngestLogs(
      Spool spool,
      IdempotencyKeys keys,
      Admission admission,
      Limits limits,
      Choice choice,
      Coalescing coalescing,
      Duration storedWithin,
      InstantSource clock,
      Timer timer,
      IngestMeter meter) {
    this.limits = limits;
    this.choice = choice;
    this.clock = clock;
    this.meter = meter;
    this.keys = keys;
    this.admission = admission;
    this.confirmations = new Confirmations(spool, timer, storedWithin);
    this.coalescer =
        new Coalescer(
            spool,
            new LogIds(clock),
            timer,
            new Coalescer.Bounds(
                coalescing.maxRecords(), coalescing.maxBytes(), coalescing.maxWait()));
  }

  /** Judges the records and makes the good ones safe. */
  public InHand accept(Request request, OtlpPayload payload) {
    var entrance = request.entrance();
    var now = clock.instant();
    var judge = new Judge(payload, choice.allowed().get());
    var walker = walkers.poll();
    if (walker == null) {
      walker = new OtlpWalker(limits);
    }
    int records;
    long expanded;
    try {
      walker.walk(payload.bytes(), 0, payload.length(), judge);
      records = walker.records();
      expanded = walker.expandedBytes();
    } catch (MalformedOtlp e) {
      meter.malformed(entrance);
      return InHand.done(new Ingested.Malformed(String.valueOf(e.getMessage())));
    } finally {
      walkers.add(walker); // another thread's from here on
    }
    int total = records + payload.refusedCount();
    if (total > limits.maxRecords()) {
      meter.malformed(entrance);
      return InHand.done(
          new Ingested.TooLarge(total + " log records, limit " + limits.maxRecords()));
    }
    if (expanded > limits.maxExpandedBytes()) {
      meter.malformed(entrance);
      return InHand.done(
          new Ingested.TooLarge(
              "%d bytes when each record carries its resource and scope, limit %d"
                  .formatted(expanded, limits.maxExpandedBytes())));
    }
    meter.received(entrance, total, payload.length());
    if (payload.unknownFields() > 0) {
      meter.unknownFields(entrance, payload.unknownFields());
    }
    if (judge.filteredCount() > 0) {
      meter.filtered(entrance, judge.filteredCount());
    }
    int rejected = judge.refusedCount() + payload.refusedCount();
    if (rejected > 0) {
      meter.rejected(entrance, rejected);
    }
    int good = records - judge.refusedCount() - judge.filteredCount();
    var verdict =
        new Ingested.Accepted(
            good, judge.verdicts(), rejected, judge.filteredCount(), request.level(), 0, false);
    if (good == 0) {
      return InHand.done(verdict);
    }
    var part =
        new Part(
            DEFAULT_TENANT,
            request.level() == AckLevel.ACCEPTED,
            nanos(now),
            payload.bytes(),
            payload.length(),
            records,
            good,
            (int) (expanded - judge.filteredBytes()),
            judge.refused(),
            new CompletableFuture<>());
    var key = request.key();
    return key == null ? append(request, verdict, part) : appendOnce(request, verdict, part, key);
  }

  private InHand append(Request request, Ingested.Accepted verdict, Part part) {
    var landed = coalescer.add(part);
    if (request.level() != AckLevel.ACCEPTED) {
      return new InHand(
          landed.thenCompose(where -> outcome(request, verdict, part, where)),
          landed.thenAccept(_ -> {}));
    }
    choice.mirror().show(part);
    int records = part.records(); // not the part, whose bytes are in the entry already
    long received = part.receivedNanos();
    return new InHand(
        CompletableFuture.completedFuture(verdict),
        landed.thenAccept(
            where -> {
              if (where.appended() instanceof Appended.Accepted) {
                accepted(request, records, received);
              } else { // only at our end
                lost.add(records);
                meter.lost(request.entrance(), records);
              }
            }));
  }

  /** An entry by itself: the spool remembers the key in the step that takes the entry. */
  private InHand appendOnce(
      Request request, Ingested.Accepted verdict, Part part, IdempotencyKeys.Key key) {
    var free = new CompletableFuture<Void>();
    var answer =
        keys.claim(key)
            .thenCompose(claimed -> claimed(request, verdict, part, claimed, free))
            .exceptionally(e -> turnedAway(request, part, Duration.ZERO, e.toString()))
            .toCompletableFuture();
    var _ = answer.whenComplete((_, _) -> free.complete(null));
    return new InHand(answer, free);
  }

  private CompletionStage<Ingested> claimed(
      Request request,
      Ingested.Accepted verdict,
      Part part,
      Claimed claimed,
      CompletableFuture<Void> free) {
    return switch (claimed) {
      case Claimed.Mine(var claim) -> {
        var batch = coalescer.together(List.of(part));
        yield keys.append(batch, claim)
            .exceptionally(e -> new Appended.Busy(Duration.ZERO, e.toString()))
            .thenCompose(appended -> released(claim, appended))
            .thenCompose(
                appended -> {
                  free.complete(null);
                  return outcome(request, verdict, part, new Landed(appended, batch.firstId()));
                });
      }
      case Claimed.Taken() -> {
        meter.replayed(request.entrance(), part.records());
        yield CompletableFuture.completedStage(verdict.again());
      }
      case Claimed.UnderWay() -> {
        meter.conflicting(request.entrance(), part.records());
        yield CompletableFuture.completedStage(new Ingested.UnderWay(admission.afterConflict()));
      }
      case Claimed.Another() -> {
        meter.conflicting(request.entrance(), part.records());
        yield CompletableFuture.completedStage(new Ingested.KeyReused());
      }
      case Claimed.Away(var retryAfter, var reason) ->
          CompletableFuture.completedStage(turnedAway(request, part, retryAfter, reason));
    };
  }

  /** A failure is not remembered: the client may come again under the same key. */
  private CompletionStage<Appended> released(Claim claim, Appended appended) {
    return appended instanceof Appended.Busy
        ? keys.release(claim).handle((_, _) -> appended)
        : CompletableFuture.completedStage(appended);
  }

  private CompletionStage<Ingested> outcome(
      Request request, Ingested.Accepted verdict, Part part, Landed where) {
    return switch (where.appended()) {
      case Appended.Accepted(var receipt) -> {
        accepted(request, part.records(), part.receivedNanos());
        choice.mirror().show(part);
        yield request.level() == AckLevel.STORED
            ? confirmations
                .await(receipt, where.first(), part.records())
                .thenApply(deadLetters -> confirmed(verdict, deadLetters))
            : CompletableFuture.completedStage(verdict);
      }
      case Appended.Busy(var retryAfter, var reason, _) ->
          CompletableFuture.completedStage(turnedAway(request, part, retryAfter, reason));
      case Appended.Superseded() ->
          CompletableFuture.completedStage(
              turnedAway(request, part, Duration.ZERO, "another took over the idempotency key"));
    };
  }

  /**
   * To send again what is safe and not yet stored would be wrong: the answer says what is known.
   */
  private static Ingested confirmed(Ingested.Accepted verdict, OptionalInt deadLetters) {
    return deadLetters.isPresent()
        ? verdict.storedBut(deadLetters.getAsInt())
        : verdict.only(AckLevel.DURABLE);
  }

  private void accepted(Request request, int records, long receivedNanos) {
    var took = Duration.ofNanos(nanos(clock.instant()) - receivedNanos);
    meter.accepted(request.entrance(), records, took);
  }

  private Ingested turnedAway(Request request, Part part, Duration retryAfter, String reason) {
    LOG.log(System.Logger.Level.DEBUG, "logs turned away: {0}", reason);
    meter.turnedAway(request.entrance(), part.records());
    return new Ingested.Busy(admission.afterTrouble(retryAfter));
  }

  /** Counts a request that was turned away before any of its body was read. */
  public void shed(String entrance) {
    meter.shed(entrance);
  }

  /**
   * Gives logs that were answered and are not in the spool yet their last chance. Call when no more
   * come; blocks for {@code patience} at most.
   *
   * @return how many are lost
   */
  public long close(Duration patience) {
    coalescer.close(patience);
    long records = lost.sum();
    if (records > 0) {
      LOG.log(
          System.Logger.Level.ERROR,
          "{0} logs are lost that were accepted and never reached the spool",
          Long.toString(records));
    }
    return records;
  }

  /** Counts a request that an entrance had to refuse before there were any records to judge. */
  public void unusable(String entrance) {
    meter.malformed(entrance);
  }

  private static long nanos(Instant instant) {
    return Math.addExact(
        Math.multiplyExact(instant.getEpochSecond(), 1_000_000_000L), instant.getNano());
  }
}
