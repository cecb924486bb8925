package dev.sluice.core.ingest;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.LogIds;
import dev.sluice.core.domain.Rejection;
import dev.sluice.core.ingest.Coalescer.Part;
import dev.sluice.core.otlp.MalformedOtlp;
import dev.sluice.core.otlp.OtlpRecord;
import dev.sluice.core.otlp.OtlpSink;
import dev.sluice.core.otlp.OtlpWalker;
import dev.sluice.core.port.IngestMeter;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.Appended;
import dev.sluice.core.port.Timer;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * The only way in: every entrance ends here, none reaches past it, every record is judged and
 * counted once.
 *
 * <p>Safe for use by many threads; nothing blocks.
 */
public final class IngestLogs {

  /** Verdicts given in detail for one request; further rejected records are only counted. */
  public static final int MAX_VERDICTS = 10_000;

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

  private final Limits limits;
  private final InstantSource clock;
  private final IngestMeter meter;
  private final Coalescer coalescer;
  private final Queue<OtlpWalker> walkers = new ConcurrentLinkedQueue<>();

  public IngestLogs(
      Spool spool,
      Limits limits,
      Coalescing coalescing,
      InstantSource clock,
      Timer timer,
      IngestMeter meter) {
    this.limits = limits;
    this.clock = clock;
    this.meter = meter;
    this.coalescer =
        new Coalescer(
            spool,
            new LogIds(clock),
            timer,
            new Coalescer.Bounds(
                coalescing.maxRecords(), coalescing.maxBytes(), coalescing.maxWait()));
  }

  /**
   * Judges the records and makes the good ones safe.
   *
   * @param entrance by which way they came, for the meters
   * @return what to answer; never fails
   */
  public CompletionStage<Ingested> accept(String entrance, OtlpPayload payload) {
    var now = clock.instant();
    var judge = new Judge(payload);
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
      return done(new Ingested.Malformed(String.valueOf(e.getMessage())));
    } finally {
      walkers.add(walker); // another thread's from here on
    }
    int total = records + payload.refusedCount();
    if (total > limits.maxRecords()) {
      meter.malformed(entrance);
      return done(new Ingested.TooLarge(total + " log records, limit " + limits.maxRecords()));
    }
    if (expanded > limits.maxExpandedBytes()) {
      meter.malformed(entrance);
      return done(
          new Ingested.TooLarge(
              "%d bytes when each record carries its resource and scope, limit %d"
                  .formatted(expanded, limits.maxExpandedBytes())));
    }
    meter.received(entrance, total, payload.length());
    if (payload.unknownFields() > 0) {
      meter.unknownFields(entrance, payload.unknownFields());
    }
    int rejected = judge.refusedCount + payload.refusedCount();
    if (rejected > 0) {
      meter.rejected(entrance, rejected);
    }
    int good = records - judge.refusedCount;
    var verdict = new Ingested.Accepted(good, judge.verdicts(), rejected);
    if (good == 0) {
      return done(verdict);
    }
    var part =
        new Part(
            DEFAULT_TENANT,
            nanos(now),
            payload.bytes(),
            payload.length(),
            records,
            good,
            (int) expanded,
            judge.refused,
            new CompletableFuture<>());
    return coalescer
        .add(part)
        .thenApply(
            appended ->
                switch (appended) {
                  case Appended.Accepted _ -> {
                    meter.accepted(entrance, good, Duration.between(now, clock.instant()));
                    yield verdict;
                  }
                  case Appended.Busy(var retryAfter, var reason) -> {
                    LOG.log(System.Logger.Level.DEBUG, "logs turned away: {0}", reason);
                    meter.turnedAway(entrance, good);
                    yield new Ingested.Busy(retryAfter);
                  }
                  case Appended.Superseded() ->
                      throw new IllegalStateException("superseded without a claim");
                });
  }

  /** Counts a request that an entrance had to refuse before there were any records to judge. */
  public void unusable(String entrance) {
    meter.malformed(entrance);
  }

  private static CompletionStage<Ingested> done(Ingested ingested) {
    return CompletableFuture.completedStage(ingested);
  }

  private static long nanos(Instant instant) {
    return Math.addExact(
        Math.multiplyExact(instant.getEpochSecond(), 1_000_000_000L), instant.getNano());
  }

  /** Remembers who was refused and why. */
  private static final class Judge implements OtlpSink {
    private final OtlpPayload payload;
    private final BitSet refused = new BitSet(0);
    private List<Rejection> rejections = List.of();
    private int refusedCount;

    Judge(OtlpPayload payload) {
      this.payload = payload;
    }

    @Override
    public void accepted(OtlpRecord log) {}

    @Override
    public void refused(int ordinal, String field, String reason) {
      if (refusedCount == 0) {
        rejections = new ArrayList<>();
      }
      refused.set(ordinal);
      refusedCount++;
      if (rejections.size() < MAX_VERDICTS) {
        rejections.add(new Rejection(payload.rowOf(ordinal), field, reason));
      }
    }

    List<Rejection> verdicts() {
      if (payload.refused().isEmpty() && payload.rows() == null) {
        return rejections;
      }
      var all = new ArrayList<>(rejections);
      all.addAll(payload.refused());
      all.sort(Comparator.comparingInt(Rejection::index));
      return all.size() > MAX_VERDICTS ? all.subList(0, MAX_VERDICTS) : all;
    }
  }
}
