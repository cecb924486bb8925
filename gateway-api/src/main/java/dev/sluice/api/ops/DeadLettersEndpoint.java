package dev.sluice.api.ops;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.annotation.JsonRawValue;
import dev.sluice.api.decode.OtlpJsonDecoder;
import dev.sluice.api.decode.OtlpJsonEncoder;
import dev.sluice.core.delivery.DeadLetterReplayer;
import dev.sluice.core.delivery.DeadLetterReplayer.ReplayResult;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.ingest.DecodeException;
import dev.sluice.core.otlp.AnyValueFormatter;
import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.MalformedOtlpException;
import dev.sluice.core.otlp.OtlpRecord;
import dev.sluice.core.otlp.OtlpRecordVisitor;
import dev.sluice.core.otlp.OtlpWalker;
import dev.sluice.core.port.DeadLetterStore;
import dev.sluice.core.port.DeadLetterStore.DeadLetterItem;
import java.io.Serial;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/**
 * The endpoint {@code /actuator/deadletters}: the records that the store rejected. An operator can
 * list and show them, replay them as they are or corrected, and purge them. The response is 503
 * while the store, or for a replay the spool, is unavailable.
 */
@Endpoint(id = "deadletters")
public final class DeadLettersEndpoint {
  private static final Logger LOG = LoggerFactory.getLogger(DeadLettersEndpoint.class);
  private static final int DEFAULT_PAGE_SIZE = 100;
  private static final int MAX_PAGE_SIZE = 1000;
  private static final int STATUS_CONFLICT = 409;

  private final DeadLetterStore deadLetterStore;
  private final DeadLetterReplayer replayer;
  private final Limits limits;

  /**
   * @param limits the limits of corrected records, the same as for new records
   */
  public DeadLettersEndpoint(
      DeadLetterStore deadLetterStore, DeadLetterReplayer replayer, Limits limits) {
    this.deadLetterStore = deadLetterStore;
    this.replayer = replayer;
    this.limits = limits;
  }

  /**
   * A page of dead letters.
   *
   * @param count the number of all dead letters
   * @param deadLetters the dead letters of this page, oldest receipt first
   * @param next the {@code after} of the next page; null after the last page
   */
  public record DeadLetterPage(
      long count, List<DeadLetterSummary> deadLetters, @Nullable String next) {}

  /**
   * A dead letter without its record.
   *
   * @param id the id of the dead letter, which is the id of its log
   * @param logId the id that the record has in the store after its replay
   * @param tenant the tenant of the record
   * @param service the service of the record; empty when it has none
   * @param received the receive time
   * @param reason the reason of the store for the rejection
   * @param code the error code of the store; 0 when it is unknown
   * @param at the time of the rejection
   * @param bytes the size of the record with its resource and its scope, in bytes of OTLP
   * @param replayStarted whether a replay was interrupted: a repetition completes it
   */
  public record DeadLetterSummary(
      String id,
      String logId,
      String tenant,
      String service,
      Instant received,
      String reason,
      int code,
      Instant at,
      int bytes,
      boolean replayStarted) {}

  /**
   * A dead letter with its record.
   *
   * @param log the record as OTLP JSON, an {@code ExportLogsServiceRequest}
   */
  public record DeadLetterDetail(
      String id,
      String logId,
      String tenant,
      String service,
      Instant received,
      String reason,
      int code,
      Instant at,
      int bytes,
      boolean replayStarted,
      @JsonRawValue String log) {}

  /** The response to a replay or a purge: this dead letter is removed. */
  public record RemovedDeadLetter(String id) {}

  /** The response of an operation that changed nothing, with the reasons. */
  public record ErrorResponse(List<FieldError> reasons) {}

  /**
   * An error of a field.
   *
   * @param field the invalid field of the record or of the request; {@code store} or {@code spool}
   *     when it is unavailable
   * @param reason the error
   */
  public record FieldError(String field, String reason) {}

