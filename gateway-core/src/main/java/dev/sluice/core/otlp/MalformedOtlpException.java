package dev.sluice.core.otlp;

/** The bytes are no {@code ExportLogsServiceRequest}; nothing of them can be used. */
public final class MalformedOtlpException extends Exception {
  private static final long serialVersionUID = 1L;

  MalformedOtlpException(String reason, int position) {
    super(reason + " at byte " + position, null, false, false); // a client's mistake: no stack
  }
}
