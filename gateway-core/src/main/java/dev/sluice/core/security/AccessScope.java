package dev.sluice.core.security;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/** A permission of a credential. No scope includes another. */
public enum AccessScope {
  /** Send logs. */
  INGEST,
  /** Query and search logs and templates. */
  READ,
  /** Use the management endpoints. */
  ADMIN;

  /** Returns the name in files and tokens, in lower case. */
  public String text() {
    return name().toLowerCase(Locale.ROOT);
  }

  /**
   * Parses the name of a scope.
   *
   * @throws IllegalArgumentException when there is no such scope; the message lists the scopes
   */
  public static AccessScope parse(String text) {
    for (var scope : values()) {
      if (scope.text().equals(text)) {
        return scope;
      }
    }
    throw new IllegalArgumentException(
        "a scope is not one of "
            + Arrays.stream(values()).map(AccessScope::text).collect(Collectors.joining(", ")));
  }
}
