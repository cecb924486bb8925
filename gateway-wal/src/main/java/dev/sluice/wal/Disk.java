package dev.sluice.wal;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;

/** What the writer asks of the disk. A seam, so that tests can let each step fail. */
interface Disk {

  /** The one that is there. */
  Disk REAL =
      new Disk() {
        @Override
        public AppendFile create(Path file) throws IOException {
          return new ChannelAppendFile(FileChannel.open(file, CREATE_NEW, WRITE));
        }

        @Override
        public void force(Path file) throws IOException {
          try (var channel = FileChannel.open(file, READ)) {
            channel.force(true);
          }
        }

        @Override
        public long usableSpace(Path folder) {
          return folder.toFile().getUsableSpace();
        }
      };

  /** Makes a file that is not there yet. */
  AppendFile create(Path file) throws IOException;

  /** Makes durable what a file holds, or which files a folder holds. */
  void force(Path file) throws IOException;

  /** Bytes that can still be written. */
  long usableSpace(Path folder) throws IOException;

  /** A file that grows at its end. */
  interface AppendFile extends Closeable {
    /** Writes all of it. */
    void write(ByteBuffer bytes, long at) throws IOException;

    void truncate(long size) throws IOException;

    /** The content, and as much else as is needed to read it. */
    void force() throws IOException;
  }

  /** {@link AppendFile} of a real file. */
  record ChannelAppendFile(FileChannel channel) implements AppendFile {
    @Override
    public void write(ByteBuffer bytes, long at) throws IOException {
      long next = at;
      while (bytes.hasRemaining()) {
        next += channel.write(bytes, next);
      }
    }

    @Override
    public void truncate(long size) throws IOException {
      channel.truncate(size);
    }

    @Override
    public void force() throws IOException {
      channel.force(false);
    }

    @Override
    public void close() throws IOException {
      channel.close();
    }
  }
}
