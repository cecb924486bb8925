package dev.sluice.core.security;

import java.util.EnumSet;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * An authenticated client.
 *
 * @param name the identity for logs and metrics; it has no secret
 * @param tenant the tenant whose logs the client may write and read; {@link #ALL_TENANTS} for an
 *     operator of the gateway, who has the scope admin and no other
 * @param scopes the permissions, at least one
 */
public record Principal(String name, String tenant, Set<AccessScope> scopes) {
  /** The tenant of an operator. It is not a valid name of a tenant. */
  private static final String ALL_TENANTS = "*";

  private static final Set<AccessScope> ADMIN_ONLY = Set.of(AccessScope.ADMIN);
  private static final Pattern TENANT = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,63}");

  /**
   * Creates a principal.
   *
   * @throws IllegalArgumentException when a value is invalid, with a message for the operator
   */
  public Principal {
    if (scopes.isEmpty()) {
      throw new IllegalArgumentException("scopes is empty");
    }
    scopes = Set.copyOf(EnumSet.copyOf(scopes));
    boolean operator = tenant.equals(ALL_TENANTS);
    if (!operator && !TENANT.matcher(tenant).matches()) {
      throw new IllegalArgumentException(
          "tenant is not 1 to 64 letters, digits, dots, underscores and hyphens");
    }
    // the management endpoints show all tenants; a log has one tenant, and a query reads one
    if (operator ? !scopes.equals(ADMIN_ONLY) : scopes.contains(AccessScope.ADMIN)) {
      throw new IllegalArgumentException(
          "the scope admin is valid alone and with the tenant *, which has no other scope");
    }
  }
}
