package dev.sluice.redaction;

/** The treatment of a sensitive value. */
public enum RedactionAction {
  /** It is left out. */
  DROP,
  /** The name of the rule replaces it, such as {@code [email]}. */
  MASK,
  /**
   * The name of the rule and a keyed hash replace it, such as {@code [email:9f86d081884c7d65]}, so
   * that equal values stay equal without being readable.
   */
  HASH
}
