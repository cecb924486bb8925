package dev.sluice.wal;

import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.WRITE;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Makes a node's folder this process's own; the system gives it back when the process dies. */
final class NodeLock implements AutoCloseable {
  // closing any other channel of the file, such as that of a second attempt, would give it back
  private static final Set<Path> LOCKED = ConcurrentHashMap.newKeySet();

  private final Path node;
  private final FileChannel channel;

  private NodeLock(Path node, FileChannel channel) {
    this.node = node;
    this.channel = channel;
  }

  /**
   * @param node made, durably, when it is not there
   * @throws NodeLockedException when another has it
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

  /** What is written below a folder is only as durable as the folder's own entry. */
  private static void createDirectories(Path folder, Disk disk) throws IOException {
    var parent = folder.getParent();
    if (parent == null || Files.isDirectory(folder)) {
      return;
    }
    createDirectories(parent, disk);
    Files.createDirectories(folder); // another process may have been faster
    disk.force(parent);
  }

  private static FileChannel lock(Path node) throws IOException {
    var channel = FileChannel.open(node.resolve("lock"), CREATE, WRITE);
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
    return new NodeLockedException("another process has the folder " + node.toAbsolutePath());
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