  /**
   * Lists dead letters, oldest receipt first.
   *
   * @param after the id of the last dead letter of the previous page; null for the first page
   * @param limit the maximum number of dead letters, from 1 to 1000; 100 when null
   */
  @ReadOperation
  public Mono<WebEndpointResponse<Object>> list(@Nullable String after, @Nullable Integer limit) {
    int pageSize = limit == null ? DEFAULT_PAGE_SIZE : limit;
    if (pageSize < 1 || pageSize > MAX_PAGE_SIZE) {
      return Mono.just(
          badRequest(
              new FieldError("limit", "is " + pageSize + ", must be from 1 to " + MAX_PAGE_SIZE)));
    }
    var last = after == null ? null : parseId(after).orElse(null);
    if (after != null && last == null) {
      return Mono.just(badRequest(new FieldError("after", "is not the id of a dead letter")));
    }
    return respond(
        () -> {
          var count = deadLetterStore.counts().open();
          var page = deadLetterStore.list(last, pageSize);
          return ok(
              new DeadLetterPage(
                  count,
                  page.stream().map(DeadLettersEndpoint::summary).toList(),
                  page.size() < pageSize ? null : id(page.getLast())));
        });
  }

  /** Shows a dead letter with its record; 404 when there is none with this id. */
  @ReadOperation
  public Mono<WebEndpointResponse<Object>> show(@Selector String id) {
    return respond(
        () -> find(id).map(item -> ok(detail(item))).orElseGet(DeadLettersEndpoint::notFound));
  }

  private Optional<DeadLetterItem> find(String id) {
    return parseId(id).flatMap(deadLetterStore::find);
  }

  private static Optional<LogId> parseId(String id) {
    try {
      return Optional.of(LogId.ofHex(id));
    } catch (IllegalArgumentException _) {
      return Optional.empty();
    }
  }

  private static String id(DeadLetterItem item) {
    return item.letter().log().firstId().toHex();
  }

  /**
   * Replays a dead letter: appends its record to the spool again and removes the dead letter.
   *
   * @param log the corrected record as a text of OTLP JSON; null to replay the record unchanged
   */
  @WriteOperation
  public Mono<WebEndpointResponse<Object>> replay(@Selector String id, @Nullable String log) {
    return respond(
        () -> {
          var item = find(id);
          if (item.isEmpty()) {
            return notFound();
          }
          var original = item.get().letter().log();
          LogBatch batch;
          try {
            batch = log == null ? original : corrected(original, log);
          } catch (InvalidRequestException e) {
            return badRequest(e.error);
          }
          return switch (replayer.replay(item.get(), batch)) {
            case ReplayResult.Replayed() -> {
              LOG.info("dead letter {} replayed{}", id, log == null ? "" : " with a correction");
              yield ok(new RemovedDeadLetter(id));
            }
            case ReplayResult.SpoolUnavailable(var reason) -> unavailable("spool", reason);
          };
        });
  }

  /**
   * Purges a dead letter: removes its record; 404 when there is none with this id, 409 when its
   * replay has started.
   */
  @DeleteOperation
  public Mono<WebEndpointResponse<Object>> purge(@Selector String id) {
    return respond(
        () -> {
          var item = find(id);
          if (item.isPresent() && item.get().replayStarted()) {
            return error(
                new FieldError("id", "its replay has started: replay it again"), STATUS_CONFLICT);
          }
          if (item.isEmpty() || !deadLetterStore.purge(item.get().letter().log().firstId())) {
            return notFound();
          }
          LOG.info("dead letter {} purged", id);
          return ok(new RemovedDeadLetter(id));
        });
  }

  private static LogBatch withRecord(LogBatch original, int expandedBytes, byte[] otlp) {
    return new LogBatch(
        original.appendId(),
        original.tenant(),
        original.receivedNanos(),
        original.firstId(),
        1,
        expandedBytes,
        otlp);
  }

  private LogBatch corrected(LogBatch original, String json) throws InvalidRequestException {
    var errors = new ArrayList<FieldError>();
    try {
      byte[] text = json.getBytes(UTF_8);
      if (text.length > limits.maxRequestBytes()) {
        throw new InvalidRequestException(
            "log", "has " + text.length + " bytes, limit " + limits.maxRequestBytes());
      }
      var payload = OtlpJsonDecoder.read(text, limits);
      var walker = new OtlpWalker(limits);
      walker.walk(payload.bytes(), 0, payload.length(), errorCollector(errors));
      if (!errors.isEmpty()) {
        throw new InvalidRequestException(errors.getFirst());
      }
      if (walker.records() != 1) {
        throw new InvalidRequestException(
            "log", "has " + walker.records() + " log records, must have one");
      }
      if (walker.expandedBytes() > limits.maxExpandedBytes()) {
        throw new InvalidRequestException(
            "log", "has " + walker.expandedBytes() + " bytes, limit " + limits.maxExpandedBytes());
      }
      return withRecord(
          original, (int) walker.expandedBytes(), Arrays.copyOf(payload.bytes(), payload.length()));
    } catch (DecodeException e) {
      throw new InvalidRequestException("log", e.detail());
    } catch (MalformedOtlpException e) {
      throw new InvalidRequestException("log", String.valueOf(e.getMessage()));
    }
  }

