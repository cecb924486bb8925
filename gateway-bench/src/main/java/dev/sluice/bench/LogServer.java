package dev.sluice.bench;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** A server process that receives logs over HTTP and stores them. */
interface LogServer extends AutoCloseable {
  int port();

  long pid();

  /** Returns the imbalance of the server's own ledger; null when it has no ledger. */
  @Nullable Long imbalance() throws IOException, InterruptedException;

  /**
   * Returns the bytes allocated on the heap since the start; NaN when the server does not report
   * them.
   */
  double allocatedBytes() throws IOException, InterruptedException;

  /** Ends the process by {@code kill -9}, and waits for its end. */
  void kill() throws InterruptedException;

  /**
   * Starts the process again after {@link #kill} with the same arguments, and waits until it is
   * ready.
   */
  void restart() throws IOException, InterruptedException;

  @Override
  void close();
}
