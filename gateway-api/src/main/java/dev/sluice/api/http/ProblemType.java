package dev.sluice.api.http;

import dev.sluice.core.ingest.IngestResult;
import java.util.Locale;
import org.springframework.http.HttpStatus;

/**
 * The kinds of problem details, RFC 9457. A kind's URI is its page: {@code /api/problems/} and its
 * name.
 */
enum ProblemType {
  MALFORMED(
      HttpStatus.BAD_REQUEST,
      "The request cannot be read: no JSON, NDJSON or protobuf of the kind it says it is, or a"
          + " parameter that is unknown or has no valid value. `detail` says where. Sending it again"
          + " unchanged is in vain.",
      "malformed JSON at line 1, column 9: Unexpected end-of-input"),
  NOTHING_ACCEPTED(
      HttpStatus.BAD_REQUEST,
      "There was no log in the request, or none of them can ever be stored; `rejected` has the"
          + " verdicts.",
      "all 1 logs were rejected"),
  NOT_FOUND(
      HttpStatus.NOT_FOUND,
      "There is nothing at this path, or no template has this id.",
      "nothing is here"),
  METHOD_NOT_ALLOWED(
      HttpStatus.METHOD_NOT_ALLOWED,
      "The path is right, the method is not; the header `Allow` names those that are.",
      "allowed here: GET, POST"),
  REQUEST_TIMEOUT(
      HttpStatus.REQUEST_TIMEOUT,
      "The body began to come and did not come to its end in time. Nothing was taken; the connection"
          + " is ended.",
      "the body did not come within 30000 ms"),
  REQUEST_IN_PROGRESS(
      HttpStatus.CONFLICT,
      "A request with the same `Idempotency-Key` and the same body is being taken at this moment. Send"
          + " it again after `Retry-After` seconds to learn what became of it.",
      IngestResult.InProgress.REASON),
  TOO_LARGE(
      HttpStatus.CONTENT_TOO_LARGE,
      "The request is over a limit of whole requests: its size on the wire or unpacked, its number"
          + " of logs, or its size when each log carries its resource. Nothing was taken. Smaller"
          + " requests with the same logs may do.",
      "body is larger than the limit of 67108864 bytes"),
  UNSUPPORTED(
      HttpStatus.UNSUPPORTED_MEDIA_TYPE,
      "The content type or the content encoding is not one that is understood; `detail` names those"
          + " that are.",
      "content type is missing"),
  IDEMPOTENCY_KEY_REUSED(
      HttpStatus.UNPROCESSABLE_CONTENT,
      "The `Idempotency-Key` was used for a request with another body or to another entrance, and is"
          + " remembered. Nothing was taken. A new request needs a new key.",
      IngestResult.IdempotencyKeyReused.REASON),
  BAD_FRAME(
      HttpStatus.UNPROCESSABLE_CONTENT,
      "A frame of a write-ahead log is not what the manifest says: it is cut off, or its checksum or"
          + " its number of logs is another, or a line in it cannot be read. `detail` names it. Nothing"
          + " of the request was taken.",
      "frame 2 of seg-000001.wal.gz: crc32 is 1a2b3c4d instead of 4d3c2b1a"),
  QUERY_TOO_EXPENSIVE(
      HttpStatus.UNPROCESSABLE_CONTENT,
      "The query needs more time or memory than a query is given. A shorter span of time or more"
          + " conditions may do.",
      "more time than a query may take"),
  SPOOL_UNAVAILABLE(
      HttpStatus.SERVICE_UNAVAILABLE,
      "The logs could not be made safe: the spool is away or full, or too much is in flight. Nothing"
          + " is known to be taken. Send the same request again after `Retry-After` seconds.",
      "logs cannot be made safe at the moment"),
  STORE_UNAVAILABLE(
      HttpStatus.SERVICE_UNAVAILABLE,
      "Stored logs cannot be read: the database is away, or too many queries are under way. Ask"
          + " again after `Retry-After` seconds.",
      "logs cannot be read at the moment");

  private final HttpStatus status;
  private final String description;
  private final String example;

  ProblemType(HttpStatus status, String description, String example) {
    this.status = status;
    this.description = description;
    this.example = example;
  }

  HttpStatus status() {
    return status;
  }

  /** When it happens and what to do, for a person. */
  String description() {
    return description;
  }

  /** A {@code detail} it may have. */
  String example() {
    return example;
  }

  private String slug() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  String uri() {
    return "/api/problems/" + slug();
  }

  String title() {
    return name().charAt(0) + name().substring(1).toLowerCase(Locale.ROOT).replace('_', ' ');
  }
}
