package dev.sluice.core.port;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.otlp.OtlpRecord;

/**
 * Resolves the dictionary ids that stored logs carry, of their resource, template and long texts,
 * and writes the missing entries to the dictionary.
 *
 * <p>The store calls the methods in the order of the OTLP bytes: {@link #beginBatch} for each
 * batch, {@link #beginService} and {@link #resolveResource} for each of its resources, {@link
 * #resolveTemplate} for each log and {@link #resolveText} for its attributes. A log may be stored
 * only after {@link #flush} has returned {@link WriteResult.Written} for the ids that it carries.
 * After another result, the caller must resolve the ids again.
 *
 * <p>Not thread-safe.
 */
public interface LogEnricher {

  /** An enricher that resolves no ids. */
  LogEnricher NONE =
      new LogEnricher() {
        @Override
        public void beginBatch(LogBatch batch) {}

        @Override
        public void beginService(byte[] bytes, int offset, int length) {}

        @Override
        public void resolveResource(OtlpRecord.Resource resource, byte[] bytes) {}

        @Override
        public void resolveTemplate(byte[] bytes, int offset, int length) {}

        @Override
        public boolean resolveText(byte[] bytes, int offset, int length) {
          return false;
        }

        @Override
        public long idHigh() {
          return 0;
        }

        @Override
        public long idLow() {
          return 0;
        }

        @Override
        public WriteResult flush() {
          return new WriteResult.Written();
        }
      };

  /**
   * Begins a batch; the following calls are about its records.
   *
   * @throws RuntimeException when the dictionary must be queried first and does not respond
   */
  void beginBatch(LogBatch batch) throws InterruptedException;

  /**
   * Begins the logs of a service; the following calls are about them.
   *
   * @param bytes the array with the service name in UTF-8
   * @param length the length of the name; 0 when the service is unknown
   */
  void beginService(byte[] bytes, int offset, int length);

  /**
   * Resolves the id of the attributes of a resource. {@link #idHigh} and {@link #idLow} return it
   * afterwards; both are 0 for a resource without attributes.
   *
   * @param bytes the array that the offsets of the resource refer to
   */
  void resolveResource(OtlpRecord.Resource resource, byte[] bytes);

  /**
   * Resolves the id of the template of a message. {@link #idHigh} and {@link #idLow} return it
   * afterwards.
   *
   * @param bytes the array with the message in UTF-8
   */
  void resolveTemplate(byte[] bytes, int offset, int length);

  /**
   * Resolves the id of a long text that occurs repeatedly. {@link #idHigh} and {@link #idLow}
   * return it afterwards.
   *
   * @param bytes the array of the batch, with the value of an attribute in UTF-8
   * @return whether the log is stored with the id instead of the text
   */
  boolean resolveText(byte[] bytes, int offset, int length);

  /** Returns the upper 64 bits of the most recently resolved id; both halves are 0 for no id. */
  long idHigh();

  /** Returns the lower 64 bits of the most recently resolved id. */
  long idLow();

  /**
   * Writes the entries of the resolved ids that the dictionary does not have yet. Blocks when there
   * are any.
   */
  WriteResult flush() throws InterruptedException;
}
