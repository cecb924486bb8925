package dev.sluice.core.ingest;

import java.util.BitSet;

/**
 * The statuses of the items of one request, for a response that names each item. The caller passes
 * ownership of the bit sets: neither side modifies them afterwards.
 *
 * @param rejected the positions, in the request of the client, of the invalid items
 * @param filtered the positions of the valid items that the allowlist omits
 */
public record ItemStatuses(BitSet rejected, BitSet filtered) {

  /** The status of one item. */
  public enum ItemStatus {
    /** The item has reached the acknowledgement level of the request. */
    ACCEPTED,
    /** The item is valid, but not on the {@link BodyAllowlist}. */
    FILTERED,
    /** The item is invalid; a retry fails too. */
    REJECTED
  }

  /** The statuses of a request whose items are all accepted. */
  static final ItemStatuses ALL_ACCEPTED = new ItemStatuses(new BitSet(0), new BitSet(0));

  ItemStatus of(int item) {
    if (rejected.get(item)) {
      return ItemStatus.REJECTED;
    }
    return filtered.get(item) ? ItemStatus.FILTERED : ItemStatus.ACCEPTED;
  }
}
