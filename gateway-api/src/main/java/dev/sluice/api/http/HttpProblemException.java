package dev.sluice.api.http;

import dev.sluice.core.ingest.IngestResult;
import java.io.Serial;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;

/** A request that gets an answer other than success; each protocol says it in its own words. */
final class HttpProblemException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1L;

  private final ProblemType type;
  private final transient @Nullable Duration retryAfter;
  private final transient @Nullable String acceptEncoding;

  private HttpProblemException(ProblemType type, String detail, @Nullable Duration retryAfter) {
    this(type, detail, retryAfter, null);
  }

  private HttpProblemException(
      ProblemType type,
      String detail,
      @Nullable Duration retryAfter,
      @Nullable String acceptEncoding) {
    super(detail, null, false, false); // an answer, not a fault of ours: no stack
    this.type = type;
    this.retryAfter = retryAfter;
    this.acceptEncoding = acceptEncoding;
  }

  static HttpProblemException malformed(String detail) {
    return new HttpProblemException(ProblemType.MALFORMED, detail, null);
  }

  static HttpProblemException unsupported(String detail) {
    return new HttpProblemException(ProblemType.UNSUPPORTED, detail, null);
  }

  /** Unlike an unknown content type it is answered with those that are known. */
  static HttpProblemException unsupportedEncoding(String detail) {
    return new HttpProblemException(
        ProblemType.UNSUPPORTED, detail, null, ContentEncoding.ACCEPT_ENCODING);
  }

  static HttpProblemException tooLarge(String detail) {
    return new HttpProblemException(ProblemType.TOO_LARGE, detail, null);
  }

  static HttpProblemException spoolUnavailable(Duration retryAfter) {
    return new HttpProblemException(
        ProblemType.SPOOL_UNAVAILABLE, "logs cannot be made safe at the moment", retryAfter);
  }

  static HttpProblemException requestTimeout(Duration timeout) {
    return new HttpProblemException(
        ProblemType.REQUEST_TIMEOUT,
        "the body did not come within " + timeout.toMillis() + " ms",
        null);
  }

  /** The same in the words of a protocol whose clients come again only when 503 says so. */
  HttpProblemException asSpoolUnavailable(Duration retryAfter) {
    return new HttpProblemException(ProblemType.SPOOL_UNAVAILABLE, detail(), retryAfter);
  }

  static HttpProblemException requestInProgress(Duration retryAfter) {
    return new HttpProblemException(
        ProblemType.REQUEST_IN_PROGRESS, IngestResult.InProgress.REASON, retryAfter);
  }

  static HttpProblemException idempotencyKeyReused() {
    return new HttpProblemException(
        ProblemType.IDEMPOTENCY_KEY_REUSED, IngestResult.IdempotencyKeyReused.REASON, null);
  }

  static HttpProblemException badFrame(String detail) {
    return new HttpProblemException(ProblemType.BAD_FRAME, detail, null);
  }

  static HttpProblemException storeUnavailable(Duration retryAfter) {
    return new HttpProblemException(
        ProblemType.STORE_UNAVAILABLE, "logs cannot be read at the moment", retryAfter);
  }

  static HttpProblemException queryTooExpensive(String detail) {
    return new HttpProblemException(ProblemType.QUERY_TOO_EXPENSIVE, detail, null);
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
  void writeHeaders(HttpHeaders headers) {
    if (retryAfter != null) {
      headers.set(HttpHeaders.RETRY_AFTER, Problem.retryAfterSeconds(retryAfter));
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
