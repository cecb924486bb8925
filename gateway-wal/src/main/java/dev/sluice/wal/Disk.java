package dev.sluice.wal;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;

/** The disk operations of the WAL writer. Tests replace them to let each operation fail. */
interface Disk {

  /** The real disk. */
  Disk REAL =
      new Disk() {
        @Override
        public AppendFile create(Path file) throws IOException {
          return new ChannelAppendFile(OwnerOnly.open(file, CREATE_NEW, WRITE));
        }

        @Override
        public void force(Path file) throws IOException {
          try (var channel = FileChannel.open(file, READ)) {
            channel.force(true);
          }
        }

        @Override
        public long usableSpace(Path directory) {
          return directory.toFile().getUsableSpace();
        }
      };

  /** Creates a file; fails when it exists. */
  AppendFile create(Path file) throws IOException;

  /** Makes the content of a file durable, or the entries of a directory. */
  void force(Path file) throws IOException;

  /** Returns the free disk space in bytes. */
  long usableSpace(Path directory) throws IOException;

  /** A file that is written at its end. */
  interface AppendFile extends Closeable {
    /** Writes all remaining bytes of the buffer at an offset. */
    void write(ByteBuffer bytes, long offset) throws IOException;

    void truncate(long size) throws IOException;

    /** Makes the content durable, and the metadata that is needed to read it. */
    void force() throws IOException;
  }

  /** An {@link AppendFile} on a file channel. */
  record ChannelAppendFile(FileChannel channel) implements AppendFile {
    @Override
    public void write(ByteBuffer bytes, long offset) throws IOException {
      long next = offset;
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
