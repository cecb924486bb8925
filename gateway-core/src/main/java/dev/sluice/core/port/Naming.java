package dev.sluice.core.port;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.otlp.OtlpRecord;
import dev.sluice.core.port.Dictionary.Outcome;

/**
 * Tells whoever stores logs the identities of what they share with others, which the logs carry,
 * and sees to it that each can be looked up in the {@link Dictionary}.
 *
 * <p>In the order of the bytes: {@link #batch} for each batch, {@link #service} and {@link
 * #resource} for each of its resources, {@link #template} for each log and {@link #text} for its
 * attributes. Nothing that carries an identity told here may be stored before {@link #write} has
 * said that all of them are written. When it says otherwise, they are to be asked for again.
 *
 * <p>For one thread at a time.
 */
public interface Naming {

  /** Gives nothing a name. */
  Naming NONE =
      new Naming() {
        @Override
        public void batch(LogBatch batch) {}

        @Override
        public void service(byte[] bytes, int offset, int length) {}

        @Override
        public void resource(OtlpRecord.Resource resource, byte[] bytes) {}

        @Override
        public void template(byte[] bytes, int offset, int length) {}

        @Override
        public boolean text(byte[] bytes, int offset, int length) {
          return false;
        }

        @Override
        public long high() {
          return 0;
        }

        @Override
        public long low() {
          return 0;
        }

        @Override
        public Outcome write() {
          return new Outcome.Written();
        }
      };

  /**
   * What follows is of this batch.
   *
   * @throws RuntimeException when the dictionary has to be asked first and does not answer
   */
  void batch(LogBatch batch) throws InterruptedException;

  /**
   * What follows is of this service.
   *
   * @param bytes with its name in UTF-8; of no length when it is not known
   */
  void service(byte[] bytes, int offset, int length);

  /**
   * Finds the set of attributes that a resource is; {@link #high} and {@link #low} are its identity
   * then, none for a resource without attributes.
   *
   * @param bytes where the resource has its places
   */
  void resource(OtlpRecord.Resource resource, byte[] bytes);

  /**
   * Finds the template of a message; {@link #high} and {@link #low} are its identity then.
   *
   * @param bytes with the message in UTF-8
   */
  void template(byte[] bytes, int offset, int length);

  /**
   * Whether a log is to carry the identity of a text in its place, because it is long and has come
   * before; {@link #high} and {@link #low} are it then.
   *
   * @param bytes of the batch, with an attribute's value in UTF-8
   */
  boolean text(byte[] bytes, int offset, int length);

  /** The upper half of the identity told last; with the lower one 0 for none. */
  long high();

  /** Its lower half. */
  long low();

  /** Writes what the dictionary does not have of the identities told; blocks if there are any. */
  Outcome write() throws InterruptedException;
}
