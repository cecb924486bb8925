package dev.sluice.core.otlp;

/** Receives the records that {@link OtlpWalker} finds, in the order of the bytes. */
public interface OtlpRecordVisitor {

  /**
   * Receives a record within all limits.
   *
   * @param log a view of the record, valid until this method returns
   */
  void visitRecord(OtlpRecord log);

  /**
   * Receives the rejection of a record that exceeds a limit. The walk continues with the next
   * record.
   *
   * @param ordinal index among all records of the walk, from 0
   * @param field name of the field that exceeds the limit
   * @param reason the violation, to be read after the field name
   */
  void visitRejected(int ordinal, String field, String reason);
}
