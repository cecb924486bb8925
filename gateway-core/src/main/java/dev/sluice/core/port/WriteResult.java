package dev.sluice.core.port;

/** The result of a write of dictionary entries. */
public sealed interface WriteResult {
  /** All entries are stored, as durably as logs. */
  record Written() implements WriteResult {}

  /** The write failed or has an unknown outcome: some entries may be stored. A retry is safe. */
  record Retryable(String reason) implements WriteResult {}

  /** The entries are valid, but the tables of the dictionary do not have the expected schema. */
  record SchemaMismatch(String reason) implements WriteResult {}
}
