package dev.sluice.api.http;

import dev.sluice.api.security.AccessDecision.DenialReason;
import dev.sluice.core.ingest.IngestResult;
import java.util.Locale;
import org.springframework.http.HttpStatus;

/**
 * The problem types (RFC 9457). The URI of a type, {@code /api/problems/} with its name, is a page
 * that describes it.
 */
public enum ProblemType {
  MALFORMED(
      HttpStatus.BAD_REQUEST,
      "The gateway cannot decode the request: the body is not valid JSON, NDJSON or protobuf of its"
          + " content type, or a parameter is unknown or has an invalid value. `detail` names the"
          + " error. A retry of the unchanged request fails again.",
      "malformed JSON at line 1, column 9: Unexpected end-of-input"),
  NOTHING_ACCEPTED(
      HttpStatus.BAD_REQUEST,
      "The request has no log, or the gateway rejected all of its logs permanently; `rejected` has"
          + " the reasons.",
      "all 1 logs were rejected"),
  UNAUTHENTICATED(
      HttpStatus.UNAUTHORIZED,
      "The request has no valid credential. The gateway does not state which part is wrong: the key"
          + " or token may be missing, unknown, expired or revoked.",
      DenialReason.UNAUTHENTICATED.message()),
  FORBIDDEN(
      HttpStatus.FORBIDDEN,
      "The credential is valid, and its scopes do not permit the request: sending logs needs the"
          + " scope `ingest`, queries need `read`.",
      DenialReason.FORBIDDEN.message()),
  CROSS_SITE(
      HttpStatus.FORBIDDEN,
      "A web page of another site sent the request, as its header `Origin` or `Sec-Fetch-Site`"
          + " shows. The gateway accepts logs only from pages that it serves itself and from clients"
          + " other than browsers.",
      "the request comes from a web page of another site"),
  NOT_FOUND(
      HttpStatus.NOT_FOUND,
      "No resource has this path, or no template has this id.",
      "no resource has this path"),
  METHOD_NOT_ALLOWED(
      HttpStatus.METHOD_NOT_ALLOWED,
      "The resource does not support this method; the header `Allow` lists the supported methods.",
      "allowed methods: GET, POST"),
  REQUEST_TIMEOUT(
      HttpStatus.REQUEST_TIMEOUT,
      "The request body was not complete in time. The gateway accepted no log of the request and"
          + " closes the connection.",
      "the body was not complete within 30000 ms"),
  REQUEST_IN_PROGRESS(
      HttpStatus.CONFLICT,
      "A request with the same `Idempotency-Key` and the same body is in progress. Send it again"
          + " after `Retry-After` seconds to get its result.",
      IngestResult.InProgress.REASON),
  TOO_LARGE(
      HttpStatus.CONTENT_TOO_LARGE,
      "The request exceeds a request limit: its size on the wire or decompressed, its number of"
          + " logs, or its size when each log is counted with its resource. The gateway accepted no"
          + " log of the request. Send the same logs in smaller requests.",
      "body is larger than the limit of 67108864 bytes"),
  UNSUPPORTED(
      HttpStatus.UNSUPPORTED_MEDIA_TYPE,
      "The gateway does not support the content type or the content encoding; `detail` lists the"
          + " supported ones.",
      "content type is missing"),
  MISDIRECTED(
      HttpStatus.MISDIRECTED_REQUEST,
      "The header `Host` has a name that is not one of this gateway. Use its IP address or"
          + " `localhost`, or add the name to `sluice.security.allowed-hosts`.",
      "the header Host names no host of this gateway; see sluice.security.allowed-hosts"),
  IDEMPOTENCY_KEY_REUSED(
      HttpStatus.UNPROCESSABLE_CONTENT,
      "The `Idempotency-Key` was used for a request with another body or protocol, and has not"
          + " expired. The gateway accepted no log of the request. A new request needs a new key.",
      IngestResult.IdempotencyKeyReused.REASON),
  BAD_FRAME(
      HttpStatus.UNPROCESSABLE_CONTENT,
      "A frame of a write-ahead log differs from the manifest: it is truncated, has another"
          + " checksum or another number of logs, or has a malformed line. `detail` names the"
          + " frame. The gateway accepted no log of the request.",
      "frame 2 of seg-000001.wal.gz: crc32 is 1a2b3c4d instead of 4d3c2b1a"),
  QUERY_TOO_EXPENSIVE(
      HttpStatus.UNPROCESSABLE_CONTENT,
      "The query exceeds the time or the memory of one query. Use a shorter time range or more"
          + " conditions.",
      "more time than a query may take"),
  THROTTLED(
      HttpStatus.TOO_MANY_REQUESTS,
      "Too many requests without a valid credential came from the address of the client. A request"
          + " with a valid credential is still accepted.",
      DenialReason.THROTTLED.message()),
  SPOOL_UNAVAILABLE(
      HttpStatus.SERVICE_UNAVAILABLE,
      "The gateway cannot acknowledge the logs: the spool is unavailable or full, or too many"
          + " requests are in flight. Some logs may still be stored. Send the same request again"
          + " after `Retry-After` seconds.",
      "logs cannot be accepted at the moment"),
  STORE_UNAVAILABLE(
      HttpStatus.SERVICE_UNAVAILABLE,
      "The gateway cannot read stored logs: ClickHouse is unavailable, or too many queries run."
          + " Send the request again after `Retry-After` seconds.",
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

  /** Returns the cause and the remedy, for the page of the type. */
  String description() {
    return description;
  }

  /** Returns an example of {@code detail}. */
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
