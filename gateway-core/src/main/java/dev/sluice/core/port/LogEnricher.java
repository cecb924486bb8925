package dev.sluice.core.port;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.otlp.OtlpRecord;
import dev.sluice.core.port.Dictionary.WriteResult;

/**
 * Tells whoever stores logs the identities of what they share with others, which the logs carry,
 * and sees to it that each can be looked up in the {@link Dictionary}.
 *
 * <p>In the order of the bytes: {@link #beginBatch} for each batch, {@link #beginService} and
 * {@link #resolveResource} for each of its resources, {@link #resolveTemplate} for each log and
 * {@link #resolveText} for its attributes. Nothing that carries an identity told here may be stored
 * before {@link #flush} has said that all of them are written. When it says otherwise, they are to
 * be asked for again.
 *
 * <p>For one thread at a time.
 */
public interface LogEnricher {

  /** Gives nothing a name. */
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
   * What follows is of this batch.
   *
   * @throws RuntimeException when the dictionary has to be asked first and does not answer
   */
  void beginBatch(LogBatch batch) throws InterruptedException;

  /**
   * What follows is of this service.
   *
   * @param bytes with its name in UTF-8; of no length when it is not known
   */
  void beginService(byte[] bytes, int offset, int length);

  /**
   * Finds the set of attributes that a resource is; {@link #idHigh} and {@link #idLow} are its
   * identity then, none for a resource without attributes.
   *
   * @param bytes where the resource has its places
   */
  void resolveResource(OtlpRecord.Resource resource, byte[] bytes);

  /**
   * Finds the template of a message; {@link #idHigh} and {@link #idLow} are its identity then.
   *
   * @param bytes with the message in UTF-8
   */
  void resolveTemplate(byte[] bytes, int offset, int length);

  /**
   * Whether a log is to carry the identity of a text in its place, because it is long and has come
   * before; {@link #idHigh} and {@link #idLow} are it then.
   *
   * @param bytes of the batch, with an attribute's value in UTF-8
   */
  boolean resolveText(byte[] bytes, int offset, int length);

  /** The upper half of the identity told last; with the lower one 0 for none. */
  long idHigh();

  /** Its lower half. */
  long idLow();

  /** Writes what the dictionary does not have of the identities told; blocks if there are any. */
  WriteResult flush() throws InterruptedException;
}
