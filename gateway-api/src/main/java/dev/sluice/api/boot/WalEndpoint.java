package dev.sluice.api.boot;

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
 * {@code /actuator/wal}: how the write-ahead log is, and whether a segment is what it should be. It
 * stands here since the log is named in this room alone.
 */
@Endpoint(id = "wal")
final class WalEndpoint {
  private static final Logger LOG = LoggerFactory.getLogger(WalEndpoint.class);

  /** With or without the rest of the file's name. */
  private static final Pattern SEGMENT =
      Pattern.compile("(?:seg-)?0*(\\d{1,9})(?:\\.wal(?:\\.zst|\\.gz|\\.idx)?)?");

  private final @Nullable WalSpool wal;
  private final @Nullable FailoverSpool failover;

  /**
   * @param wal null where there is none
   * @param failover null where nothing stands in for anything
   */
  WalEndpoint(@Nullable WalSpool wal, @Nullable FailoverSpool failover) {
    this.wal = wal;
    this.failover = failover;
  }

  /**
   * @param segments oldest first
   * @param bytes of all segments
   * @param frames in all segments
   * @param lag what is not delivered yet
   * @param quarantined damaged frames, oldest first
   * @param unreadable entries that are passed over
   * @param obstacle why nothing can be appended; null when it can
   * @param failover null where the log is the only spool
   */
  record WalResponse(
      List<WalSpool.SegmentStatus> segments,
      long bytes,
      long frames,
      Lag lag,
      List<QuarantinedFrame> quarantined,
      int unreadable,
      @Nullable String obstacle,
      FailoverSpool.@Nullable FailoverStatus failover) {}

  /**
   * @param oldest age of the oldest entry, ISO-8601
   */
  record Lag(long entries, long records, String oldest) {}

  record QuarantinedFrame(String frame, String copy, int records, String reason, Instant at) {}

  record ErrorResponse(String reason) {}

  /** 200, or 404 where there is no such log. */
  @ReadOperation
  Mono<WebEndpointResponse<Object>> wal() {
    return Mono.fromSupplier(() -> wal == null ? noWal() : status(wal))
        .subscribeOn(Schedulers.boundedElastic());
  }

  private WebEndpointResponse<Object> status(WalSpool log) {
    var status = log.status();
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

  /** Reads every frame of a segment: 200 with what was found, 404 when there is none. */
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
      LOG.warn("segment {} of {} cannot be verified: {}", number.group(1), day, e.toString());
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
