package dev.sluice.api.security;

import dev.sluice.api.security.AccessControl.Transport;
import dev.sluice.api.security.AccessDecision.DenialReason;

/** The metrics of access control. Thread-safe. */
@FunctionalInterface
public interface AccessMetrics {
  /** Records that a request is denied. */
  void recordDenied(Transport transport, DenialReason reason);
}
