package dev.sluice.api.config;

import dev.sluice.api.config.FileWatcher.FileFormat;
import dev.sluice.core.ingest.BodyAllowlist;
import java.nio.file.Path;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The file of the allowlist: one log body per line. Blank lines and lines that begin with {@code #}
 * are ignored.
 */
final class AllowlistFile implements FileWatcher.Handler<BodyAllowlist> {
  static final int MAX_LINES = 100_000;
  static final int MAX_BYTES = 16 << 20;

  private static final FileFormat FORMAT =
      new FileFormat("sluice.filter.allowlist-file", "allowlist", MAX_LINES, MAX_BYTES);
  private static final Logger LOG = LoggerFactory.getLogger(AllowlistFile.class);

  private AllowlistFile() {}

  /**
   * Reads the allowlist.
   *
   * @throws IllegalArgumentException when the file is invalid; the message names the setting
   */
  static FileWatcher<BodyAllowlist> read(Path path) {
    return FileWatcher.read(path, new AllowlistFile());
  }

  @Override
  public FileFormat format() {
    return FORMAT;
  }

  @Override
  public BodyAllowlist parse(List<String> lines) {
    return BodyAllowlist.of(
        lines.stream().filter(line -> !line.isBlank() && !line.startsWith("#")).toList());
  }

  @Override
  public void onLoaded(Path path, BodyAllowlist list) {
    if (list.size() == 0) {
      LOG.warn("allowlist loaded: {} is empty, all logs are filtered out", path);
    } else {
      LOG.info("allowlist loaded: {} log bodies of {}", list.size(), path);
    }
  }
}
