package dev.sluice.api.security;

import dev.sluice.api.security.AccessDecision.DenialReason;
import dev.sluice.api.security.AccessDecision.Denied;
import dev.sluice.api.security.AccessDecision.Granted;
import dev.sluice.core.security.Authenticator;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Decides whether a client may use a route, and finds its tenant. The HTTP filter, the gRPC
 * interceptor and the filter of the management port call it before anything of the body is read.
 * Thread-safe; never blocks.
 */
public final class AccessControl {
  /** The tenant of a public route, which neither reads nor writes logs. */
  private static final String NO_TENANT = "";

  private final @Nullable Authenticator authenticator;
  private final String defaultTenant;
  private final FailureLimiter limiter;
  private final AccessMetrics metrics;

  /** The kinds of servers, for metrics. */
  public enum Transport {
    HTTP,
    GRPC,
    MANAGEMENT
  }

  private AccessControl(
      @Nullable Authenticator authenticator,
      String defaultTenant,
      InstantSource clock,
      AccessMetrics metrics) {
    this.authenticator = authenticator;
    this.defaultTenant = defaultTenant;
    this.limiter = new FailureLimiter(clock);
    this.metrics = metrics;
  }

  /** Creates access control that requires credentials. */
  public static AccessControl of(
      Authenticator authenticator, InstantSource clock, AccessMetrics metrics) {
    return new AccessControl(authenticator, NO_TENANT, clock, metrics);
  }

  /**
   * Creates access control that permits every request without a credential.
   *
   * @param tenant the tenant of all requests
   */
  public static AccessControl off(String tenant) {
    return new AccessControl(null, tenant, InstantSource.system(), (_, _) -> {});
  }

  /**
   * Decides about a request.
   *
   * @param rule the rule of the route; null when the route states none, which denies it
   * @param authorization all values of the header {@code Authorization}
   * @param remote the address of the client; null when it is unknown
   */
  public AccessDecision check(
      @Nullable AccessRule rule,
      List<String> authorization,
      @Nullable InetSocketAddress remote,
      Transport transport) {
    if (rule == null) {
      return deny(transport, DenialReason.FORBIDDEN, null);
    }
    if (authenticator == null || rule == AccessRule.PUBLIC) {
      return new Granted(defaultTenant, null);
    }
    var credential = AuthorizationHeader.credential(authorization);
    if (credential == null) {
      return reject(transport, remote);
    }
    var principal = authenticator.authenticate(credential).orElse(null);
    if (principal == null) {
      return reject(transport, remote);
    }
    return rule.permits(principal)
        ? new Granted(principal.tenant(), principal.name())
        : deny(transport, DenialReason.FORBIDDEN, null);
  }

  private AccessDecision reject(Transport transport, @Nullable InetSocketAddress remote) {
    return limiter.recordFailure(remote)
        ? deny(transport, DenialReason.THROTTLED, FailureLimiter.REFILL_DELAY)
        : deny(transport, DenialReason.UNAUTHENTICATED, null);
  }

  private AccessDecision deny(
      Transport transport, DenialReason reason, @Nullable Duration retryAfter) {
    metrics.recordDenied(transport, reason);
    return new Denied(reason, retryAfter);
  }
}
