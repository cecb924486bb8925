package dev.sluice.core.security;

import java.util.Optional;

/** Finds the principal of a credential. Thread-safe. */
@FunctionalInterface
public interface Authenticator {
  /**
   * Authenticates a client. Must not block: it runs on an event loop.
   *
   * @param credential the credential as the client sent it
   * @return the principal; empty when the credential is invalid, without the reason, which would
   *     help to guess another
   */
  Optional<Principal> authenticate(String credential);
}
