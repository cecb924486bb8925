package dev.sluice.core.otlp;

/** Thrown for bytes that are not an {@code ExportLogsServiceRequest}; all are unusable. */
public final class MalformedOtlpException extends Exception {
  private static final long serialVersionUID = 1L;

  MalformedOtlpException(String reason, int position) {
    super(reason + " at byte " + position, null, false, false); // a client error: no stack trace
  }
}
