package dev.sluice.wal;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.WRITE;

import dev.sluice.bench.WorkDir;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.concurrent.atomic.LongAdder;

/**
 * A file that is written to and forced, one append after the other: no index, no group, no book.
 */
final class PlainFile implements AutoCloseable {
  /** Begun again from here on, so that it does not fill the disk. */
  private static final long MAX_BYTES = 256 << 20;

  private final LongAdder forces = new LongAdder();
  private final Path folder;
  private final FileChannel file;

  PlainFile() throws IOException {
    folder = WorkDir.create();
    file = FileChannel.open(folder.resolve("plain"), CREATE_NEW, WRITE);
  }

  /** Returns where it is; safe when this returns, if {@code force}. */
  synchronized long append(byte[] bytes, boolean force) throws IOException {
    if (file.position() > MAX_BYTES) {
      file.truncate(0);
    }
    long offset = file.position();
    var rest = ByteBuffer.wrap(bytes);
    while (rest.hasRemaining()) {
      file.write(rest);
    }
    if (force) {
      file.force(false);
      forces.increment();
    }
    return offset;
  }

  long forces() {
    return forces.sum();
  }

  @Override
  public void close() throws IOException {
    file.close();
    WorkDir.delete(folder);
  }
}
