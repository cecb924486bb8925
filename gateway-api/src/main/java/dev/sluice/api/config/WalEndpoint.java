package dev.sluice.api.config;

import dev.sluice.core.failover.FailoverSpool;
import dev.sluice.wal.WalSpool;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/**
 * The endpoint {@code /actuator/wal}: the status of the write-ahead log, and the verification of a
 * segment. It is in this package because only this package may depend on the adapter.
 */
@Endpoint(id = "wal")
final class WalEndpoint {
  private static final Logger LOG = LoggerFactory.getLogger(WalEndpoint.class);

  /** A segment number or a segment file name, with or without its extension. */
  private static final Pattern SEGMENT =
      Pattern.compile("(?:seg-)?0*(\\d{1,9})(?:\\.wal(?:\\.zst|\\.gz|\\.idx)?)?");

  private final @Nullable WalSpool wal;
  private final @Nullable FailoverSpool failover;

  /**
   * @param wal the write-ahead log; null when {@code sluice.spool} is redis
   * @param failover the failover from Redis; null unless {@code sluice.spool} is redis-then-wal
   */
  WalEndpoint(@Nullable WalSpool wal, @Nullable FailoverSpool failover) {
    this.wal = wal;
    this.failover = failover;
  }

  /**
   * The status of the write-ahead log.
   *
   * @param segments the segments, oldest first
   * @param bytes the size of all segments in bytes
   * @param frames the number of frames in all segments
   * @param lag the undelivered entries
   * @param quarantined the damaged frames, oldest first
   * @param skippedEntries the number of entries that this release cannot decode
   * @param unavailableReason the reason why appends fail; null while they succeed
   * @param failover the status of the failover; null when the write-ahead log is the only spool
   */
  record WalResponse(
      List<WalSpool.SegmentStatus> segments,
      long bytes,
      long frames,
      Lag lag,
      List<QuarantinedFrame> quarantined,
      int skippedEntries,
      @Nullable String unavailableReason,
      FailoverSpool.@Nullable FailoverStatus failover) {}

  /**
   * The undelivered part of the write-ahead log.
   *
   * @param entries the number of undelivered entries
   * @param records the number of undelivered log records
   * @param oldest the age of the oldest entry, an ISO-8601 duration
   */
  record Lag(long entries, long records, String oldest) {}

  record QuarantinedFrame(String frame, String copy, int records, String reason, Instant at) {}

  record ErrorResponse(String reason) {}

  /** Responds 200 with the status, or 404 when there is no write-ahead log. */
  @ReadOperation
  Mono<WebEndpointResponse<Object>> wal() {
    return Mono.fromSupplier(() -> wal == null ? noWal() : status(wal))
        .subscribeOn(Schedulers.boundedElastic());
  }

  private WebEndpointResponse<Object> status(WalSpool log) {
    var status = log.walStatus();
    return new WebEndpointResponse<>(
        new WalResponse(
            status.segments(),
            status.segments().stream().mapToLong(WalSpool.SegmentStatus::bytes).sum(),
            status.segments().stream().mapToLong(WalSpool.SegmentStatus::frames).sum(),
            new Lag(
                status.backlog().entries(),
                status.pendingRecords(),
                status.backlog().oldestAge().toString()),
            status.quarantined().stream().map(WalEndpoint::quarantinedFrame).toList(),
            status.skippedEntries(),
            status.unavailableReason(),
            failover == null ? null : failover.failoverStatus()));
  }

  private static QuarantinedFrame quarantinedFrame(WalSpool.DamagedFrame frame) {
    return new QuarantinedFrame(
        frame.frame(), frame.copy().toString(), frame.records(), frame.reason(), frame.at());
  }

  /**
   * Reads every frame of a segment. Responds 200 with the result, 404 when the segment or the
   * write-ahead log does not exist, 400 for an invalid day or segment, 500 when the segment cannot
   * be read.
   */
  @ReadOperation
  Mono<WebEndpointResponse<Object>> verify(@Selector String day, @Selector String segment) {
    return Mono.fromSupplier(() -> wal == null ? noWal() : verifySegment(wal, day, segment))
        .subscribeOn(Schedulers.boundedElastic());
  }

  private static WebEndpointResponse<Object> verifySegment(
      WalSpool log, String day, String segment) {
    var number = SEGMENT.matcher(segment);
    if (!number.matches()) {
      return error(
          "segment is not a number or a name such as seg-000001",
          WebEndpointResponse.STATUS_BAD_REQUEST);
    }
    try {
      return new WebEndpointResponse<>(
          log.verify(LocalDate.parse(day), Integer.parseInt(number.group(1))));
    } catch (DateTimeException _) {
      return error("day is not YYYY-MM-DD", WebEndpointResponse.STATUS_BAD_REQUEST);
    } catch (NoSuchFileException _) {
      return error("there is no such segment", WebEndpointResponse.STATUS_NOT_FOUND);
    } catch (IOException e) {
      LOG.warn("WAL segment {} of {} not verified: {}", number.group(1), day, e.toString());
      return error(
          "the segment cannot be read: " + e.getMessage(),
          WebEndpointResponse.STATUS_INTERNAL_SERVER_ERROR);
    }
  }

  private static WebEndpointResponse<Object> noWal() {
    return error(
        "sluice.spool is redis: there is no write-ahead log", WebEndpointResponse.STATUS_NOT_FOUND);
  }

  private static WebEndpointResponse<Object> error(String reason, int status) {
    return new WebEndpointResponse<>(new ErrorResponse(reason), status);
  }
}
