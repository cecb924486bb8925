package dev.sluice.bench;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** A process of its own that takes logs over HTTP and has them stored. */
interface LogServer extends AutoCloseable {
  int port();

  long pid();

  /** What its own ledger cannot account for; null when it keeps none. */
  @Nullable Long imbalance() throws IOException, InterruptedException;

  /** What it has allocated on its heap since it began; not a number when it does not say. */
  double allocatedBytes() throws IOException, InterruptedException;

  /** By {@code kill -9}; returns when it has ended. */
  void kill() throws InterruptedException;

  /** After {@link #kill}, as it was before; returns when it is ready. */
  void restart() throws IOException, InterruptedException;

  @Override
  void close();
}
