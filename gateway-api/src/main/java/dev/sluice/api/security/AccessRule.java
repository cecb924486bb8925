package dev.sluice.api.security;

import dev.sluice.core.security.AccessScope;
import dev.sluice.core.security.Principal;

/** The clients that may use a route or a method, stated where the route is registered. */
public enum AccessRule {
  /** Clients without a credential: health only. */
  PUBLIC,
  /** Clients with any valid credential: pages without data of a tenant. */
  AUTHENTICATED,
  /** Clients with the scope ingest. */
  INGEST,
  /** Clients with the scope read. */
  READ,
  /** Operators: clients with the scope admin. */
  ADMIN;

  /** Whether this rule permits an authenticated client. */
  boolean permits(Principal principal) {
    return switch (this) {
      case PUBLIC, AUTHENTICATED -> true;
      case INGEST -> principal.scopes().contains(AccessScope.INGEST);
      case READ -> principal.scopes().contains(AccessScope.READ);
      case ADMIN -> principal.scopes().contains(AccessScope.ADMIN);
    };
  }
}
