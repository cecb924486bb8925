package dev.sluice.wal;

import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.WRITE;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * An exclusive lock of this process on a node directory. The operating system releases it at the
 * end of the process.
 */
final class NodeLock implements AutoCloseable {
  // guards against a second attempt in this process: closing its channel would release the lock
  private static final Set<Path> LOCKED = ConcurrentHashMap.newKeySet();

  private final Path node;
  private final FileChannel channel;

  private NodeLock(Path node, FileChannel channel) {
    this.node = node;
    this.channel = channel;
  }

  /**
   * Locks a node directory.
   *
   * @param node the directory, created durably when it does not exist
   * @throws NodeLockedException when another process, or this process, has locked it
   */
  static NodeLock acquire(Path node, Disk disk) throws IOException {
    createDirectories(node.toAbsolutePath(), disk);
    var real = node.toRealPath();
    if (!LOCKED.add(real)) {
      throw lockedException(node);
    }
    try {
      return new NodeLock(real, lock(node));
    } catch (IOException | RuntimeException e) {
      LOCKED.remove(real);
      throw e;
    }
  }

  /** Creates directories durably: a file is only as durable as the entries of its directories. */
  private static void createDirectories(Path directory, Disk disk) throws IOException {
    var parent = directory.getParent();
    if (parent == null || Files.isDirectory(directory)) {
      return;
    }
    createDirectories(parent, disk);
    OwnerOnly.createDirectories(directory); // another process may have created it
    disk.force(parent);
  }

  private static FileChannel lock(Path node) throws IOException {
    var channel = OwnerOnly.open(node.resolve("lock"), CREATE, WRITE);
    try {
      if (channel.tryLock() != null) {
        return channel;
      }
    } catch (IOException | RuntimeException e) {
      channel.close();
      throw e;
    }
    channel.close();
    throw lockedException(node);
  }

  private static NodeLockedException lockedException(Path node) {
    return new NodeLockedException(
        "another process has locked the directory " + node.toAbsolutePath());
  }

  @Override
  public void close() throws IOException {
    try {
      channel.close();
    } finally {
      LOCKED.remove(node);
    }
  }
}
