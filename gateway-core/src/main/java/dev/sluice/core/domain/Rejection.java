package dev.sluice.core.domain;

import static java.util.Objects.requireNonNull;

/**
 * The verdict on one record that can never be stored.
 *
 * @param index position of the record in its request, from 0, in the order in which it was sent
 * @param field what was wrong, in the words of the protocol it came by
 * @param reason why, with the value's size or kind and the limit; never the value itself, which may
 *     be secret or huge
 */
public record Rejection(int index, String field, String reason) {
  public Rejection {
    if (index < 0) {
      throw new IllegalArgumentException("index is " + index);
    }
    requireNonNull(field, "field");
    requireNonNull(reason, "reason");
  }
}
