package dev.sluice.engines;

import dev.sluice.engines.PackageFetcher.PinnedRelease;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import org.jspecify.annotations.Nullable;

/** A public registry of packages, with its client and the format of its archives. */
enum PackageRegistry {

  /** The registry of Node.js: gzipped tar archives, SHA-512 in Base64. */
  NPM("npm", "Node.js", ".tgz") {
    @Override
    List<String> commands() {
      return List.of("npm");
    }

    @Override
    List<String> downloadCommand(Path client, PinnedRelease release, Path directory) {
      return List.of(
          client.toString(),
          "pack",
          release.name() + "@" + release.version(),
          "--ignore-scripts",
          "--pack-destination",
          directory.toString());
    }

    @Override
    String errorMessage(String line) {
      return line.startsWith("npm error") || line.startsWith("npm ERR!")
          ? line.substring("npm error".length()).strip()
          : "";
    }

    @Override
    String checksum(Path archive) throws IOException {
      return "sha512-" + Base64.getEncoder().encodeToString(hash(archive, "SHA-512"));
    }

    @Override
    void extract(Path archive, String member, Path file) throws IOException {
      extractTar(archive, member, file);
    }
  },

  /** The registry of Python: wheels, which are zip archives, SHA-256 in hexadecimal digits. */
  PIP("pip", "Python with pip", ".whl") {
    @Override
    List<String> commands() {
      return List.of("pip3", "pip");
    }

    @Override
    List<String> downloadCommand(Path client, PinnedRelease release, Path directory) {
      return List.of(
          client.toString(),
          "download",
          release.name() + "==" + release.version(),
          "--no-deps",
          "--no-input",
          "--disable-pip-version-check",
          "--only-binary=:all:", // a source package would run code before its checksum is verified
          "--platform",
          release.platform(),
          "--python-version", // that of the package, whatever this Python is
          "3.13",
          "--dest",
          directory.toString());
    }

    @Override
    String errorMessage(String line) {
      return line.startsWith("ERROR:") ? line.substring("ERROR:".length()).strip() : "";
    }

    @Override
    String checksum(Path archive) throws IOException {
      return "sha256-" + HexFormat.of().formatHex(hash(archive, "SHA-256"));
    }

    @Override
    void extract(Path archive, String member, Path file) throws IOException {
      try (ZipFile zip = new ZipFile(archive.toFile())) {
        ZipEntry entry = zip.getEntry(member);
        if (entry == null) {
          throw new EOFException("no " + member + " in " + archive.getFileName());
        }
        try (InputStream in = zip.getInputStream(entry)) {
          copy(in, entry.getSize(), file);
        }
      }
    }
  };

  private static final int TAR_BLOCK = 512;
  private static final int TAR_NAME_BYTES = 100;
  private static final int TAR_SIZE_OFFSET = 124;
  private static final int TAR_SIZE_BYTES = 12;

  private final String client;
  private final String software;
  private final String archiveSuffix;

  PackageRegistry(String client, String software, String archiveSuffix) {
    this.client = client;
    this.software = software;
    this.archiveSuffix = archiveSuffix;
  }

  /** The name of the client in messages. */
  String client() {
    return client;
  }

  /** The software that contains the client. */
  String software() {
    return software;
  }

  String archiveSuffix() {
    return archiveSuffix;
  }

  /** Returns the client on the PATH, or null. */
  @Nullable Path findClient(SystemEnvironment environment) {
    for (String command : commands()) {
      Path path = environment.findExecutable(command);
      if (path != null) {
        return path;
      }
    }
    return null;
  }

  /** The file names of the client, the preferred one first. */
  abstract List<String> commands();

  /** Returns the command that writes the archive of a release into a directory. */
  abstract List<String> downloadCommand(Path client, PinnedRelease release, Path directory);

  /** Returns the error in a line of output of the client, or an empty text. */
  abstract String errorMessage(String line);

  abstract String checksum(Path archive) throws IOException;

  /** Extracts one member of an archive into a new file, durably. */
  abstract void extract(Path archive, String member, Path file) throws IOException;

  private static byte[] hash(Path file, String algorithm) throws IOException {
    MessageDigest digest;
    try {
      digest = MessageDigest.getInstance(algorithm);
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every JDK has " + algorithm, e);
    }
    try (InputStream in = new DigestInputStream(Files.newInputStream(file), digest)) {
      in.transferTo(OutputStream.nullOutputStream());
    }
    return digest.digest();
  }

  private static void extractTar(Path archive, String member, Path file) throws IOException {
    try (DataInputStream tar =
        new DataInputStream(
            new BufferedInputStream(
                new GZIPInputStream(Files.newInputStream(archive), 1 << 16), 1 << 16))) {
      byte[] header = new byte[TAR_BLOCK];
      while (true) {
        tar.readFully(header);
        String name = text(header, 0, TAR_NAME_BYTES);
        if (name.isEmpty()) {
          throw new EOFException("no " + member + " in " + archive.getFileName());
        }
        long size = Long.parseLong(text(header, TAR_SIZE_OFFSET, TAR_SIZE_BYTES).strip(), 8);
        if (name.equals(member)) {
          copy(tar, size, file);
          return;
        }
        tar.skipNBytes((size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK);
      }
    }
  }

  private static void copy(InputStream in, long size, Path file) throws IOException {
    try (FileChannel out =
        FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      byte[] buffer = new byte[1 << 16];
      for (long left = size; left > 0; ) {
        int count = in.read(buffer, 0, (int) Math.min(buffer.length, left));
        if (count < 0) {
          throw new EOFException("the archive ends early");
        }
        ByteBuffer bytes = ByteBuffer.wrap(buffer, 0, count);
        while (bytes.hasRemaining()) {
          out.write(bytes);
        }
        left -= count;
      }
      // the rename that follows marks the file as complete, also after a power failure
      out.force(true);
    }
  }

  private static String text(byte[] header, int offset, int length) {
    int end = offset;
    while (end < offset + length && header[end] != 0) {
      end++;
    }
    return new String(header, offset, end - offset, StandardCharsets.US_ASCII);
  }
}
