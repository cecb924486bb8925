package dev.sluice.wal;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** The real disk with operations that fail on request. Records all calls. */
final class FaultyDisk implements Disk {

  /** The operations that can fail, on the data ({@code zst}) or the index ({@code idx}). */
  enum Step {
    CREATE,
    WRITE,
    FORCE,
    TRUNCATE
  }

  final List<String> calls = new ArrayList<>();
  private final Set<String> failing = new HashSet<>();
  long usableSpace = Long.MAX_VALUE;
  private int openFiles;

  synchronized void fail(Step step, String suffix) {
    failing.add(step + " " + suffix);
  }

  synchronized void heal() {
    failing.clear();
  }

  private synchronized boolean fails(Step step, Path file) {
    var name = file.toString();
    var call = step + " " + name.substring(name.lastIndexOf('.') + 1);
    calls.add(call);
    return failing.contains(call);
  }

  private void check(Step step, Path file) throws IOException {
    if (fails(step, file)) {
      throw new IOException(step + " fails on request");
    }
  }

  @Override
  public AppendFile create(Path file) throws IOException {
    check(Step.CREATE, file);
    var real = Disk.REAL.create(file);
    countOpen(1);
    return new AppendFile() {
      @Override
      public void write(ByteBuffer bytes, long offset) throws IOException {
        if (fails(Step.WRITE, file)) {
          // a full disk writes a part of the bytes
          real.write(bytes.slice(bytes.position(), bytes.remaining() / 2), offset);
          throw new IOException("No space left on device");
        }
        real.write(bytes, offset);
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
        countOpen(-1);
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
  public synchronized long usableSpace(Path directory) {
    return usableSpace;
  }

  synchronized void usableSpace(long bytes) {
    usableSpace = bytes;
  }

  private synchronized void countOpen(int change) {
    openFiles += change;
  }

  /** Returns the number of files that were created and are not closed. */
  synchronized int openFiles() {
    return openFiles;
  }

  synchronized long count(Step step, String suffix) {
    return calls.stream().filter((step + " " + suffix)::equals).count();
  }
}
