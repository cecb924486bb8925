package dev.sluice.wal;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.WRITE;

import dev.sluice.bench.WorkDir;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.concurrent.atomic.LongAdder;

/** A file with serialized appends and forces: no index, no group commit, no journal. */
final class PlainFile implements AutoCloseable {
  /** The size at which the file is truncated, so that it does not fill the disk. */
  private static final long MAX_BYTES = 256 << 20;

  private final LongAdder forces = new LongAdder();
  private final Path folder;
  private final FileChannel file;

  PlainFile() throws IOException {
    folder = WorkDir.create();
    file = FileChannel.open(folder.resolve("plain"), CREATE_NEW, WRITE);
  }

  /** Appends bytes, durably if {@code force} is set. Returns their offset. */
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
