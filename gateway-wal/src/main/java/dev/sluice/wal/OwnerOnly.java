package dev.sluice.wal;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/**
 * Creates files and directories to which only their owner has access, since they contain logs. The
 * permissions of existing ones stay. A file system without POSIX permissions uses its own.
 */
final class OwnerOnly {
  private static final FileAttribute<?> FILE =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
  private static final FileAttribute<?> DIRECTORY =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

  private OwnerOnly() {}

  private static FileAttribute<?>[] attributes(Path path, FileAttribute<?> attribute) {
    boolean posix = path.getFileSystem().supportedFileAttributeViews().contains("posix");
    return posix ? new FileAttribute<?>[] {attribute} : new FileAttribute<?>[0];
  }

  /** Creates a directory and its missing parents. */
  static void createDirectories(Path directory) throws IOException {
    Files.createDirectories(directory, attributes(directory, DIRECTORY));
  }

  /** Opens a file, and creates it as the options say. */
  static FileChannel open(Path file, OpenOption... options) throws IOException {
    return FileChannel.open(file, Set.of(options), attributes(file, FILE));
  }

  /** Creates an empty file unless it exists. */
  static void createFile(Path file) throws IOException {
    try {
      Files.createFile(file, attributes(file, FILE));
    } catch (FileAlreadyExistsException _) {
      // the caller opens it
    }
  }
}
