package dev.sluice.api.security;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The decision about one request. */
public sealed interface AccessDecision {
  /**
   * The request is permitted.
   *
   * @param tenant the tenant of the request
   * @param principal the name of the client; null when it has not authenticated: access control is
   *     off, or the route is public
   */
  record Granted(String tenant, @Nullable String principal) implements AccessDecision {}

  /**
   * The request is denied.
   *
   * @param retryAfter the delay after which a repetition may succeed; null for a permanent denial
   */
  record Denied(DenialReason reason, @Nullable Duration retryAfter) implements AccessDecision {}

  /** The reason of a denial, as far as the client may know it. */
  enum DenialReason {
    UNAUTHENTICATED("a valid credential is required"),
    FORBIDDEN("the credential does not permit this request"),
    THROTTLED("too many requests without a valid credential");

    private final String message;

    DenialReason(String message) {
      this.message = message;
    }

    /** Returns the message for the client. */
    public String message() {
      return message;
    }
  }
}
