package dev.sluice.api.http;

import dev.sluice.core.ingest.IngestResult;
import java.io.Serial;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;

/** A request that gets an answer other than success; each protocol says it in its own words. */
final class RequestRefused extends RuntimeException {
  @Serial private static final long serialVersionUID = 1L;

  private final ProblemType type;
  private final transient @Nullable Duration retryAfter;
  private final transient @Nullable String acceptEncoding;

  private RequestRefused(ProblemType type, String detail, @Nullable Duration retryAfter) {
    this(type, detail, retryAfter, null);
  }

  private RequestRefused(
      ProblemType type,
      String detail,
      @Nullable Duration retryAfter,
      @Nullable String acceptEncoding) {
    super(detail, null, false, false); // an answer, not a fault of ours: no stack
    this.type = type;
    this.retryAfter = retryAfter;
    this.acceptEncoding = acceptEncoding;
  }

  static RequestRefused malformed(String detail) {
    return new RequestRefused(ProblemType.MALFORMED, detail, null);
  }

  static RequestRefused unsupported(String detail) {
    return new RequestRefused(ProblemType.UNSUPPORTED, detail, null);
  }

  /** Unlike an unknown content type it is answered with those that are known. */
  static RequestRefused unknownEncoding(String detail) {
    return new RequestRefused(ProblemType.UNSUPPORTED, detail, null, ContentEncoding.KNOWN);
  }

  static RequestRefused tooLarge(String detail) {
    return new RequestRefused(ProblemType.TOO_LARGE, detail, null);
  }

  static RequestRefused busy(Duration retryAfter) {
    return new RequestRefused(
        ProblemType.NOT_SAFE, "logs cannot be made safe at the moment", retryAfter);
  }

  static RequestRefused tooSlow(Duration within) {
    return new RequestRefused(
        ProblemType.TOO_SLOW, "the body did not come within " + within.toMillis() + " ms", null);
  }

  /** The same in the words of a protocol whose clients come again only when 503 says so. */
  RequestRefused retryable(Duration retryAfter) {
    return new RequestRefused(ProblemType.NOT_SAFE, detail(), retryAfter);
  }

  static RequestRefused underWay(Duration retryAfter) {
    return new RequestRefused(ProblemType.UNDER_WAY, IngestResult.InProgress.REASON, retryAfter);
  }

  static RequestRefused keyReused() {
    return new RequestRefused(
        ProblemType.KEY_REUSED, IngestResult.IdempotencyKeyReused.REASON, null);
  }

  static RequestRefused badFrame(String detail) {
    return new RequestRefused(ProblemType.BAD_FRAME, detail, null);
  }

  static RequestRefused unreadable(Duration retryAfter) {
    return new RequestRefused(
        ProblemType.NOT_READABLE, "logs cannot be read at the moment", retryAfter);
  }

  static RequestRefused tooCostly(String detail) {
    return new RequestRefused(ProblemType.TOO_COSTLY, detail, null);
  }

  ProblemType type() {
    return type;
  }

  HttpStatus status() {
    return type.status();
  }

  String detail() {
    return String.valueOf(getMessage());
  }

  /** What its answer says beside status and body. */
  void headers(HttpHeaders headers) {
    if (retryAfter != null) {
      headers.set(HttpHeaders.RETRY_AFTER, Problem.seconds(retryAfter));
    }
    if (acceptEncoding != null) {
      headers.set(HttpHeaders.ACCEPT_ENCODING, acceptEncoding);
    }
  }

  /** When trying again is worth it; null when it never is. */
  @Nullable Duration retryAfter() {
    return retryAfter;
  }
}
