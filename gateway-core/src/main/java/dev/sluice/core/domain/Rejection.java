package dev.sluice.core.domain;

import static java.util.Objects.requireNonNull;

/**
 * The rejection of one record, which is permanent: a retry of the same record fails too.
 *
 * @param index the position of the record in its request, from 0, in the order of the request
 * @param field the invalid field, by its name in the protocol of the request
 * @param reason the reason, with the size or kind of the value and the limit; never the value
 *     itself, which may be secret or huge
 */
public record Rejection(int index, String field, String reason) {
  public Rejection {
    if (index < 0) {
      throw new IllegalArgumentException("index is " + index + ", must not be negative");
    }
    requireNonNull(field, "field");
    requireNonNull(reason, "reason");
  }
}
