package dev.sluice.wal;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** The real disk, on which the test lets steps fail; keeps a list of what was asked of it. */
final class FaultyDisk implements Disk {

  /** What can fail, of the data ({@code zst}) or the index ({@code idx}). */
  enum Step {
    CREATE,
    WRITE,
    FORCE,
    TRUNCATE
  }

  final List<String> calls = new ArrayList<>();
  private final Set<String> failing = new HashSet<>();
  long usableSpace = Long.MAX_VALUE;
  private int open;

  synchronized void fail(Step step, String suffix) {
    failing.add(step + " " + suffix);
  }

  synchronized void heal() {
    failing.clear();
  }

  private synchronized boolean fails(Step step, Path file) {
    var name = file.toString();
    var asking = step + " " + name.substring(name.lastIndexOf('.') + 1);
    calls.add(asking);
    return failing.contains(asking);
  }

  private void check(Step step, Path file) throws IOException {
    if (fails(step, file)) {
      throw new IOException(step + " failed, as it was to");
    }
  }

  @Override
  public AppendFile create(Path file) throws IOException {
    check(Step.CREATE, file);
    var real = Disk.REAL.create(file);
    addOpen(1);
    return new AppendFile() {
      @Override
      public void write(ByteBuffer bytes, long at) throws IOException {
        if (fails(Step.WRITE, file)) {
          // as a full disk does: some of it gets there
          real.write(bytes.slice(bytes.position(), bytes.remaining() / 2), at);
          throw new IOException("No space left on device");
        }
        real.write(bytes, at);
      }

      @Override
      public void truncate(long size) throws IOException {
        check(Step.TRUNCATE, file);
        real.truncate(size);
      }

      @Override
      public void force() throws IOException {
        check(Step.FORCE, file);
        real.force();
      }

      @Override
      public void close() throws IOException {
        addOpen(-1);
        real.close();
      }
    };
  }

  @Override
  public void force(Path file) throws IOException {
    check(Step.FORCE, file);
    Disk.REAL.force(file);
  }

  @Override
  public synchronized long usableSpace(Path folder) {
    return usableSpace;
  }

  synchronized void usableSpace(long bytes) {
    usableSpace = bytes;
  }

  private synchronized void addOpen(int more) {
    open += more;
  }

  /** Files that were created and are not closed. */
  synchronized int open() {
    return open;
  }

  synchronized long count(Step step, String suffix) {
    return calls.stream().filter((step + " " + suffix)::equals).count();
  }
}
