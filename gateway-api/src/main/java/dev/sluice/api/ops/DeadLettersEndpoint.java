package dev.sluice.api.ops;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.annotation.JsonRawValue;
import dev.sluice.api.decode.DecodeException;
import dev.sluice.api.decode.OtlpJsonDecoder;
import dev.sluice.api.decode.OtlpJsonEncoder;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.otlp.AnyValueFormatter;
import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.MalformedOtlpException;
import dev.sluice.core.otlp.OtlpRecord;
import dev.sluice.core.otlp.OtlpRecordVisitor;
import dev.sluice.core.otlp.OtlpWalker;
import dev.sluice.core.port.DeadLetterQueue;
import dev.sluice.core.port.DeadLetterQueue.DeadLetterItem;
import java.io.Serial;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.UUID;
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
 * {@code /actuator/deadletters}: the records that the store refused, for a person to look at, to
 * correct and to put back, or to throw away. 503 while the spool is away.
 */
@Endpoint(id = "deadletters")
public final class DeadLettersEndpoint {
  private static final Logger LOG = LoggerFactory.getLogger(DeadLettersEndpoint.class);
  private static final int DEFAULT_PAGE_SIZE = 100;
  private static final int MAX_PAGE_SIZE = 1000;

  private final DeadLetterQueue deadLetterQueue;
  private final Limits limits;

  /**
   * @param limits what a corrected record must obey, as any other
   */
  public DeadLettersEndpoint(DeadLetterQueue deadLetterQueue, Limits limits) {
    this.deadLetterQueue = deadLetterQueue;
    this.limits = limits;
  }

  /**
   * @param next to ask for as {@code after}; null after the last page
   */
  public record DeadLetterPage(
      long letters, long capacity, List<DeadLetterSummary> deadLetters, @Nullable String next) {}

  /**
   * @param id of the letter
   * @param logId of the record, as it will be in the store
   * @param reason why the store refused it
   * @param at when it was given up
   * @param bytes of the record, its resource and its scope
   */
  public record DeadLetterSummary(
      String id,
      String logId,
      String tenant,
      String service,
      Instant received,
      String reason,
      Instant at,
      int bytes) {}

  /**
   * @param log the record as OTLP in JSON, an {@code ExportLogsServiceRequest}
   */
  public record DeadLetterDetail(
      String id,
      String logId,
      String tenant,
      String service,
      Instant received,
      String reason,
      Instant at,
      int bytes,
      @JsonRawValue String log) {}

  /** The letter of this id is no more: it was put back or thrown away. */
  public record RemovedDeadLetter(String id) {}

  /** Nothing was done, and why. */
  public record ErrorResponse(List<FieldError> reasons) {}

  /**
   * @param field what is wrong in the record or in the question; {@code spool} when it is neither
   */
  public record FieldError(String field, String reason) {}

  /**
   * @param after id of the letter after which to go on
   * @param limit letters at most, from 1 to 1000; 100 when not said
   */
  @ReadOperation
  public Mono<WebEndpointResponse<Object>> list(@Nullable String after, @Nullable Integer limit) {
    int pageSize = limit == null ? DEFAULT_PAGE_SIZE : limit;
    if (pageSize < 1 || pageSize > MAX_PAGE_SIZE) {
      return Mono.just(
          badRequest(new FieldError("limit", "is " + pageSize + ", from 1 to " + MAX_PAGE_SIZE)));
    }
    return respond(
        () -> {
          var capacity = deadLetterQueue.capacity();
          List<DeadLetterItem> page;
          try {
            page = deadLetterQueue.list(after, pageSize);
          } catch (IllegalArgumentException _) { // else a mistake would look like an outage
            return badRequest(new FieldError("after", "is not the id of a dead letter"));
          }
          return ok(
              new DeadLetterPage(
                  capacity.used(),
                  capacity.max(),
                  page.stream().map(DeadLettersEndpoint::summary).toList(),
                  page.size() < pageSize ? null : page.getLast().id()));
        });
  }

  @ReadOperation
  public Mono<WebEndpointResponse<Object>> show(@Selector String id) {
    return respond(
        () ->
            deadLetterQueue
                .find(id)
                .map(item -> ok(detail(item)))
                .orElseGet(DeadLettersEndpoint::notFound));
  }

  /**
   * Puts the record back into the spool.
   *
   * @param log the record as it should be, OTLP in JSON, as text; as it is when not given
   */
  @WriteOperation
  public Mono<WebEndpointResponse<Object>> replay(@Selector String id, @Nullable String log) {
    return respond(
        () -> {
          var item = deadLetterQueue.find(id);
          if (item.isEmpty()) {
            return notFound();
          }
          var original = item.get().letter().log();
          LogBatch batch;
          try {
            batch =
                log == null
                    ? withNewAppendId(original, original.expandedBytes(), original.otlp())
                    : corrected(original, log);
          } catch (InvalidRequestException e) {
            return badRequest(e.error);
          }
          if (!deadLetterQueue.replay(id, batch)) {
            return notFound();
          }
          LOG.info(
              "dead letter {} was put back{}: log {}",
              id,
              log == null ? "" : " corrected",
              original.firstId().toHex());
          return ok(new RemovedDeadLetter(id));
        });
  }

  @DeleteOperation
  public Mono<WebEndpointResponse<Object>> purge(@Selector String id) {
    return respond(
        () -> {
          var item = deadLetterQueue.find(id);
          if (item.isEmpty() || !deadLetterQueue.purge(id)) {
            return notFound();
          }
          LOG.info(
              "dead letter {} was thrown away: log {}",
              id,
              item.get().letter().log().firstId().toHex());
          return ok(new RemovedDeadLetter(id));
        });
  }

  /** With an append id of its own: as often as it is put back, it is another append. */
  private static LogBatch withNewAppendId(LogBatch original, int expandedBytes, byte[] otlp) {
    return new LogBatch(
        UUID.randomUUID(),
        original.tenant(),
        original.receivedNanos(),
        original.firstId(),
        1,
        expandedBytes,
        new BitSet(0),
        otlp);
  }

  private LogBatch corrected(LogBatch original, String json) throws InvalidRequestException {
    var errors = new ArrayList<FieldError>();
    try {
      byte[] text = json.getBytes(UTF_8);
      if (text.length > limits.maxRequestBytes()) {
        throw new InvalidRequestException(
            "log", text.length + " bytes, limit " + limits.maxRequestBytes());
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
            "log", walker.expandedBytes() + " bytes, limit " + limits.maxExpandedBytes());
      }
      return withNewAppendId(
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

  /** Not to be stored as it is. */
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
        item.id(),
        log.firstId().toHex(),
        log.tenant(),
        serviceName(log),
        receivedAt(log),
        letter.reason(),
        letter.deadLetteredAt(),
        log.otlp().length);
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
        summary.at(),
        summary.bytes(),
        OtlpJsonEncoder.encode(item.letter().log().otlp()));
  }

  private static Instant receivedAt(LogBatch log) {
    return Instant.ofEpochSecond(0, log.receivedNanos());
  }

  /** What the column of that name will say; empty when there is none. */
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
                LOG.warn("dead letters are out of reach: {}", e.toString());
                return error(
                    new FieldError("spool", "is out of reach"),
                    WebEndpointResponse.STATUS_SERVICE_UNAVAILABLE);
              }
            })
        .subscribeOn(Schedulers.boundedElastic());
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
