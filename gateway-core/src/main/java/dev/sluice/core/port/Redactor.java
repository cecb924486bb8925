package dev.sluice.core.port;

import org.jspecify.annotations.Nullable;

/**
 * Removes sensitive values from logs, before anything of them is stored or shown: in the spool, the
 * write-ahead log, dead letters, templates or the console mirror. Thread-safe.
 */
@FunctionalInterface
public interface Redactor {
  /** Changes nothing. */
  Redactor NONE = (_, _, _) -> null;

  /**
   * Returns a copy of the logs without the sensitive values; null when there is none.
   *
   * @param tenant the tenant of the logs
   * @param otlp an {@code ExportLogsServiceRequest}, already validated, in the first {@code length}
   *     bytes; not changed
   */
  byte @Nullable [] redact(String tenant, byte[] otlp, int length);
}
