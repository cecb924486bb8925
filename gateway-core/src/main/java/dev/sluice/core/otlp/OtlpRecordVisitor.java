package dev.sluice.core.otlp;

/** Receives what {@link OtlpWalker} finds, in the order of the bytes. */
public interface OtlpRecordVisitor {

  /** A record within all limits; the view is valid until this returns. */
  void visitRecord(OtlpRecord log);

  /**
   * A record that is not; it is gone through, so that the next one is found.
   *
   * @param ordinal position among all records of the walk
   */
  void visitRejected(int ordinal, String field, String reason);
}