  private static OtlpRecordVisitor errorCollector(List<FieldError> errors) {
    return new OtlpRecordVisitor() {
      @Override
      public void visitRecord(OtlpRecord log) {}

      @Override
      public void visitRejected(int ordinal, String field, String reason) {
        errors.add(new FieldError(field, reason));
      }
    };
  }

  /** A corrected record is invalid. */
  private static final class InvalidRequestException extends Exception {
    @Serial private static final long serialVersionUID = 1L;
    private final transient FieldError error;

    InvalidRequestException(FieldError fieldError) {
      super(fieldError.reason(), null, false, false);
      this.error = fieldError;
    }

    InvalidRequestException(String field, String reason) {
      this(new FieldError(field, reason));
    }
  }

  private static DeadLetterSummary summary(DeadLetterItem item) {
    var letter = item.letter();
    var log = letter.log();
    return new DeadLetterSummary(
        id(item),
        log.firstId().toHex(),
        log.tenant(),
        serviceName(log),
        receivedAt(log),
        letter.reason(),
        letter.code(),
        letter.deadLetteredAt(),
        log.otlp().length,
        item.replayStarted());
  }

  private static DeadLetterDetail detail(DeadLetterItem item) {
    var summary = summary(item);
    return new DeadLetterDetail(
        summary.id(),
        summary.logId(),
        summary.tenant(),
        summary.service(),
        summary.received(),
        summary.reason(),
        summary.code(),
        summary.at(),
        summary.bytes(),
        summary.replayStarted(),
        OtlpJsonEncoder.encode(item.letter().log().otlp()));
  }

  private static Instant receivedAt(LogBatch log) {
    return Instant.ofEpochSecond(0, log.receivedNanos());
  }

  /** Returns the value of the column {@code ServiceName}; empty when the record has no service. */
  private static String serviceName(LogBatch log) {
    var name = new String[] {""};
    try {
      new OtlpWalker(Limits.TRUSTED)
          .walk(
              log.otlp(),
              0,
              log.otlp().length,
              new OtlpRecordVisitor() {
                @Override
                public void visitRecord(OtlpRecord record) {
                  name[0] = serviceName(record);
                }

                @Override
                public void visitRejected(int ordinal, String field, String reason) {}
              });
    } catch (MalformedOtlpException _) {
      return "";
    }
    return name[0];
  }

  private static String serviceName(OtlpRecord record) {
    var attributes = record.resource().attributes();
    for (int i = 0; i < attributes.size(); i++) {
      var key = new String(record.bytes(), attributes.keyOffset(i), attributes.keyLength(i), UTF_8);
      if (key.equals("service.name")) {
        var out = new ByteOutput(32);
        AnyValueFormatter.append(attributes.value(i), record.bytes(), out);
        return new String(out.array(), 0, out.size(), UTF_8);
      }
    }
    return "";
  }

  private static Mono<WebEndpointResponse<Object>> respond(
      Supplier<WebEndpointResponse<Object>> operation) {
    return Mono.fromSupplier(
            () -> {
              try {
                return operation.get();
              } catch (RuntimeException e) {
                return unavailable("store", e.toString());
              }
            })
        .subscribeOn(Schedulers.boundedElastic());
  }

  private static WebEndpointResponse<Object> unavailable(String source, String reason) {
    LOG.warn("dead letters: {} unavailable, responding 503: {}", source, reason);
    return error(
        new FieldError(source, "is unavailable"), WebEndpointResponse.STATUS_SERVICE_UNAVAILABLE);
  }

  private static WebEndpointResponse<Object> ok(Object body) {
    return response(body, WebEndpointResponse.STATUS_OK);
  }

  private static WebEndpointResponse<Object> badRequest(FieldError fieldError) {
    return error(fieldError, WebEndpointResponse.STATUS_BAD_REQUEST);
  }

  private static WebEndpointResponse<Object> notFound() {
    return error(
        new FieldError("id", "there is no such dead letter"), WebEndpointResponse.STATUS_NOT_FOUND);
  }

  private static WebEndpointResponse<Object> error(FieldError fieldError, int status) {
    return response(new ErrorResponse(List.of(fieldError)), status);
  }

  private static WebEndpointResponse<Object> response(Object body, int status) {
    return new WebEndpointResponse<>(body, status);
  }
}
