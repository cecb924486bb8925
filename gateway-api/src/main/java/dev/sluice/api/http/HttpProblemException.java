package dev.sluice.api.http;

import dev.sluice.api.security.AccessDecision.Denied;
import dev.sluice.core.ingest.IngestResult;
import java.io.Serial;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;

/** A request fails with this problem; each protocol formats the response in its own way. */
public final class HttpProblemException extends RuntimeException {
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
    super(detail, null, false, false); // a response, not a bug: no stack trace
    this.type = type;
    this.retryAfter = retryAfter;
    this.acceptEncoding = acceptEncoding;
  }

  public static HttpProblemException malformed(String detail) {
    return new HttpProblemException(ProblemType.MALFORMED, detail, null);
  }

  public static HttpProblemException unsupported(String detail) {
    return new HttpProblemException(ProblemType.UNSUPPORTED, detail, null);
  }

  /** An unsupported content encoding; unlike for a content type, a header lists the known ones. */
  static HttpProblemException unsupportedEncoding(String detail) {
    return new HttpProblemException(
        ProblemType.UNSUPPORTED, detail, null, ContentEncoding.ACCEPT_ENCODING);
  }

  static HttpProblemException tooLarge(String detail) {
    return new HttpProblemException(ProblemType.TOO_LARGE, detail, null);
  }

  static HttpProblemException spoolUnavailable(Duration retryAfter) {
    return new HttpProblemException(
        ProblemType.SPOOL_UNAVAILABLE, "logs cannot be accepted at the moment", retryAfter);
  }

  static HttpProblemException requestTimeout(Duration timeout) {
    return new HttpProblemException(
        ProblemType.REQUEST_TIMEOUT,
        "the body was not complete within " + timeout.toMillis() + " ms",
        null);
  }

  /** Returns this problem as 503, for a protocol whose clients retry only after 503. */
  public HttpProblemException asSpoolUnavailable(Duration retryAfter) {
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

  static HttpProblemException misdirected() {
    return new HttpProblemException(
        ProblemType.MISDIRECTED,
        "the header Host names no host of this gateway; see sluice.security.allowed-hosts",
        null);
  }

  static HttpProblemException crossSite() {
    return new HttpProblemException(
        ProblemType.CROSS_SITE, "the request comes from a web page of another site", null);
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

  /** A request that access control denies. */
  static HttpProblemException denied(Denied denied) {
    var type =
        switch (denied.reason()) {
          case UNAUTHENTICATED -> ProblemType.UNAUTHENTICATED;
          case FORBIDDEN -> ProblemType.FORBIDDEN;
          case THROTTLED -> ProblemType.THROTTLED;
        };
    return new HttpProblemException(type, denied.reason().message(), denied.retryAfter());
  }

  public ProblemType type() {
    return type;
  }

  public HttpStatus status() {
    return type.status();
  }

  public String detail() {
    return String.valueOf(getMessage());
  }

  /** Writes the headers that the response has besides its status and body. */
  public void writeHeaders(HttpHeaders headers) {
    if (retryAfter != null) {
      headers.set(HttpHeaders.RETRY_AFTER, Problem.retryAfterSeconds(retryAfter));
    }
    if (type == ProblemType.UNAUTHENTICATED) { // RFC 9110 requires a challenge
      headers.add(HttpHeaders.WWW_AUTHENTICATE, "Bearer realm=\"sluice\"");
      headers.add(HttpHeaders.WWW_AUTHENTICATE, "Basic realm=\"sluice\"");
    }
    if (acceptEncoding != null) {
      headers.set(HttpHeaders.ACCEPT_ENCODING, acceptEncoding);
    }
  }

  /** Returns the delay after which a retry can succeed; null when it never can. */
  public @Nullable Duration retryAfter() {
    return retryAfter;
  }
}
