package dev.sluice.api.ops;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.annotation.JsonRawValue;
import dev.sluice.api.decode.OtlpJson;
import dev.sluice.api.decode.OtlpJsonText;
import dev.sluice.api.decode.Undecodable;
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
  private static final int PAGE = 100;
  private static final int MAX_PAGE = 1000;

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
  public record Page(
      long letters, long capacity, List<Summary> deadLetters, @Nullable String next) {}

  /**
   * @param id of the letter
   * @param logId of the record, as it will be in the store
   * @param reason why the store refused it
   * @param at when it was given up
   * @param bytes of the record, its resource and its scope
   */
  public record Summary(
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
  public record Whole(
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
  public record Done(String id) {}

  /** Nothing was done, and why. */
  public record Refused(List<Reason> reasons) {}

  /**
   * @param field what is wrong in the record or in the question; {@code spool} when it is neither
   */
  public record Reason(String field, String reason) {}

  /**
   * @param after id of the letter after which to go on
   * @param limit letters at most, from 1 to 1000; 100 when not said
   */
  @ReadOperation
  public Mono<WebEndpointResponse<Object>> list(@Nullable String after, @Nullable Integer limit) {
    int most = limit == null ? PAGE : limit;
    if (most < 1 || most > MAX_PAGE) {
      return Mono.just(bad(new Reason("limit", "is " + most + ", from 1 to " + MAX_PAGE)));
    }
    return answer(
        () -> {
          var room = deadLetterQueue.capacity();
          List<DeadLetterItem> page;
          try {
            page = deadLetterQueue.list(after, most);
          } catch (IllegalArgumentException _) { // else a mistake would look like an outage
            return bad(new Reason("after", "is not the id of a dead letter"));
          }
          return ok(
              new Page(
                  room.used(),
                  room.max(),
                  page.stream().map(DeadLettersEndpoint::summary).toList(),
                  page.size() < most ? null : page.getLast().id()));
        });
  }

  @ReadOperation
  public Mono<WebEndpointResponse<Object>> show(@Selector String id) {
    return answer(
        () ->
            deadLetterQueue
                .find(id)
                .map(kept -> ok(whole(kept)))
                .orElseGet(DeadLettersEndpoint::unknown));
  }

  /**
   * Puts the record back into the spool.
   *
   * @param log the record as it should be, OTLP in JSON, as text; as it is when not given
   */
  @WriteOperation
  public Mono<WebEndpointResponse<Object>> replay(@Selector String id, @Nullable String log) {
    return answer(
        () -> {
          var kept = deadLetterQueue.find(id);
          if (kept.isEmpty()) {
            return unknown();
          }
          var was = kept.get().letter().log();
          LogBatch again;
          try {
            again = log == null ? again(was, was.expandedBytes(), was.otlp()) : corrected(was, log);
          } catch (Unfit e) {
            return bad(e.reason);
          }
          if (!deadLetterQueue.replay(id, again)) {
            return unknown();
          }
          LOG.info(
              "dead letter {} was put back{}: log {}",
              id,
              log == null ? "" : " corrected",
              was.firstId().toHex());
          return ok(new Done(id));
        });
  }

  @DeleteOperation
  public Mono<WebEndpointResponse<Object>> purge(@Selector String id) {
    return answer(
        () -> {
          var kept = deadLetterQueue.find(id);
          if (kept.isEmpty() || !deadLetterQueue.purge(id)) {
            return unknown();
          }
          LOG.info(
              "dead letter {} was thrown away: log {}",
              id,
              kept.get().letter().log().firstId().toHex());
          return ok(new Done(id));
        });
  }

  /** With an append id of its own: as often as it is put back, it is another append. */
  private static LogBatch again(LogBatch was, int expandedBytes, byte[] otlp) {
    return new LogBatch(
        UUID.randomUUID(),
        was.tenant(),
        was.receivedNanos(),
        was.firstId(),
        1,
        expandedBytes,
        new BitSet(0),
        otlp);
  }

  private LogBatch corrected(LogBatch was, String json) throws Unfit {
    var faults = new ArrayList<Reason>();
    try {
      byte[] text = json.getBytes(UTF_8);
      if (text.length > limits.maxRequestBytes()) {
        throw new Unfit("log", text.length + " bytes, limit " + limits.maxRequestBytes());
      }
      var payload = OtlpJson.read(text, limits);
      var walker = new OtlpWalker(limits);
      walker.walk(payload.bytes(), 0, payload.length(), verdicts(faults));
      if (!faults.isEmpty()) {
        throw new Unfit(faults.getFirst());
      }
      if (walker.records() != 1) {
        throw new Unfit("log", "has " + walker.records() + " log records, must have one");
      }
      if (walker.expandedBytes() > limits.maxExpandedBytes()) {
        throw new Unfit(
            "log", walker.expandedBytes() + " bytes, limit " + limits.maxExpandedBytes());
      }
      return again(
          was, (int) walker.expandedBytes(), Arrays.copyOf(payload.bytes(), payload.length()));
    } catch (Undecodable e) {
      throw new Unfit("log", e.detail());
    } catch (MalformedOtlpException e) {
      throw new Unfit("log", String.valueOf(e.getMessage()));
    }
  }

  private static OtlpRecordVisitor verdicts(List<Reason> into) {
    return new OtlpRecordVisitor() {
      @Override
      public void visitRecord(OtlpRecord log) {}

      @Override
      public void visitRejected(int ordinal, String field, String reason) {
        into.add(new Reason(field, reason));
      }
    };
  }

  /** Not to be stored as it is. */
  private static final class Unfit extends Exception {
    @Serial private static final long serialVersionUID = 1L;
    private final transient Reason reason;

    Unfit(Reason reason) {
      super(reason.reason(), null, false, false);
      this.reason = reason;
    }

    Unfit(String field, String reason) {
      this(new Reason(field, reason));
    }
  }

  private static Summary summary(DeadLetterItem kept) {
    var letter = kept.letter();
    var log = letter.log();
    return new Summary(
        kept.id(),
        log.firstId().toHex(),
        log.tenant(),
        service(log),
        received(log),
        letter.reason(),
        letter.deadLetteredAt(),
        log.otlp().length);
  }

  private static Whole whole(DeadLetterItem kept) {
    var summary = summary(kept);
    return new Whole(
        summary.id(),
        summary.logId(),
        summary.tenant(),
        summary.service(),
        summary.received(),
        summary.reason(),
        summary.at(),
        summary.bytes(),
        OtlpJsonText.of(kept.letter().log().otlp()));
  }

  private static Instant received(LogBatch log) {
    return Instant.ofEpochSecond(0, log.receivedNanos());
  }

  /** What the column of that name will say; empty when there is none. */
  private static String service(LogBatch log) {
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
                  name[0] = service(record);
                }

                @Override
                public void visitRejected(int ordinal, String field, String reason) {}
              });
    } catch (MalformedOtlpException _) {
      return "";
    }
    return name[0];
  }

  private static String service(OtlpRecord record) {
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

  private static Mono<WebEndpointResponse<Object>> answer(
      Supplier<WebEndpointResponse<Object>> question) {
    return Mono.fromSupplier(
            () -> {
              try {
                return question.get();
              } catch (RuntimeException e) {
                LOG.warn("dead letters are out of reach: {}", e.toString());
                return refused(
                    new Reason("spool", "is out of reach"),
                    WebEndpointResponse.STATUS_SERVICE_UNAVAILABLE);
              }
            })
        .subscribeOn(Schedulers.boundedElastic());
  }

  private static WebEndpointResponse<Object> ok(Object body) {
    return status(body, WebEndpointResponse.STATUS_OK);
  }

  private static WebEndpointResponse<Object> bad(Reason reason) {
    return refused(reason, WebEndpointResponse.STATUS_BAD_REQUEST);
  }

  private static WebEndpointResponse<Object> unknown() {
    return refused(
        new Reason("id", "there is no such dead letter"), WebEndpointResponse.STATUS_NOT_FOUND);
  }

  private static WebEndpointResponse<Object> refused(Reason reason, int status) {
    return status(new Refused(List.of(reason)), status);
  }

  private static WebEndpointResponse<Object> status(Object body, int status) {
    return new WebEndpointResponse<>(body, status);
  }
}
